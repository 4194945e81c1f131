// The picture of the view that is shown, and the program beside it.
// Room for any gradient in a box.
const WIDE = 7.3,
  LINE = 16,
  PAD = 10;
function sizeOfBox(box) {
  if (box.kind === "constant") return [constantText(box).length * WIDE + 2 * PAD, LINE + PAD];
  const numbers = box.shape === null && box.count === 1 ? 23 : 34;
  return [Math.max(headOf(box).length + 1, numbers) * WIDE + 2 * PAD, 3 * LINE + PAD];
}
function headOf({count, label, id, op}) {
  const times = count > 1 ? `${count} × ` : "";
  return times + [cut(label || `#${id}`), cut(op)].filter(Boolean).join("  ");
}
function constantText({label, data}) {
  const text = data === null || isArray(data) ? "constant" : brief(data);
  return !label ? text : text === "constant" ? `${label}, constant` : `${label} = ${text}`;
}
const CORNERS = {leaf: 10, operation: 3, function: 16, constant: 0, outside: 0};

// The picture is built once; each step changes its words and classes.
let drawn = [],
  lines = [],
  gives = [],
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
  gives = lines.map(line => line.querySelector(".gives"));
  svg.append(...lines, ...gives, ...drawn); // no arrow crosses a number
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
  const fit = Math.min(1, Math.max(0.8, room / wide));
  scale = {fit, whole}[choice] ?? Number(choice);
  svg.setAttribute("width", wide * scale);
  svg.setAttribute("height", high * scale);
}

const listed = {};
const NO_LINES =
  "No lines were recorded. Give explore a function, or run the script with " +
  "`python -m engine explore script.py`, to see them.";
function drawCode() {
  const code = find("code");
  code.append(element("h2", {textContent: "Program"}));
  if (!story.sources.length)
    code.append(element("p", {textContent: NO_LINES, className: "legend"}));
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
