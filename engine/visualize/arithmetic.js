// The engine's arithmetic in the page: a forward and a backward pass with other numbers in the
// leaves. The rules stand in RULES, translated from the engine's own; m is engine.elementary.
const RULES = {};
const m = {
  exp: Math.exp,
  expm1: Math.expm1,
  log: Math.log,
  log1p: Math.log1p,
  log2: Math.log2,
  log10: Math.log10,
  sqrt: Math.sqrt,
  sin: Math.sin,
  cos: Math.cos,
  tan: Math.tan,
  asin: Math.asin,
  acos: Math.acos,
  atan: Math.atan,
  sinh: Math.sinh,
  cosh: Math.cosh,
  tanh: Math.tanh,
  asinh: Math.asinh,
  acosh: Math.acosh,
  atanh: Math.atanh,
  fabs: Math.abs,
  atan2: Math.atan2,
  sign: a => (a > 0 ? 1 : a < 0 ? -1 : a === a ? 0 : a),
  divide: (a, b) => a / b,
  power: (a, b) => (a === 1 || (a === -1 && Math.abs(b) === Infinity) ? 1 : a ** b),
  maximum: (a, b) => (a > b || a !== a ? a : b),
  minimum: (a, b) => (a < b || a !== a ? a : b),
  less: (a, b) => a < b,
  equal: (a, b) => a === b,
  where: (condition, a, b) => (condition ? a : b),
  step: a => (a <= 0 ? 0 : 1),
  // 2 / sqrt(pi) e**-a**2 times the sum of 2**n a**(2n + 1) / (1 3 5 ... (2n + 1)): all terms
  // have one sign, so no digits cancel.
  erf(a) {
    if (!(Math.abs(a) < 6)) return Math.sign(a);
    let term = a,
      sum = a;
    for (let n = 1; Math.abs(term) > Math.abs(sum) * 1e-17; n++)
      sum += term *= (2 * a * a) / (2 * n + 1);
    return 1.1283791670955126 * Math.exp(-a * a) * sum;
  },
};
// Numbers and arrays {shape, flat}; in the story numbers that are not finite are words.
const isArray = x => x !== null && typeof x === "object";
const sizeOf = shape => shape.reduce((a, b) => a * b, 1);
function decoded(x) {
  if (!isArray(x)) return typeof x === "string" ? Number(x.replace("inf", "Infinity")) : x;
  const flat = x.cells.flat().map(decoded);
  return flat.length === sizeOf(x.shape) ? {shape: x.shape, flat} : null;
}
function encoded(x) {
  if (isArray(x)) return encodedArray(x);
  return Number.isFinite(x) ? x : x !== x ? "nan" : x > 0 ? "inf" : "-inf";
}
function encodedArray({shape, flat}) {
  const wide = shape.at(-1),
    cells = [],
    finite = flat.filter(Number.isFinite).map(Math.abs);
  for (let i = 0; i < flat.length; i += wide) cells.push(flat.slice(i, i + wide).map(encoded));
  const range = [Math.min(...flat), Math.max(...flat)],
    mean = flat.reduce((a, b) => a + b, 0) / flat.length;
  const text =
    flat.length <= 3
      ? `[${flat.map(x => brief(encoded(x))).join(", ")}]`
      : `${range.map(x => brief(encoded(x))).join(" … ")}, mean ${brief(encoded(mean))}`;
  return {text, shape, cells, most: Math.max(0, ...finite), range: range.map(encoded)};
}
const shapeOf = x => (isArray(x) ? x.shape : []);
const entry = (x, i) => (isArray(x) ? x.flat[i] : x);
const built = (shape, flat) => (shape.length ? {shape, flat} : flat[0]);

// Broadcasting: the shape of several together, and where an element of it lies in one of them.
function together(shapes) {
  const length = Math.max(...shapes.map(s => s.length));
  return Array.from({length}, (_, i) =>
    shapes.reduce((most, s) => {
      const n = s[i - length + s.length] ?? 1;
      return n === 1 ? most : n;
    }, 1),
  );
}
function placeIn(shape, whole, index) {
  let place = 0,
    stride = 1,
    rest = index;
  for (let i = whole.length - 1; i >= 0; i--) {
    const j = rest % whole[i],
      n = shape[i - whole.length + shape.length];
    rest = (rest - j) / whole[i];
    if (n === undefined) continue;
    if (n > 1) place += j * stride;
    stride *= n;
  }
  return place;
}
function sumTo(shape, x) {
  if (String(shape) === String(shapeOf(x))) return x;
  const flat = Array(sizeOf(shape)).fill(0),
    whole = shapeOf(x);
  for (let i = 0; i < sizeOf(whole); i++) flat[placeIn(shape, whole, i)] += entry(x, i);
  return built(shape, flat);
}
const spread = (x, shape) =>
  built(
    shape,
    Array.from({length: sizeOf(shape)}, (_, i) => entry(x, placeIn(shapeOf(x), shape, i))),
  );
