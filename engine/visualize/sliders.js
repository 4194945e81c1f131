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
  const why = obstacle(),
    text = `No slider here: ${why}.`;
  if (why) return void find("tools").append(element("p", {className: "why", textContent: text}));
  const first = decoded(given.boxes[box.id].data),
    tools = find("tools");
  if (!isArray(first)) return void tools.append(sliderOf(box, 0));
  const choice = element(
    "select",
    {},
    ...first.flat.map((_, k) =>
      element("option", {value: k, textContent: `[${indexOf(k, first.shape).join(", ")}]`}),
    ),
  );
  const place = element("div", {});
  choice.onchange = () => place.replaceChildren(sliderOf(box, Number(choice.value)));
  tools.append(element("label", {}, `Which number of ${nameOf(chosen)} `, choice), place);
  choice.onchange();
}
// The place of the k-th number of an array.
function indexOf(k, shape) {
  return shape.map((n, i) => Math.floor(k / sizeOf(shape.slice(i + 1))) % n);
}
function sliderOf(box, k) {
  const first = entry(decoded(given.boxes[box.id].data), k),
    wide = Math.max(2, 2 * Math.abs(first));
  const now = changes.has(box.id) ? entry(changes.get(box.id), k) : first;
  const slide = element("input", {
    type: "range",
    className: "slide",
    min: first - wide,
    max: first + wide,
    step: wide / 100,
    value: now,
  });
  const field = element("input", {type: "text", inputMode: "decimal", size: 8, value: brief(now)});
  slide.setAttribute("aria-label", `Slider of ${nameOf(chosen)}`);
  field.setAttribute("aria-label", `Number in ${nameOf(chosen)}`);
  slide.oninput = () => {
    change(box.id, k, Number(slide.value));
    field.value = brief(Number(slide.value));
  };
  field.onchange = () => {
    const x = Number(field.value);
    if (!field.value.trim() || !Number.isFinite(x)) return;
    change(box.id, k, x);
    slide.value = x;
  };
  return element("p", {className: "slider"}, `${nameOf(chosen)} `, slide, field);
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
  const names = [...changes.keys()].map(id => {
    const {label, data} = graph.boxes[id];
    return `${label || `#${id}`} = ${exact(data)} (in the program ${exact(given.boxes[id].data)})`;
  });
  find("changed").hidden = !changes.size;
  find("changes").textContent = `Computed again in this page, with ${names.join(", ")}. `;
  show();
}
