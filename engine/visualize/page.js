// What the page shows and where it stands; its buttons, keys and boxes that open.
const story = JSON.parse(find("story").textContent);
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

let at = 0,
  timer = null,
  chosen = null,
  state;
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
