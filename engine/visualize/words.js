// Words of the page: numbers, names of boxes, and elements to put them in.
const find = id => document.getElementById(id);
const NS = "http://www.w3.org/2000/svg";

// Numbers: four digits in the picture, all of them in the text.
function exact(x) {
  if (isArray(x)) return x.text;
  if (typeof x === "number" && x !== 0 && Math.abs(x) < 1e-4) return x.toExponential();
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
