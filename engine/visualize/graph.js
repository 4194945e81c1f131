// The graph of a story, and the views of it: all of a small one; of a large one boxes that stand
// for many nodes, which open into further such boxes and at last into the nodes themselves.
const MOST = 500,
  LARGEST = 100,
  GROUPS = 200,
  FEW = 60,
  PAGE = 100;

function unpacked({kind, base64}) {
  const text = atob(base64),
    bytes = new Uint8Array(text.length);
  for (let i = 0; i < text.length; i++) bytes[i] = text.charCodeAt(i);
  return new globalThis[kind](bytes.buffer);
}
function graphOf(story) {
  const boxes = story.columns ? boxesOf(story.columns) : story.boxes;
  boxes.forEach((box, i) => {
    box.id = i;
    box.count = 1;
  });
  const steps = story.columns ? stepsOf(boxes, story.columns, story.starts) : story.steps;
  return {boxes, steps};
}
function boxesOf(columns) {
  const {heads, labels, stacks, layers, others} = columns,
    boxes = [],
    unknown = new Set(columns.unknown);
  const tables = [heads, labels, stacks, layers];
  const [which, named, called, layered] = tables.map(part => unpacked(part.which));
  const names = ["data", "counts", "parents", "flags", "slopes"];
  const [data, counts, parents, flags, slopes] = names.map(name => unpacked(columns[name]));
  let next = 0,
    sloped = 0;
  for (let i = 0; i < counts.length; i++) {
    const box = new Box(heads.of[which[i]], labels.of[named[i]], stacks.of[called[i]]);
    box.layers = layers.of[layered[i]];
    box.data = i in others ? others[i] : unknown.has(i) ? null : encoded(data[i]);
    for (let k = 0; k < counts[i]; k++) box.parents.push(i - parents[next++]);
    for (let k = 0; k < counts[i]; k++) {
      const none = flags[i] === 0 || boxes[box.parents[k]].kind === "constant";
      const known = none || flags[i] === 1;
      box.slopes.push(none ? null : known ? implied(box, boxes, k) : encoded(slopes[sloped++]));
    }
    boxes.push(box);
  }
  return boxes;
}
// A box of a large graph; they are many, so all have the same fields.
class Box {
  constructor({kind, op, shape, notes, ctx, rule, k, call, dims, to, hooks}, label, stack) {
    this.id = 0;
    this.count = 1;
    this.kind = kind;
    this.op = op;
    this.shape = shape;
    this.notes = notes;
    this.ctx = ctx;
    this.rule = rule;
    this.k = k;
    this.call = call;
    this.dims = dims;
    this.to = to;
    this.hooks = hooks;
    this.label = label;
    this.stack = stack;
    this.layers = [];
    this.at = stack.length ? stack[0] : null;
    this.data = null;
    this.parents = [];
    this.slopes = [];
  }
}
const implied = ({op, parents}, boxes, k) =>
  op === "*" ? boxes[parents[1 - k]].data : op === "-" && k === 1 ? -1 : 1;

// The steps; of the plain ones of the walk back only the order is told, and they are done again.
function stepsOf(boxes, {made, visits, full}, starts) {
  const steps = Array.from(unpacked(made), box => ({do: "make", box})),
    arrived = Array(boxes.length);
  for (const [i, , g] of starts) arrived[i] = decoded(g);
  unpacked(visits).forEach((i, k) => {
    const step = full[k] ?? plainStep(boxes, i, arrived);
    if (k === 0) steps.push({do: "start", box: i, arrived: step.arrived});
    if (k in full) for (const part of step.given ?? []) arrived[part.to] = decoded(part.after);
    steps.push(step);
  });
  return steps;
}
function plainStep(boxes, i, arrived) {
  const {kind, parents, slopes, rule} = boxes[i],
    g = arrived[i],
    start = [[0, encoded(g)]];
  if (kind === "leaf") return {do: "keep", box: i, arrived: start, before: null, after: encoded(g)};
  const given = [];
  for (let port = 0; port < parents.length; port++) {
    if (slopes[port] === null) continue;
    const to = parents[port],
      slope = decoded(slopes[port]),
      c = passed(rule, g, slope),
      before = arrived[to];
    arrived[to] = before === undefined ? 0 + c : before + c;
    given.push({
      to,
      output: 0,
      port,
      slope: slopes[port],
      gives: encoded(c),
      before: before === undefined ? null : encoded(before),
      after: encoded(arrived[to]),
    });
  }
  return {do: "pass", box: i, arrived: start, given};
}
// A selection passes nothing where its slope is 0, not even an infinite gradient.
function passed(rule, g, slope) {
  const c = g * slope;
  return c !== c && slope === 0 && RULES[rule]?.selection ? 0 : c;
}

