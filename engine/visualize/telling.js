// What is known after some steps, shown in the picture and told in words.
// What is known after the first `count` steps.
function stateAfter(count) {
  const state = {made: new Set(), grad: {}, done: new Set(), kept: {}, gave: {}};
  steps.slice(0, count).forEach(step => {
    if (step.do === "make") state.made.add(step.box);
    if (step.do === "start") state.grad[step.box] = Object.fromEntries(step.arrived);
    if (step.do === "pass") {
      state.done.add(step.box);
      state.grad[step.box] = Object.fromEntries(step.arrived);
      for (const part of step.given) {
        (state.grad[part.to] ??= {})[part.output] = part.after;
        state.gave[`${part.to}>${step.box}:${part.port}`] = part.gives;
      }
    }
    if (step.do === "fold") {
      state.done.add(step.box);
      state.grad[step.box] = Object.fromEntries(step.arrived);
    }
    if (step.do === "keep") {
      state.done.add(step.box);
      state.kept[step.box] = step.after;
    }
  });
  return state;
}
function gradientOf(i, state) {
  if (i in state.kept) return [state.kept[i], true];
  const outputs = Object.values(state.grad[i] ?? {});
  return outputs.length ? [outputs[0], state.done.has(i)] : [null, false];
}
function gradientText(i, state) {
  const [g, final] = gradientOf(i, state);
  if (g === null) return boxes[i].kind === "function" ? "" : "no gradient yet";
  return `grad ${brief(g)}${final ? "" : " so far"}`;
}

function show() {
  state = stateAfter(at);
  const step = at ? steps[at - 1] : null;
  boxes.forEach((box, i) => showBox(box, i, step));
  arrows.forEach((arrow, k) => showArrow(arrow, k, step));
  tell(step);
  light(step);
  find("scrub").value = at;
  find("scrub").setAttribute("aria-valuetext", `step ${at} of ${steps.length}`);
  find("count").textContent = `${at} of ${steps.length}`;
  find("back").disabled = find("first").disabled = at === 0;
  find("next").disabled = at === steps.length;
  if (chosen !== null) facts();
}
function showBox(box, i, step) {
  const constant = box.kind === "constant",
    group = drawn[i];
  const there = constant
    ? arrows.some(a => a.from === i && state.made.has(a.to))
    : state.made.has(i);
  group.classList.toggle("unmade", !there);
  group.classList.toggle("current", step !== null && step.box === i);
  const data = box.data === null ? (box.shape ?? "") : brief(box.data),
    gradient = gradientText(i, state);
  const texts = group.querySelectorAll("text");
  if (constant) texts[0].textContent = constantText(box);
  else
    fillBox(
      box,
      i,
      texts,
      there ? (box.data === null ? data : `data ${data}`) : "not made yet",
      gradient,
    );
  const said = [nameOf(i), box.op, data && `data ${data}`, constant ? "constant" : gradient];
  group.setAttribute("aria-label", said.filter(Boolean).join(", "));
}
function fillBox(box, i, [head, second, third], data, gradient) {
  head.textContent = headOf(box);
  second.textContent = cut(data);
  third.textContent = cut(gradient);
  third.setAttribute("class", gradientOf(i, state)[0] === null ? "none" : "grad");
}
function showArrow(arrow, k, step) {
  const given = state.gave[`${arrow.from}>${arrow.to}:${arrow.port}`];
  const flows = step !== null && step.do === "pass" && step.box === arrow.to;
  gives[k].textContent = given === undefined || isArray(given) ? "" : signed(given);
  for (const part of [lines[k], gives[k]])
    part.classList.toggle("flow", flows && given !== undefined);
}

