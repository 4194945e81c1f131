// The graph of a story, and the views of it: all of a small one; of a large one boxes that stand
// for many nodes, which open into further such boxes and at last into the nodes themselves.
const MOST = 500,
  LARGEST = 100,
  GROUPS = 200,
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
  const {heads, labels, stacks, others} = columns;
  const [which, named, called] = [heads, labels, stacks].map(part => unpacked(part.which));
  const [data, counts, parents, flags, slopes] = [
    "data",
    "counts",
    "parents",
    "flags",
    "slopes",
  ].map(name => unpacked(columns[name]));
  const unknown = new Set(columns.unknown),
    boxes = [];
  let next = 0,
    sloped = 0;
  counts.forEach((count, i) => {
    const stack = stacks.of[called[i]],
      box = {...heads.of[which[i]], label: labels.of[named[i]], stack};
    box.at = stack.length ? stack[0] : null;
    box.data = i in others ? others[i] : unknown.has(i) ? null : encoded(data[i]);
    box.parents = Array.from(parents.subarray(next, (next += count)), distance => i - distance);
    box.slopes = box.parents.map((p, k) =>
      flags[i] === 0 || boxes[p].kind === "constant"
        ? null
        : flags[i] === 1
          ? implied(box, boxes, k)
          : encoded(slopes[sloped++]),
    );
    boxes.push(box);
  });
  return boxes;
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
  parents.forEach((to, port) => {
    if (slopes[port] === null) return;
    const slope = decoded(slopes[port]),
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
  });
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

// Ways to divide nodes, from coarse to fine: by source line and label, by the calls that led there,
// by label; where none of them divides, in pages.
const lineKey = (call, more = "") =>
  call ? `line ${call[1]}${call[2] ? ` in ${call[2]}` : ""}${more}` : more;
const depths = [1, 2, 3, 4, 5, 6, 7];
const WAYS = [
  box => [box.kind === "leaf", box.at ? box.at.join() : `${box.op} ${box.shape}`, box.label],
  box => [box.kind === "leaf", box.at ? box.at.join() : `${box.op} ${box.shape}`],
  ...depths.map(k => box => [
    box.stack
      .slice(0, k + 1)
      .map(call => call.join())
      .join(" "),
  ]),
  box => [box.label],
];
function divided({boxes}, part) {
  for (let way = part.from; way < WAYS.length; way++) {
    const groups = new Map();
    for (const i of part.nodes) {
      const key = JSON.stringify(WAYS[way](boxes[i]));
      if (!groups.has(key)) groups.set(key, []);
      groups.get(key).push(i);
      if (groups.size > GROUPS) break;
    }
    if (groups.size > 1 && groups.size <= GROUPS)
      return [...groups.values()].map(nodes => ({
        nodes,
        name: nameOfGroup(boxes, nodes, way),
        from: way + 1,
      }));
  }
  return pages(boxes, part.nodes);
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
function nameOfGroup(boxes, nodes, way) {
  const first = boxes[nodes[0]],
    depth = way - 1;
  if (nodes.length === 1) return first.label;
  if (way < 2 && first.at) return (first.kind === "leaf" ? "leaves of " : "") + lineKey(first.at);
  if (depths.includes(depth) && first.stack[depth])
    return `calls from ${lineKey(first.stack[depth])}`;
  return first.label;
}

// Each part as one box. Arrows lead to it from parts before it; what a loop brings back is a note.
function foldedView({boxes, steps}, parts) {
  const group = new Map();
  parts.forEach((part, k) => part.nodes.forEach(i => group.set(i, k)));
  const folded = parts.map((part, k) => foldedBox(boxes, part, k, group));
  return {boxes: folded, steps: foldedSteps(steps, group, parts.length), parts};
}
function foldedBox(boxes, part, k, group) {
  const those = part.nodes.map(i => boxes[i]),
    [first] = those;
  const made = new Set(those.flatMap(box => box.parents)),
    sources = [...new Set([...made].map(p => group.get(p)))].filter(g => g !== undefined);
  const elsewhere = [...made].filter(p => !group.has(p) && boxes[p].kind !== "constant").length;
  const parents = sources.filter(g => g < k),
    later = sources.filter(g => g > k).length;
  const labels = [...new Set(those.map(box => box.label).filter(Boolean))],
    ops = [...new Set(those.map(box => box.op).filter(Boolean))];
  const notes =
    those.length === 1 ? first.notes : [...new Set(those.flatMap(box => box.notes))].slice(0, 10);
  const loops = [
    sources.includes(k) && those.length > 1 ? "a loop: also made of what it made itself" : "",
    later ? `a loop: also made of ${later} boxes to its right` : "",
    elsewhere ? `also made of ${elsewhere} nodes outside of what is open` : "",
  ];
  return {
    id: first.id,
    kind: first.kind,
    op: ops.slice(0, 4).join(" "),
    label: part.name,
    count: those.length,
    shape: those.length === 1 ? first.shape : null,
    data: those.length === 1 ? first.data : spreadOf(those.map(box => box.data)),
    parents,
    slopes: parents.map(() => null),
    at: first.at,
    ctx: those.length === 1 ? first.ctx : [],
    notes: [
      ...loops,
      labels.length && those.length > 1 ? `labels: ${labels.slice(0, 20).join(", ")}` : "",
      ...notes,
    ].filter(Boolean),
  };
}
function foldedSteps(steps, group, count) {
  const made = new Set(),
    arrived = Array.from({length: count}, () => ({...NOTHING, last: -1})),
    gave = Array.from({length: count}, () => new Map());
  steps.forEach((step, order) => {
    const k = group.get(step.box);
    if (k === undefined) return;
    if (step.do === "make") made.add(k);
    if (step.do !== "pass" && step.do !== "keep") return;
    arrived[k].last = order;
    for (const [, g] of step.arrived) extend(arrived[k], g);
    for (const part of step.given ?? []) {
      const to = group.get(part.to);
      if (to === undefined) continue;
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
  if (x === null) return;
  for (const y of typeof x === "number" ? [x] : isArray(x) ? (x.range ?? []) : [x]) {
    const number = decoded(y);
    if (number !== number) sums.nan = true;
    if (number < sums.least) sums.least = number;
    if (number > sums.most) sums.most = number;
  }
}
function extentOf({least, most, nan}) {
  if (nan) return "nan";
  if (least > most) return null;
  if (least === most) return encoded(least);
  const range = [encoded(least), encoded(most)];
  return {text: range.map(brief).join(" … "), cells: [], range};
}
function spreadOf(numbers) {
  const sums = {...NOTHING};
  for (const x of numbers) extend(sums, x);
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
