const find = id => document.getElementById(id);
const story = JSON.parse(find("story").textContent);
const NS = "http://www.w3.org/2000/svg";
const still = matchMedia("(prefers-reduced-motion: reduce)").matches;
// The graph as the engine computed it, as it is now (a slider may have changed it), and the view
// that is shown: `path` leads to it, from the whole to the box that was opened last.
const given = graphOf(story);
let graph = given,
  path = [everything(graph)];
let boxes = [],
  steps = [],
  parts = [],
  arrows = [];

// Numbers: four digits in the picture, all of them in the text.
function exact(x) {
  if (isArray(x)) return x.text;
  return Object.is(x, -0) ? "-0" : String(x);
}
function brief(x) {
  if (isArray(x)) return x.text.split(", mean")[0];
  if (typeof x !== "number" || (Number.isInteger(x) && Math.abs(x) < 1e6)) return exact(x);
  const text = Math.abs(x) < 1e-3 ? x.toExponential(3) : x.toPrecision(4);
  return text.includes("e") ? text.replace(/\.?0+e/, "e") : text.replace(/\.?0+$/, "");
}
function signed(x) {
  if (typeof x !== "number") return brief(x);
  return (x > 0 ? "▲ " : x < 0 ? "▼ " : "● ") + brief(x);
}
const inSum = x => (typeof x === "number" && x < 0 ? `(${exact(x)})` : exact(x));
const cut = text => (text.length > 34 ? text.slice(0, 33) + "…" : text);
const nameOf = i =>
  boxes[i].label ||
  (boxes[i].kind !== "constant"
    ? `#${boxes[i].id}`
    : boxes[i].data === null
      ? "a constant"
      : brief(boxes[i].data));

function element(tag, properties = {}, ...children) {
  const made = Object.assign(document.createElement(tag), properties);
  made.append(...children);
  return made;
}
function shape(tag, attributes, text) {
  const made = document.createElementNS(NS, tag);
  for (const name in attributes) made.setAttribute(name, attributes[name]);
  if (text !== undefined) made.textContent = text;
  return made;
}

// Room for any gradient in a box.
const WIDE = 7.3,
  LINE = 16,
  PAD = 10;
const short = text => (text.length > 28 ? text.slice(0, 27) + "…" : text);
function sizeOfBox(box) {
  if (box.kind === "constant") return [constantText(box).length * WIDE + 2 * PAD, LINE + PAD];
  const head = short(box.label).length + short(box.op).length + 8;
  return [
    Math.max(head, box.shape === null && box.count === 1 ? 23 : 34) * WIDE + 2 * PAD,
    3 * LINE + PAD,
  ];
}
const constantText = box =>
  [box.label, box.data === null || isArray(box.data) ? "constant" : brief(box.data)]
    .filter(Boolean)
    .join(" = ");
const CORNERS = {leaf: 10, operation: 3, function: 16, constant: 0, outside: 0};

// The picture is built once; each step changes its words and classes.
let drawn = [],
  lines = [],
  places = [],
  size = [0, 0];