// What a view is of: nodes (all that are no constants), and the name of the box that was opened.
const everything = ({boxes}) => ({
  nodes: boxes.filter(box => box.kind !== "constant").map(box => box.id),
  name: "all",
  from: 0,
});
function viewOf(graph, part) {
  if (graph.boxes.length <= MOST) return {...graph, parts: []};
  return part.nodes.length <= LARGEST
    ? insideView(graph, part.nodes)
    : foldedView(graph, divided(graph, part));
}

// Ways to divide nodes, from coarse to fine: by source line and label, within layers where they are
// not too many; by layer; by the calls that led there; by label; where none divides, in pages.
const lineKey = ([, line, name]) =>
  `line ${line}${name && name !== "<module>" ? ` in ${name}` : ""}`;
const madeAt = ({kind, at, op, shape}) =>
  `${kind === "leaf"}\n${at ? `${at[0]}:${at[1]}` : `${op} ${shape}`}`;
const layer = (box, depth) => box.layers.slice(0, depth).join(" / ");
const calls = (stack, count) =>
  stack
    .slice(0, count)
    .map(call => call.join())
    .join("\n");
const leavesOf = box => (box.kind === "leaf" ? "leaves of " : "");
const lineOf = box => (box.at ? leavesOf(box) + lineKey(box.at) : "");
const depths = [1, 2, 3, 4, 5, 6, 7];
// key: what nodes of one part have in common. most: parts. name: of a part, given a node of it.
const WAYS = [
  ...[3, 2, 1].map(depth => ({
    key: box => `${madeAt(box)}\n${box.label}\n${layer(box, depth)}`,
    name: box => [layer(box, depth), lineOf(box)].filter(Boolean).join(", "),
    most: FEW,
  })),
  {key: box => `${madeAt(box)}\n${box.label}`, name: lineOf, most: GROUPS},
  {key: madeAt, name: lineOf, most: GROUPS},
  ...depths.map(k => ({key: box => layer(box, k), name: box => layer(box, k), most: GROUPS})),
  ...depths.map(k => ({
    key: ({stack}) => calls(stack, k + 1),
    name: ({stack}) => (stack[k] ? `calls from ${lineKey(stack[k])}` : ""),
    most: GROUPS,
  })),
  {key: box => box.label, name: box => box.label, most: GROUPS},
];
function divided({boxes}, part) {
  for (let way = part.from; way < WAYS.length; way++) {
    const {key, name, most} = WAYS[way],
      groups = grouped(boxes, part.nodes, key, most);
    if (groups.size < 2 || groups.size > most) continue;
    return [...groups.values()].map(nodes => {
      const first = boxes[nodes[0]],
        own = nodes.length === 1 && first.label;
      return {nodes, name: own || name(first) || first.label, from: way + 1};
    });
  }
  return pages(boxes, part.nodes);
}
function grouped(boxes, nodes, key, most) {
  const groups = new Map();
  for (const i of nodes) {
    const text = key(boxes[i]);
    if (!groups.has(text)) groups.set(text, []);
    groups.get(text).push(i);
    if (groups.size > most) break;
  }
  return groups;
}
function pages(boxes, nodes) {
  const long = Math.max(PAGE, Math.ceil(nodes.length / GROUPS)),
    parts = [];
  for (let i = 0; i < nodes.length; i += long) {
    const those = nodes.slice(i, i + long);
    parts.push({nodes: those, name: `nodes #${those[0]} to #${those.at(-1)}`, from: WAYS.length});
  }
  return parts;
}
// Each part as one box. Arrows lead to it from parts before it; what a loop brings back is a note.
// group: of each node the number of its part, NONE of those in no part.
const NONE = -1;
function foldedView({boxes, steps}, parts) {
  const group = new Int32Array(boxes.length).fill(NONE);
  parts.forEach((part, k) => part.nodes.forEach(i => (group[i] = k)));
  const folded = parts.map((part, k) => foldedBox(boxes, part, k, group));
  return {boxes: folded, steps: foldedSteps(steps, group, parts.length), parts};
}
function foldedBox(boxes, part, k, group) {
  const {nodes, name} = part,
    first = boxes[nodes[0]],
    one = nodes.length === 1;
  const {sources, notes} = sourcesOf(boxes, nodes, k, group),
    parents = sources.filter(g => g < k);
  const labels = one ? [] : different(boxes, nodes, "label").slice(0, 20);
  if (labels.length) notes.push(`labels: ${labels.join(", ")}`);
  const told = one ? first.notes : [...new Set(nodes.flatMap(i => boxes[i].notes))].slice(0, 10);
  return {
    id: first.id,
    kind: first.kind,
    op: different(boxes, nodes, "op").slice(0, 4).join(" "),
    label: name,
    count: nodes.length,
    shape: one ? first.shape : null,
    data: one ? first.data : spreadOf(boxes, nodes),
    parents,
    slopes: parents.map(() => null),
    at: first.at,
    ctx: one ? first.ctx : [],
    notes: [...notes, ...told],
  };
}
// The parts that nodes were made of, in order, and what there is to say of that.
function sourcesOf(boxes, nodes, k, group) {
  const found = new Set(),
    elsewhere = new Set(),
    notes = [];
  for (const i of nodes)
    for (const p of boxes[i].parents) {
      if (group[p] !== NONE) found.add(group[p]);
      else if (boxes[p].kind !== "constant") elsewhere.add(p);
    }
  const sources = [...found],
    later = sources.filter(g => g > k).length,
    out = elsewhere.size;
  if (found.has(k) && nodes.length > 1) notes.push("a loop: also made of what it made itself");
  if (later) notes.push(`a loop: also made of ${later} boxes to its right`);
  if (out) notes.push(`also made of ${out} nodes outside of what is open`);
  return {sources, notes};
}
function different(boxes, nodes, name) {
  const found = new Set();
  for (const i of nodes) if (boxes[i][name]) found.add(boxes[i][name]);
  return [...found];
}
function foldedSteps(steps, group, count) {
  const made = new Set(),
    arrived = Array.from({length: count}, () => ({...NOTHING, last: -1})),
    gave = Array.from({length: count}, () => new Map());
  steps.forEach((step, order) => {
    const k = group[step.box];
    if (k === NONE) return;
    if (step.do === "make") made.add(k);
    if (step.do !== "pass" && step.do !== "keep") return;
    arrived[k].last = order;
    for (const [, g] of step.arrived) extend(arrived[k], g);
    for (const part of step.given ?? []) {
      const to = group[part.to];
      if (to === NONE) continue;
      if (!gave[k].has(to)) gave[k].set(to, {...NOTHING});
      extend(gave[k].get(to), part.gives);
    }
  });
  const ended = arrived.map(({last}, k) => k).filter(k => arrived[k].last >= 0);
  ended.sort((a, b) => arrived[a].last - arrived[b].last);
  return [
    ...[...made].map(box => ({do: "make", box})),
    ...ended.map(box => ({
      do: "fold",
      box,
      arrived: [[0, extentOf(arrived[box])]],
      given: [...gave[box]].map(([to, sums]) => ({to, number: sums.number, gives: extentOf(sums)})),
    })),
  ];
}
// Least and greatest of some numbers, and how many were told.
const NOTHING = {number: 0, least: Infinity, most: -Infinity, nan: false};
function extend(sums, x) {
  sums.number++;
  if (typeof x === "number") extendBy(sums, x);
  else if (x !== null)
    for (const y of isArray(x) ? (x.range ?? []) : [x]) extendBy(sums, decoded(y));
}
function extendBy(sums, x) {
  if (x !== x) sums.nan = true;
  if (x < sums.least) sums.least = x;
  if (x > sums.most) sums.most = x;
}
function extentOf({least, most, nan}) {
  if (nan) return "nan";
  if (least > most) return null;
  if (least === most) return encoded(least);
  const range = [encoded(least), encoded(most)];
  return {text: range.map(brief).join(" … "), cells: [], range};
}
function spreadOf(boxes, nodes) {
  const sums = {...NOTHING};
  for (const i of nodes) extend(sums, boxes[i].data);
  return extentOf(sums);
}

