// Quiz: before a node hands its gradient on, the page asks how much its first operand gets.
let asked = false;
function advance() {
  const step = steps[at];
  if (find("quiz").checked && !asked && step && step.do === "pass" && canAsk(step)) ask(step);
  else go(at + 1);
}
const canAsk = step =>
  step.given.length > 0 &&
  typeof step.given[0].slope === "number" &&
  typeof step.given[0].gives === "number" &&
  !step.hooked;
function ask(step) {
  asked = true;
  const part = step.given[0],
    name = nameOf(step.box),
    to = nameOf(part.to),
    g = step.arrived[0][1];
  find("say").textContent =
    `Quiz: the gradient of ${name} is ${exact(g)}, and ` +
    `${name} = ${formula(step.box, nameOf)}. How much does it hand to ${to}?`;
  const answer = element("input", {
    type: "text",
    inputMode: "decimal",
    autocomplete: "off",
    size: 12,
  });
  answer.setAttribute("aria-label", `What ${name} hands to ${to}`);
  const check = element("button", {textContent: "Check"}),
    reveal = element("button", {textContent: "Show"});
  const verdict = element("p", {className: "sum"});
  check.onclick = () => {
    const close =
      Math.abs(Number(answer.value) - part.gives) <= 0.01 * Math.abs(part.gives) + 1e-12;
    const right = answer.value.trim() !== "" && close;
    const rule = story.rules[boxes[step.box].rule];
    verdict.textContent = right
      ? `Right: ${exact(g)} × ${inSum(part.slope)} = ${exact(part.gives)}. Next goes on.`
      : `Not yet. It is the gradient, ${exact(g)}, times the slope of ${name} by ${to}.` +
        (rule ? ` Slopes of this operation, of operands a, b and result y: ${rule}` : "");
  };
  reveal.onclick = () => go(at + 1);
  answer.onkeydown = event => {
    if (event.key === "Enter") check.click();
  };
  find("sums").replaceChildren(answer, " ", check, " ", reveal, verdict);
  answer.focus();
}