// The arithmetic of one step, in full precision.
const INFIX = {"+": "+", "-": "−", "*": "×", "/": "/", "**": "**"};
function formula(i, of) {
  const {op, parents} = boxes[i];
  const words = parents.map(of);
  if (op in INFIX && words.length === 2) return `${words[0]} ${INFIX[op]} ${words[1]}`;
  if (op.startsWith("**") && words.length === 1) return `${words[0]}${op}`;
  const [name, option] = op.split(" ");
  return `${name || "made by hand"}(${[...words, option].filter(x => x !== undefined).join(", ")})`;
}
function tell(step) {
  find("sums").replaceChildren();
  find("say").textContent =
    step === null
      ? "Nothing is computed yet. Next makes the first node."
      : TELL[step.do](step, boxes[step.box], nameOf(step.box));
}
const sum = (...parts) => find("sums").append(element("p", {className: "sum"}, ...parts));
const bold = x => element("b", {textContent: exact(x)});
const plural = (number, word) => `${number} ${word}${number === 1 ? "" : "s"}`;
// Each writes the sums of one kind of step, and gives the sentence above them.
const TELL = {
  make(step, box, name) {
    const {op, data, parents, count} = box,
      plain = parents.every(p => boxes[p].count === 1),
      numbers = formula(step.box, p => inSum(boxes[p].data));
    if (box.kind === "operation" && op && count === 1 && plain)
      sum([name, formula(step.box, nameOf), numbers, exact(data)].join(" = "));
    else if (data !== null) sum(`${name} = ${exact(data)}`);
    else if (box.shape) sum(`${name}: ${box.shape}`);
    if (count > 1) return `Forward: ${name} makes ${count} nodes.`;
    const how = {leaf: "is a leaf, given by the program", outside: "comes from another line"};
    return `Forward: ${name} ${how[box.kind] ?? `is made by ${op || "a Function"}`}.`;
  },
  start(step, box, name) {
    for (const [, g] of step.arrived) sum(`gradient of ${name} = `, bold(g));
    return `Backward starts at ${name}: the derivative of a result by itself.`;
  },
  fold(step, box, name) {
    for (const {to, number, gives} of step.given)
      sum(`to ${nameOf(to)}: ${plural(number, "contribution")}, `, bold(gives));
    const nodes = plural(box.count, "node"),
      all = exact(step.arrived[0][1]);
    return `Backward: the gradients of ${name} (${nodes}) are complete: ${all}.`;
  },
  pass(step, box, name) {
    if (step.hooked) sum("its hooks make of that: ", bold(step.hooked[0][1]));
    if (!step.given.length) sum("There is nobody to hand it to.");
    if (box.ctx?.length) sum(`its ctx kept ${box.ctx.join("; ")}`);
    for (const part of step.given) tellPart(part, (step.hooked ?? step.arrived)[0][1]);
    const incoming = step.arrived.map(([, g]) => exact(g)).join("; ");
    const own = step.given.every(part => part.slope === null);
    return (
      `Backward: ${name} has its whole gradient, ${incoming}` +
      (own
        ? "; its own backward makes of it the gradients of its operands."
        : ", and hands it on: times its slope by each operand.")
    );
  },
  keep(step, box, name) {
    const [, g] = (step.hooked ?? step.arrived)[0],
      before = step.before;
    if (step.hooked) sum(`its hooks make of ${exact(step.arrived[0][1])}: `, bold(g));
    const sums = before === null ? "" : `${exact(before)} (from before) + ${inSum(g)} = `;
    sum(`${name}.grad = ${sums}`, bold(step.after));
    return `Backward: ${name} is a leaf; what arrived goes into its .grad.`;
  },
};
function tellPart(part, g) {
  const to = nameOf(part.to),
    {slope, gives, before, after} = part;
  sum(
    `to ${to}: `,
    slope === null ? "contribution " : `${exact(g)} × ${inSum(slope)} = `,
    bold(gives),
  );
  if (before === null) sum(`   the first to arrive at ${to}: `, bold(after));
  else sum(`   added at ${to}: ${exact(before)} + ${inSum(gives)} = `, bold(after));
}
function light(step) {
  document.querySelectorAll("li.lit").forEach(item => {
    item.classList.remove("lit");
    item.removeAttribute("aria-current");
  });
  if (step === null) return;
  const where = boxes[step.box].at,
    item = where && listed[`${where[0]}:${where[1]}`];
  if (item) {
    item.classList.add("lit");
    item.setAttribute("aria-current", "true");
    const code = find("code");
    code.scrollTop = item.offsetTop - code.offsetTop - code.clientHeight / 2;
  }
  const graph = find("graph"),
    [x, y, wide, high] = places[step.box];
  graph.scrollTo({
    left: (x + 20 + wide / 2) * scale - graph.clientWidth / 2,
    top: (y + 20 + high / 2) * scale - graph.clientHeight / 2,
    behavior: still || timer === null ? "instant" : "smooth",
  });
}