const zip = (x, y, f) =>
  isArray(x) ? {shape: x.shape, flat: x.flat.map((a, i) => f(a, entry(y, i)))} : f(x, y);
const plus = (x, y) => zip(x, y, (a, b) => a + b);
const rounded = (x, box) =>
  !/float32/.test(box.shape)
    ? x
    : isArray(x)
      ? {shape: x.shape, flat: x.flat.map(Math.fround)}
      : Math.fround(x);

// What a node computes (`value`), and what it hands to its operands (`back`), by kind.
const KINDS = {
  rule: {
    value(box, xs) {
      const given = box.k === undefined ? xs : [...xs, decoded(box.k)],
        shape = together(given.map(shapeOf));
      return built(
        shape,
        Array.from({length: sizeOf(shape)}, (_, i) =>
          RULES[box.rule].value(...given.map(x => entry(x, placeIn(shapeOf(x), shape, i)))),
        ),
      );
    },
    back(box, xs, y, g) {
      const given = box.k === undefined ? xs : [...xs, decoded(box.k)],
        shape = shapeOf(y);
      const {slopes, selection} = RULES[box.rule],
        parts = xs.map(() => []);
      let last = null;
      for (let i = 0; i < sizeOf(shape); i++) {
        last = slopes(...given.map(x => entry(x, placeIn(shapeOf(x), shape, i))), entry(y, i));
        if (!Array.isArray(last)) last = [last];
        xs.forEach((_, k) =>
          parts[k].push(
            selection && last[k] === 0 && !Number.isFinite(entry(g, i)) ? 0 : entry(g, i) * last[k],
          ),
        );
      }
      return xs.map((x, k) => ({
        slope: shape.length ? null : last[k],
        gives: sumTo(shapeOf(x), built(shape, parts[k])),
      }));
    },
  },
  sum: {
    value: (box, [x]) => sumTo(box.to, kept(box, x)),
    back: (box, [x], y, g) => [{slope: null, gives: spread(kept(box, x, g), shapeOf(x))}],
  },
  mean: {
    value: (box, [x]) =>
      zip(KINDS.sum.value(box, [x]), sizeOf(shapeOf(x)) / sizeOf(box.to), (a, n) => a / n),
    back: (box, [x], y, g) =>
      KINDS.sum.back(
        box,
        [x],
        y,
        zip(g, sizeOf(shapeOf(x)) / sizeOf(box.to), (a, n) => a / n),
      ),
  },
  mm: {
    value: (box, [a, b]) => product(a, b),
    back: (box, [a, b], y, g) =>
      [product(g, turned(b)), product(turned(a), g)].map(gives => ({slope: null, gives})),
  },
  mv: {
    value: (box, [a, x]) => reshaped(box.to, product(a, column(x))),
    back: (box, [a, x], y, g) =>
      [product(column(g), row(x)), reshaped(x.shape, product(turned(a), column(g)))].map(gives => ({
        slope: null,
        gives,
      })),
  },
  dot: {
    value: (box, [a, b]) => product(row(a), column(b)).flat[0],
    back: (box, [a, b], y, g) =>
      [b, a].map(x => ({slope: null, gives: zip(x, g, (u, h) => h * u)})),
  },
  linear: {
    value: (box, [x, w, b]) =>
      b === undefined ? product(x, turned(w)) : plus(product(x, turned(w)), spread(b, box.to)),
    back: (box, [x, w, b], y, g) =>
      [
        product(g, w),
        product(turned(g), x),
        ...(b === undefined ? [] : [sumTo(shapeOf(b), g)]),
      ].map(gives => ({slope: null, gives})),
  },
  turn: {
    value: (box, [x]) => turned(x),
    back: (box, [x], y, g) => [{slope: null, gives: turned(g)}],
  },
  same: {
    value: (box, [x]) => reshaped(box.to, x),
    back: (box, [x], y, g) => [{slope: null, gives: reshaped(shapeOf(x), g)}],
  },
  stack: {
    value: (box, xs) => ({shape: [xs.length], flat: xs}),
    back: (box, xs, y, g) => xs.map((_, i) => ({slope: null, gives: g.flat[i]})),
  },
};
const column = x => ({shape: [x.flat.length, 1], flat: x.flat});
const row = x => ({shape: [1, x.flat.length], flat: x.flat});
const reshaped = (shape, x) => built(shape, isArray(x) ? x.flat : [x]);
// How many operands must be known.
const OPERANDS = {mm: 2, mv: 2, dot: 2, linear: 2};
// x (or, given g, the gradient g) with the summed dimensions as they broadcast against x.
function kept(box, x, g) {
  const reduced = shapeOf(x).map((n, i) => (box.dims.includes(i) ? 1 : n));
  if (g !== undefined)
    return isArray(g) || reduced.length ? {shape: reduced, flat: isArray(g) ? g.flat : [g]} : g;
  const total = sumTo(reduced, x);
  return isArray(total) ? built(box.to, total.flat) : total;
}
function product(a, b) {
  const [n, k] = a.shape,
    w = b.shape[1];
  const cell = (i, j) => {
    let sum = 0;
    for (let t = 0; t < k; t++) sum += a.flat[i * k + t] * b.flat[t * w + j];
    return sum;
  };
  return {
    shape: [n, w],
    flat: Array.from({length: n * w}, (_, i) => cell((i - (i % w)) / w, i % w)),
  };
}
const turned = ({shape: [n, k], flat}) => ({
  shape: [k, n],
  flat: flat.map((_, i) => flat[(i % n) * k + (i - (i % n)) / n]),
});
const kindOf = box => (box.rule ? "rule" : box.call);