function drawGraph() {
  const sizes = boxes.map(sizeOfBox),
    plan = layout(
      sizes,
      boxes.map(box => box.parents),
    );
  size = [plan.wide, plan.high];
  places = sizes.map(([wide, high], i) => [plan.x[i], plan.y[i] - high / 2, wide, high]);
  arrows = boxes.flatMap((box, to) =>
    box.parents.map((from, port) => ({from, to, port, ports: box.parents.length})),
  );
  const [wide, high] = size;
  const svg = shape("svg", {
    width: wide + 40,
    height: high + 40,
    viewBox: `-20 -20 ${wide + 40} ${high + 40}`,
    role: "group",
    "aria-label": `Graph of ${boxes.length} nodes`,
  });
  lines = arrows.map(arrow =>
    drawArrow(
      arrow,
      arrowPath(plan, sizes, arrow.from, arrow.to, (arrow.port + 1) / (arrow.ports + 1)),
    ),
  );
  drawn = boxes.map(drawBox);
  svg.append(...lines, ...drawn);
  find("graph").replaceChildren(svg);
}
function drawArrow(arrow, {path, x, y}) {
  const group = shape("g", {});
  group.append(
    shape("path", {class: "arrow", d: path}),
    shape("path", {class: "tip", d: `M${x.toFixed(1)} ${y.toFixed(1)}l-8 -4v8z`}),
    shape("text", {class: "gives", x: x - 10, y: y - 4, "text-anchor": "end"}, ""),
  );
  return group;
}
function drawBox(box, i) {
  const [x, y, wide, high] = places[i].map(a => Number(a.toFixed(1)));
  const group = shape("g", {
    class: `box ${box.kind}${box.count > 1 ? " many" : ""}`,
    tabindex: 0,
    role: "button",
    "data-box": i,
  });
  if (box.count > 1)
    group.append(
      shape("rect", {
        class: "behind",
        x: x + 5,
        y: y - 5,
        width: wide,
        height: high,
        rx: CORNERS[box.kind],
      }),
    );
  group.append(shape("rect", {x, y, width: wide, height: high, rx: CORNERS[box.kind]}));
  const words = box.kind === "constant" ? ["data"] : ["head", "data", "grad"];
  words.forEach((kind, k) =>
    group.append(shape("text", {class: kind, x: x + 10, y: y + 17 + 16 * k})),
  );
  group.addEventListener("click", () => choose(i));
  group.addEventListener("dblclick", () => {
    if (canOpen(i)) open(i);
  });
  group.addEventListener("keydown", event => {
    if (event.key !== "Enter") return;
    if (chosen === i && canOpen(i)) open(i);
    else choose(i);
  });
  return group;
}
// The picture fits its frame as long as its words can be read.
let scale = 1;
function resize() {
  const svg = document.querySelector("#graph svg"),
    room = find("graph").clientWidth - 18;
  const [wide, high] = [size[0] + 40, size[1] + 40],
    choice = find("zoom").value;
  const whole = Math.min(1, room / wide, (find("graph").clientHeight - 18) / high);
  const fit = Math.min(1, Math.max(0.7, room / wide));
  scale = {fit, whole}[choice] ?? Number(choice);
  svg.setAttribute("width", wide * scale);
  svg.setAttribute("height", high * scale);
}

const listed = {};
function drawCode() {
  const code = find("code");
  code.append(element("h2", {textContent: "Program"}));
  if (!story.sources.length)
    code.append(
      element("p", {
        textContent:
          "No lines were recorded. Give explore a function, or run the script with `python -m engine explore script.py`, to see them.",
        style: "padding:0 12px",
      }),
    );
  const off = new Set(story.ungraded.map(([file, line]) => `${file}:${line}`));
  if (off.size)
    code.append(
      element("p", {
        className: "legend",
        textContent:
          "Lines marked no_grad computed without gradients: nothing of theirs is in the graph.",
      }),
    );
  story.sources.forEach((source, file) => {
    code.append(element("h3", {textContent: source.name}));
    const list = element("ol");
    source.lines.forEach((text, i) => {
      const item = element("li", {textContent: text || " "});
      item.dataset.n = i + 1;
      if (off.has(`${file}:${i + 1}`)) {
        item.classList.add("off");
        item.append(element("span", {className: "mark", textContent: "no_grad"}));
      }
      listed[`${file}:${i + 1}`] = item;
      list.append(item);
    });
    code.append(list);
  });
}

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

let at = 0,
  timer = null,
  chosen = null,
  state;