// The nodes themselves, with what they were made of; of more than fit, the rest is one box.
function insideView({boxes, steps}, nodes) {
  const inner = new Set(nodes),
    outer = [...new Set(nodes.flatMap(i => boxes[i].parents))]
      .filter(p => !inner.has(p))
      .sort((a, b) => a - b);
  const room = MOST - nodes.length - 1,
    rest = outer.splice(outer.length > room ? room : Infinity);
  const chosen = [...outer, ...nodes].sort((a, b) => a - b),
    place = new Map(chosen.map((i, k) => [i, k + (rest.length ? 1 : 0)]));
  rest.forEach(i => place.set(i, 0));
  const more = rest.length
    ? [{...outside(boxes[rest[0]]), count: rest.length, label: "others", data: null}]
    : [];
  const shown = chosen.map(i =>
    inner.has(i)
      ? {...boxes[i], parents: boxes[i].parents.map(p => place.get(p))}
      : boxes[i].kind === "constant"
        ? boxes[i]
        : outside(boxes[i]),
  );
  return {boxes: [...more, ...shown], steps: insideSteps(steps, inner, place, boxes), parts: []};
}
const outside = box => ({...box, kind: "outside", parents: [], slopes: [], notes: [], ctx: []});
function insideSteps(steps, inner, place, boxes) {
  const used = new Set(),
    found = [];
  const bring = i => {
    if (place.has(i) && !used.has(i) && boxes[i].kind !== "constant")
      found.push({do: "make", box: place.get(i)});
    used.add(i);
  };
  for (const step of steps) {
    if (!inner.has(step.box)) continue;
    const box = place.get(step.box);
    if (step.do === "make") {
      boxes[step.box].parents.forEach(bring);
      bring(step.box);
    } else if (step.do === "pass")
      found.push({
        ...step,
        box,
        given: step.given.map(part => ({...part, to: place.get(part.to)})),
      });
    else found.push({...step, box});
  }
  return found;
}
