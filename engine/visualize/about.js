// Everything about the chosen node.
function choose(i) {
  chosen = i;
  find("hint").hidden = true;
  find("tools").replaceChildren();
  addOpeners(i);
  if (boxes[i].kind === "leaf" && boxes[i].count === 1) addSlider(boxes[i]);
  show();
  find("about").scrollIntoView({block: "nearest"});
}
const KIND_WORDS = {
  leaf: "a leaf",
  operation: "result of an operation",
  function: "a node with a ctx of its own",
  constant: "a constant, without gradient",
  outside: "made by another line, of what is not in this view",
};
function facts() {
  const i = chosen,
    box = boxes[i],
    [g] = gradientOf(i, state);
  const all = [
    ...factsOfBox(i, box),
    ...gradientFacts(i, box),
    ...neighbourFacts(i, box),
    ...arrivals(i),
  ];
  for (const text of box.ctx ?? []) all.push(["ctx", text]);
  for (const note of box.notes) all.push(["note", note]);
  const items = all.flatMap(([name, text]) => [
    element("dt", {textContent: name}),
    element("dd", {textContent: text}),
  ]);
  find("facts").replaceChildren(element("dl", {}, ...items));
  if (isArray(box.data) && box.data.cells.length) heat("data", box.data);
  if (isArray(g) && g.cells.length) heat("gradient", g);
}
function factsOfBox(i, {kind, count, op, shape, data}) {
  const found = [
    ["name", nameOf(i)],
    ["kind", KIND_WORDS[kind]],
  ];
  if (count > 1) found.push(["stands for", `${count} nodes`]);
  if (op) found.push(["operation", op]);
  if (shape) found.push(["shape", shape]);
  if (data !== null) found.push(["data", exact(data)]);
  return found;
}
function gradientFacts(i, {kind}) {
  if (kind === "constant") return [];
  const [g, final] = gradientOf(i, state),
    [end] = gradientOf(i, stateAfter(steps.length));
  return [
    ["gradient now", g === null ? "none yet" : exact(g) + (final ? "" : ", so far")],
    ["at the end", end === null ? "none" : exact(end)],
  ];
}
function neighbourFacts(i, {kind, at, layers, parents, slopes, rule}) {
  const operands = parents.map((p, k) => [
    `operand ${k + 1}`,
    nameOf(p) + (slopes[k] === null ? "" : `, slope ${exact(slopes[k])}`),
  ]);
  const found = layers?.length ? [["layer", layers.join(" / ")]] : [];
  const verb = kind === "leaf" ? "first used" : "made";
  if (at) found.push([verb, `${story.sources[at[0]].name}, line ${at[1]}`]);
  found.push(...operands);
  if (story.rules[rule]) found.push(["slopes by rule", story.rules[rule]]);
  const users = arrows.filter(arrow => arrow.from === i).map(arrow => nameOf(arrow.to));
  return users.length ? [...found, ["used by", users.join(", ")]] : found;
}
// What arrives at a node, step by step.
function arrivals(i) {
  return steps.flatMap((step, k) =>
    (step.given ?? [])
      .filter(part => part.to === i)
      .map(part => {
        const from = `from ${nameOf(step.box)}`,
          g = (step.hooked ?? step.arrived)[0][1];
        if (step.do === "fold")
          return [
            `step ${k + 1}`,
            `${plural(part.number, "contribution")} ${from}: ${exact(part.gives)}`,
          ];
        const product = part.slope === null ? "" : ` (${exact(g)} × ${inSum(part.slope)})`;
        return [`step ${k + 1}`, `${exact(part.gives)} ${from}${product}`];
      }),
  );
}
const canOpen = i => Boolean(parts[i]) && parts[i].nodes.length > 1;
function addOpeners(i) {
  const box = boxes[i],
    button = text => find("tools").appendChild(element("button", {textContent: text}));
  if (canOpen(i)) button(`Open its ${box.count} nodes`).onclick = () => open(i);
  if (box.kind === "outside" && box.count === 1)
    button("Go to where it was made").onclick = () => reach(box.id);
}
const extent = x =>
  x.text.includes(", mean ")
    ? x.text.replace(/(.*) … (.*), mean (.*)/, "min $1, mean $3, max $2")
    : x.text;
function heat(name, x) {
  const cropped = sizeOf(x.shape) > x.cells.flat().length ? ", its first cells" : "";
  const caption = `${name}, shape ${x.shape.join(" × ")}${cropped}; ${extent(x)}`;
  const table = element("table", {className: "map"}, ...x.cells.map(row => heatRow(row, x.most)));
  table.setAttribute("aria-label", caption);
  const figure = element("figure", {}, element("figcaption", {textContent: caption}));
  figure.append(element("div", {className: "scroll"}, table));
  find("facts").append(figure);
}
function heatRow(row, most) {
  return element(
    "tr",
    {},
    ...row.map(cell => {
      const x = typeof cell === "number" ? cell : 0,
        share = most ? Math.min(1, Math.abs(x) / most) : 0;
      const mark = typeof cell !== "number" ? "!" : x > 0 ? "+" : x < 0 ? "−" : "0";
      const made = element("td", {textContent: mark, title: String(cell), ariaLabel: String(cell)});
      const colour = x < 0 ? "--down" : "--up";
      made.style.background = `rgba(var(${colour}),${(0.75 * share).toFixed(3)})`;
      return made;
    }),
  );
}