function show() {
  state = stateAfter(at);
  const step = at ? steps[at - 1] : null;
  boxes.forEach((box, i) => {
    const group = drawn[i],
      text = group.querySelectorAll("text");
    const usedNow =
      box.kind !== "constant"
        ? state.made.has(i)
        : arrows.some(a => a.from === i && state.made.has(a.to));
    group.classList.toggle("unmade", !usedNow);
    group.classList.toggle("current", step !== null && step.box === i);
    const data = box.data === null ? (box.shape ?? "") : brief(box.data);
    if (box.kind === "constant") {
      text[0].textContent = constantText(box);
    } else {
      text[0].textContent =
        (box.count > 1 ? `${box.count} × ` : "") +
        [cut(nameOf(i)), cut(box.op)].filter(Boolean).join("  ");
      text[1].textContent = cut(
        usedNow ? (box.data === null ? data : "data " + data) : "not made yet",
      );
      text[2].textContent = cut(gradientText(i, state));
      text[2].setAttribute("class", gradientOf(i, state)[0] === null ? "none" : "grad");
    }
    group.setAttribute(
      "aria-label",
      [
        nameOf(i),
        box.op,
        data && `data ${data}`,
        box.kind === "constant" ? "constant" : gradientText(i, state),
      ]
        .filter(Boolean)
        .join(", "),
    );
  });
  arrows.forEach((arrow, k) => {
    const given = state.gave[`${arrow.from}>${arrow.to}:${arrow.port}`];
    lines[k].querySelector(".gives").textContent =
      given === undefined || isArray(given) ? "" : signed(given);
    lines[k].classList.toggle(
      "flow",
      step !== null && step.do === "pass" && step.box === arrow.to && given !== undefined,
    );
  });
  tell(step);
  light(step);
  find("scrub").value = at;
  find("count").textContent = `${at} of ${steps.length}`;
  find("back").disabled = find("first").disabled = at === 0;
  find("next").disabled = at === steps.length;
  if (chosen !== null) facts();
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
  const say = find("say"),
    sums = find("sums");
  sums.replaceChildren();
  const sum = (...parts) => sums.append(element("p", {className: "sum"}, ...parts));
  if (step === null) {
    say.textContent = "Nothing is computed yet. Next makes the first node.";
    return;
  }
  const i = step.box,
    box = boxes[i],
    name = nameOf(i);
  if (step.do === "make") {
    say.textContent =
      box.count > 1
        ? `Forward: ${name} makes ${box.count} nodes.`
        : box.kind === "leaf"
          ? `Forward: ${name} is a leaf, given by the program.`
          : box.kind === "outside"
            ? `Forward: ${name} comes from another line.`
            : `Forward: ${name} is made by ${box.op || "a Function"}.`;
    if (
      box.kind === "operation" &&
      box.op &&
      box.count === 1 &&
      box.parents.every(p => boxes[p].count === 1)
    )
      sum(
        `${name} = ${formula(i, nameOf)} = ${formula(i, p => inSum(boxes[p].data))} = ${exact(box.data)}`,
      );
    else if (box.data !== null) sum(`${name} = ${exact(box.data)}`);
    else if (box.shape) sum(`${name}: ${box.shape}`);
  } else if (step.do === "start") {
    say.textContent = `Backward starts at ${name}: the derivative of a result by itself.`;
    for (const [, g] of step.arrived)
      sum(`gradient of ${name} = `, element("b", {textContent: exact(g)}));
  } else if (step.do === "fold") {
    say.textContent = `Backward: the gradients of ${name} (${box.count} ${box.count > 1 ? "nodes" : "node"}) are complete: ${exact(step.arrived[0][1])}.`;
    for (const part of step.given)
      sum(
        `to ${nameOf(part.to)}: ${part.number} ${part.number > 1 ? "contributions" : "contribution"}, `,
        element("b", {textContent: exact(part.gives)}),
      );
  } else if (step.do === "pass") {
    const incoming = step.arrived.map(([, g]) => exact(g)).join("; ");
    if (step.hooked)
      sum(
        `its hooks make of that: `,
        element("b", {textContent: step.hooked.map(([, g]) => exact(g)).join("; ")}),
      );
    const own = step.given.every(part => part.slope === null);
    say.textContent =
      `Backward: ${name} has its whole gradient, ${incoming}` +
      (own
        ? "; its own backward makes of it the gradients of its operands."
        : ", and hands it on: times its slope by each operand.");
    if (!step.given.length) sum("There is nobody to hand it to.");
    const ctx = box.ctx ?? [];
    if (ctx.length) sum(`its ctx kept ${ctx.join("; ")}`);
    for (const part of step.given) {
      const to = nameOf(part.to),
        g = (step.hooked ?? step.arrived)[0][1];
      sum(
        `to ${to}: `,
        part.slope === null ? "contribution " : `${exact(g)} × ${inSum(part.slope)} = `,
        element("b", {textContent: exact(part.gives)}),
      );
      sum(
        part.before === null
          ? `   the first to arrive at ${to}: `
          : `   added at ${to}: ${exact(part.before)} + ${inSum(part.gives)} = `,
        element("b", {textContent: exact(part.after)}),
      );
    }
  } else {
    say.textContent = `Backward: ${name} is a leaf; what arrived goes into its .grad.`;
    const g = (step.hooked ?? step.arrived)[0][1];
    if (step.hooked)
      sum(
        `its hooks make of ${exact(step.arrived[0][1])}: `,
        element("b", {textContent: exact(g)}),
      );
    sum(
      step.before === null
        ? `${name}.grad = `
        : `${name}.grad = ${exact(step.before)} (from before) + ${inSum(g)} = `,
      element("b", {textContent: exact(step.after)}),
    );
  }
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
function facts() {
  const i = chosen,
    box = boxes[i],
    list = element("dl");
  const fact = (name, ...value) =>
    list.append(element("dt", {textContent: name}), element("dd", {}, ...value));
  fact("name", nameOf(i));
  fact(
    "kind",
    {
      leaf: "a leaf",
      operation: "result of an operation",
      function: "a node with a ctx of its own",
      constant: "a constant, without gradient",
      outside: "made by another line, of what is not in this view",
    }[box.kind],
  );
  if (box.count > 1) fact("stands for", `${box.count} nodes`);
  if (box.op) fact("operation", box.op);
  if (box.shape) fact("shape", box.shape);
  if (box.data !== null) fact("data", exact(box.data));
  if (box.kind !== "constant") {
    const [g, final] = gradientOf(i, state);
    fact("gradient now", g === null ? "none yet" : exact(g) + (final ? "" : ", so far"));
    const [end] = gradientOf(i, stateAfter(steps.length));
    fact("at the end", end === null ? "none" : exact(end));
  }
  if (box.at)
    fact(
      box.kind === "leaf" ? "first used" : "made",
      `${story.sources[box.at[0]].name}, line ${box.at[1]}`,
    );
  box.parents.forEach((p, k) =>
    fact(
      `operand ${k + 1}`,
      nameOf(p) + (box.slopes[k] === null ? "" : `, slope ${exact(box.slopes[k])}`),
    ),
  );
  if (story.rules[box.rule]) fact("slopes by rule", story.rules[box.rule]);
  const users = arrows.filter(arrow => arrow.from === i).map(arrow => nameOf(arrow.to));
  if (users.length) fact("used by", users.join(", "));
  steps.forEach((step, k) => {
    if (step.do === "fold")
      step.given
        .filter(part => part.to === i)
        .forEach(part =>
          fact(
            `step ${k + 1}`,
            `${part.number} contributions from ${nameOf(step.box)}: ${exact(part.gives)}`,
          ),
        );
    if (step.do === "pass")
      step.given
        .filter(part => part.to === i)
        .forEach(part =>
          fact(
            `step ${k + 1}`,
            `${exact(part.gives)} from ${nameOf(step.box)}` +
              (part.slope === null ? "" : ` (${exact(step.arrived[0][1])} × ${inSum(part.slope)})`),
          ),
        );
  });
  (box.ctx ?? []).forEach(text => fact("ctx", text));
  box.notes.forEach(note => fact("note", note));
  find("facts").replaceChildren(list);
  const [g] = gradientOf(i, state);
  for (const [name, x] of [
    ["data", box.data],
    ["gradient", g],
  ])
    if (isArray(x) && x.cells.length > 0) heat(name, x);
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
  const table = element("table", {className: "map"});
  table.append(
    element("caption", {
      textContent: `${name}, shape ${x.shape.join(" × ")}${sizeOf(x.shape) > x.cells.flat().length ? ", its first cells" : ""}; ${extent(x)}`,
    }),
  );
  for (const row of x.cells) {
    const line = element("tr");
    for (const cell of row) {
      const number = typeof cell === "number" ? cell : 0,
        share = x.most ? Math.min(1, Math.abs(number) / x.most) : 0;
      const mark = typeof cell !== "number" ? "!" : number > 0 ? "+" : number < 0 ? "−" : "0";
      const made = element("td", {textContent: mark, title: String(cell)});
      made.style.background = `rgba(var(${number < 0 ? "--down" : "--up"}),${(0.75 * share).toFixed(3)})`;
      line.append(made);
    }
    table.append(line);
  }
  find("facts").append(element("div", {className: "scroll"}, table));
}

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
    `Quiz: the gradient of ${name} is ${exact(g)}, and ${name} = ${formula(step.box, nameOf)}. How much does it hand to ${to}?`;
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
function go(to) {
  asked = false;
  at = Math.max(0, Math.min(steps.length, to));
  if (at === steps.length) stop();
  show();
}
function stop() {
  clearInterval(timer);
  timer = null;
  find("play").textContent = "Play";
  find("play").setAttribute("aria-pressed", "false");
}
function play() {
  if (timer !== null) return stop();
  if (at === steps.length) go(0);
  find("play").textContent = "Pause";
  find("play").setAttribute("aria-pressed", "true");
  timer = setInterval(() => go(at + 1), Number(find("speed").value));
}
let turn = 0;
// Show the view that the path leads to, as it stands after so many steps.
function load(steps_ = 0) {
  stop();
  take(viewOf(graph, path.at(-1)));
  turn = steps.findIndex(step => step.do !== "make");
  find("scrub").max = steps.length;
  chosen = null;
  find("facts").replaceChildren();
  find("tools").replaceChildren();
  find("hint").hidden = false;
  drawGraph();
  drawPath();
  resize();
  go(steps_);
}
function take(view) {
  ({boxes, steps, parts} = view);
}
const titleOf = part => part.name || graph.boxes[part.nodes[0]].op || "nodes";
function drawPath() {
  find("path").hidden = path.length === 1;
  find("way").replaceChildren(
    ...path.slice(0, -1).map((part, k) => {
      const button = element("button", {textContent: titleOf(part)});
      button.onclick = () => close(k);
      return element("li", {}, button);
    }),
    element("li", {textContent: titleOf(path.at(-1))}),
  );
}
function open(i) {
  path.at(-1).step = at;
  path.push(parts[i]);
  load();
  find("close").focus();
}
function close(k) {
  path = path.slice(0, k + 1);
  load(path.at(-1).step ?? 0);
}
// Open boxes until the node with this number is seen, and choose it.
function reach(id) {
  path = [everything(graph)];
  for (;;) {
    const view = viewOf(graph, path.at(-1)),
      part = view.parts.find(those => those.nodes.includes(id));
    if (!part || part.nodes.length === 1) break;
    path.push(part);
  }
  load();
  go(steps.findIndex(step => step.do === "make" && boxes[step.box].id === id) + 1);
  const i = boxes.findIndex(box => box.id === id && box.kind !== "outside");
  if (i >= 0) choose(i);
}
function seek(text) {
  const wanted = text.trim().replace(/^#/, "");
  const nodes = path[0].nodes,
    id =
      nodes.includes(Number(wanted)) && wanted !== ""
        ? Number(wanted)
        : nodes.find(i => graph.boxes[i].label === text.trim());
  find("sought").textContent = id === undefined ? `There is no node ${text}.` : "";
  if (id !== undefined) reach(id);
}

// Sliders: another number in a leaf, and the page computes the rest again.
const changes = new Map();
let whyNot;
function obstacle() {
  if (whyNot !== undefined) return whyNot;
  const unknown = obstacles(given);
  if (unknown.length)
    return (whyNot = `the page has no arithmetic for ${unknown.slice(0, 3).join(", ")}`);
  let odd;
  try {
    odd = disagreement(given, recomputed(given, story.starts, changes));
  } catch {
    return (whyNot = "the page has no arithmetic for arrays of these shapes");
  }
  return (whyNot =
    odd === null ? "" : `the page's own arithmetic does not give the engine's number at #${odd}`);
}
function addSlider(box) {
  const why = obstacle();
  if (why)
    return void find("tools").append(
      element("p", {className: "why", textContent: `No slider here: ${why}.`}),
    );
  const first = decoded(given.boxes[box.id].data),
    now = changes.get(box.id) ?? first;
  const count = isArray(first) ? first.flat.length : 1;
  for (let k = 0; k < Math.min(count, 16); k++)
    find("tools").append(sliderOf(box, k, entry(first, k), entry(now, k)));
}
function sliderOf(box, k, first, now) {
  const many = isArray(given.boxes[box.id].data),
    name = (box.label || `#${box.id}`) + (many ? `[${k}]` : "");
  const reach = Math.max(2, 2 * Math.abs(first)),
    range = {min: first - reach, max: first + reach};
  const slide = element("input", {
    type: "range",
    className: "slide",
    ...range,
    step: (4 * reach) / 2 / 200,
    value: now,
  });
  const field = element("input", {type: "text", inputMode: "decimal", size: 8, value: brief(now)});
  slide.setAttribute("aria-label", `Slider of ${name}`);
  field.setAttribute("aria-label", `Number in ${name}`);
  const set = x => {
    if (Number.isFinite(x)) change(box.id, k, x);
  };
  slide.oninput = () => {
    set(Number(slide.value));
    field.value = brief(Number(slide.value));
  };
  field.onchange = () => {
    if (field.value.trim()) {
      set(Number(field.value));
      slide.value = field.value;
    }
  };
  return element("p", {className: "slider"}, `${name} `, slide, field);
}
function change(id, k, x) {
  const first = decoded(given.boxes[id].data),
    now = changes.get(id) ?? first;
  changes.set(
    id,
    isArray(first) ? {shape: first.shape, flat: now.flat.map((y, j) => (j === k ? x : y))} : x,
  );
  anew();
}
// The same view and step, with the numbers as they are now.
function anew() {
  graph = changes.size ? recomputed(given, story.starts, changes) : given;
  take(viewOf(graph, path.at(-1)));
  const names = [...changes.keys()].map(
    id =>
      `${graph.boxes[id].label || `#${id}`} = ${exact(graph.boxes[id].data)} (in the program ${exact(given.boxes[id].data)})`,
  );
  find("changed").hidden = !changes.size;
  find("changes").textContent = `Computed again in this page, with ${names.join(", ")}. `;
  show();
}
find("close").onclick = () => close(path.length - 2);
find("reset").onclick = () => {
  changes.clear();
  anew();
  if (chosen !== null) choose(chosen);
};
find("seek").onchange = () => seek(find("seek").value);
find("title").textContent = story.title;
find("remark").textContent = story.remark;
find("first").onclick = () => {
  stop();
  go(0);
};
find("back").onclick = () => {
  stop();
  go(at - 1);
};
find("next").onclick = () => {
  stop();
  advance();
};
find("turn").onclick = () => {
  stop();
  go(turn + 1);
};
find("play").onclick = play;
find("speed").onchange = () => {
  if (timer !== null) {
    stop();
    play();
  }
};
find("scrub").oninput = event => {
  stop();
  go(Number(event.target.value));
};
document.addEventListener("keydown", event => {
  if (
    event.ctrlKey ||
    event.metaKey ||
    event.altKey ||
    event.target.tagName === "SELECT" ||
    event.target.type === "text" ||
    event.target.className === "slide"
  )
    return;
  const keys = {
    ArrowRight: advance,
    ArrowLeft: () => go(at - 1),
    Home: () => go(0),
    End: () => go(steps.length),
    b: () => go(turn + 1),
    Escape: () => {
      if (path.length > 1) close(path.length - 2);
    },
  };
  if (event.key === " " && event.target.tagName !== "BUTTON" && event.target.type !== "checkbox") {
    event.preventDefault();
    play();
  } else if (event.key in keys) {
    event.preventDefault();
    stop();
    keys[event.key]();
  }
});
drawCode();
find("seeking").hidden = given.boxes.length <= MOST;
find("zoom").onchange = resize;
addEventListener("resize", resize);
addEventListener("hashchange", () => {
  stop();
  go(Number(location.hash.slice(1)) || 0);
});
load(Number(location.hash.slice(1)) || 0);