// Why a graph cannot be computed again: the boxes that the page has no arithmetic for.
function obstacles({boxes}) {
  const found = new Set();
  for (const box of boxes) {
    const known =
      box.kind === "leaf" || box.kind === "constant"
        ? box.data !== null && decoded(box.data) !== null
        : box.rule
          ? box.rule in RULES
          : Boolean(box.call) && box.parents.length >= (OPERANDS[box.call] ?? 1);
    if (box.hooks) found.add("hooks, which are the program's own code");
    else if (!known)
      found.add(
        {leaf: "a leaf of many numbers", constant: "an operand of which nothing was kept"}[
          box.kind
        ] ??
          (box.op ||
            (boxes[box.parents[0]]?.kind === "function"
              ? "the result of a Function"
              : "a node made by hand")),
      );
  }
  return [...found];
}
// The graph with other numbers in some leaves: data and slopes of boxes, and all steps, anew.
function recomputed({boxes, steps}, starts, changes) {
  const data = [];
  boxes.forEach((box, i) => {
    const kind = KINDS[kindOf(box)];
    data.push(
      kind
        ? rounded(
            kind.value(
              box,
              box.parents.map(p => data[p]),
            ),
            box,
          )
        : (changes.get(i) ?? decoded(box.data)),
    );
  });
  const slopes = boxes.map(box => box.slopes),
    arrived = Array(boxes.length);
  for (const [i, , g] of starts) arrived[i] = decoded(g);
  const anew = steps.map(step => {
    if (step.do === "make") return step;
    const {box: i} = step,
      g = arrived[i],
      box = boxes[i],
      now = {...step, arrived: [[0, encoded(g)]]};
    if (step.do === "keep")
      return {...now, after: encoded(step.before === null ? g : plus(g, decoded(step.before)))};
    if (step.do !== "pass") return now;
    const parts = KINDS[kindOf(box)].back(
      box,
      box.parents.map(p => data[p]),
      data[i],
      g,
    );
    slopes[i] = box.slopes.map((slope, k) => (slope === null ? null : encoded(parts[k].slope)));
    return {
      ...now,
      given: step.given.map(part => {
        const {slope, gives} = parts[part.port],
          c = rounded(gives, boxes[part.to]),
          before = arrived[part.to];
        arrived[part.to] =
          before === undefined ? zip(c, 0, (a, zero) => zero + a) : plus(before, c);
        return {
          ...part,
          slope: part.slope === null ? null : encoded(slope),
          gives: encoded(c),
          before: before === undefined ? null : encoded(before),
          after: encoded(arrived[part.to]),
        };
      }),
    };
  });
  return {
    boxes: boxes.map((box, i) =>
      box.kind === "constant" ? box : {...box, data: encoded(data[i]), slopes: slopes[i]},
    ),
    steps: anew,
  };
}
// The first node at which the page's own numbers are not the engine's, or null.
function disagreement(graph, again) {
  for (let i = 0; i < graph.boxes.length; i++)
    if (graph.boxes[i].data !== null && !near(graph.boxes[i].data, again.boxes[i].data)) return i;
  for (let k = 0; k < graph.steps.length; k++) {
    const step = graph.steps[k];
    if (
      step.do === "pass" &&
      step.given.some((part, j) => !near(part.gives, again.steps[k].given[j].gives))
    )
      return step.box;
  }
  return null;
}
function near(x, y) {
  const [a, b] = [decoded(x), decoded(y)];
  if (a === null || b === null || shapeOf(a).length !== shapeOf(b).length) return false;
  const size = Math.max(1, ...(isArray(a) ? a.flat : [a]).filter(Number.isFinite).map(Math.abs));
  return !(isArray(a) ? a.flat : [a]).some(
    (u, i) => !Object.is(u, entry(b, i)) && !(Math.abs(u - entry(b, i)) <= 1e-5 * size),
  );
}
