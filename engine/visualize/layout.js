// Where boxes and arrows stand: the same steps as layout.py's, so the same places.
const SWEEPS = 12,
  GAP_X = 96,
  GAP_Y = 14;

// sizes: [width, height] of each box. parents: of each box, with smaller numbers.
function layout(sizes, parents) {
  const layer = layersOf(parents);
  const {ways, links} = waypoints(parents, layer);
  const heights = layer.map((_, i) => (i < sizes.length ? sizes[i][1] : 0));
  const columns = Array.from({length: layer.reduce((a, b) => Math.max(a, b), -1) + 1}, () => []);
  layer.forEach((number, item) => columns[number].push(item));
  const {left, right} = neighbours(links, layer.length);
  arrange(columns, left, right);
  const y = heighten(columns, left, right, heights);
  const {x, wide} = across(columns, sizes);
  const high = lift(y, heights);
  return {x: layer.map(i => x[i]), y, layer, ways, wide, high};
}
function layersOf(parents) {
  const layer = [],
    first = [];
  for (const given of parents)
    layer.push(1 + given.reduce((most, p) => Math.max(most, layer[p]), -1));
  parents.forEach((given, child) => {
    for (const p of given) first[p] = Math.min(first[p] ?? Infinity, layer[child]);
  });
  return parents.map((given, i) => (given.length ? layer[i] : (first[i] ?? 1) - 1));
}
const wayKey = (source, layer) => `${source}:${layer}`;
// Waypoints get their layers; links are [left item, right item, port from 0 to 1].
function waypoints(parents, layer) {
  const ways = new Map(),
    links = [];
  parents.forEach((given, child) =>
    given.forEach((source, port) => {
      let item = source;
      for (let number = layer[source] + 1; number < layer[child]; number++) {
        const key = wayKey(source, number);
        if (!ways.has(key)) {
          ways.set(key, layer.length);
          links.push([item, layer.length, 0.5]);
          layer.push(number);
        }
        item = ways.get(key);
      }
      links.push([item, child, (port + 1) / (given.length + 1)]);
    }),
  );
  return {ways, links};
}
function neighbours(links, count) {
  const left = Array.from({length: count}, () => []),
    right = Array.from({length: count}, () => []);
  for (const [a, b, port] of links) {
    left[b].push([a, 0]);
    right[a].push([b, port - 0.5]);
  }
  return {left, right};
}
const sweeps = columns =>
  Array.from({length: SWEEPS}, (_, sweep) => (sweep % 2 ? columns : [...columns].reverse()));
function arrange(columns, left, right) {
  const place = [];
  for (const column of columns)
    column.forEach((item, i) => {
      place[item] = i;
    });
  sweeps(columns).forEach((order, sweep) => {
    for (const column of order) {
      const centre = new Map(
        column.map(item => [item, barycentre(item, sweep % 2 ? left : right, place, 1)]),
      );
      column.sort((a, b) => centre.get(a) - centre.get(b));
      column.forEach((item, i) => {
        place[item] = i;
      });
    }
  });
}
// The mean place of an item's neighbours; its own where it has none.
function barycentre(item, near, place, unit) {
  if (!near[item].length) return place[item];
  return (
    near[item].reduce((sum, [other, shift]) => sum + (place[other] + shift * unit), 0) /
    near[item].length
  );
}
function heighten(columns, left, right, heights) {
  const y = heights.map(() => 0);
  for (const column of columns) settle(column, y, heights);
  for (let sweep = 0; sweep < SWEEPS; sweep++) {
    for (const column of sweep % 2 ? [...columns].reverse() : columns) {
      const centres = column.map(item => barycentre(item, sweep % 2 ? right : left, y, 24));
      column.forEach((item, i) => {
        y[item] = centres[i];
      });
      settle(column, y, heights);
    }
  }
  return y;
}
// Move the items of a column apart, as little as that takes (least squares).
function settle(column, y, heights) {
  const offsets = [],
    blocks = [];
  let below = 0;
  for (const item of column) {
    offsets.push(below + heights[item] / 2);
    below += heights[item] + GAP_Y;
  }
  column.forEach((item, i) => {
    let total = y[item] - offsets[i],
      count = 1;
    while (blocks.length && blocks.at(-1)[0] / blocks.at(-1)[1] >= total / count) {
      const [more, others] = blocks.pop();
      total += more;
      count += others;
    }
    blocks.push([total, count]);
  });
  const moved = blocks.flatMap(([total, count]) => Array(count).fill(total / count));
  column.forEach((item, i) => {
    y[item] = moved[i] + offsets[i];
  });
}
function across(columns, sizes) {
  const x = [];
  let edge = 0;
  for (const column of columns) {
    x.push(edge);
    edge +=
      column.reduce((most, i) => (i < sizes.length ? Math.max(most, sizes[i][0]) : most), 0) +
      GAP_X;
  }
  return {x, wide: Math.max(edge - GAP_X, 0)};
}
// Shift all items so that the topmost touches 0; returns the height of the whole.
function lift(y, heights) {
  const top = y.reduce((least, a, i) => Math.min(least, a - heights[i] / 2), Infinity);
  y.forEach((a, i) => {
    y[i] = a - top;
  });
  return y.reduce((most, a, i) => Math.max(most, a + heights[i] / 2), 0);
}
// The line from one box to another and its tip; port: 0 at the top of the target, 1 below.
function arrowPath(plan, sizes, source, target, port) {
  const stops = [];
  for (let i = plan.layer[source] + 1; i < plan.layer[target]; i++) {
    const way = plan.ways.get(wayKey(source, i));
    stops.push([plan.x[way], plan.y[way]]);
  }
  stops.push([plan.x[target], plan.y[target] + sizes[target][1] * (port - 0.5)]);
  let x = plan.x[source] + sizes[source][0],
    y = plan.y[source],
    path = `M${x.toFixed(1)} ${y.toFixed(1)}`;
  for (const [toX, toY] of stops) {
    if (toX - x > GAP_X) path += `H${(x = toX - GAP_X).toFixed(1)}`;
    const bend = (toX - x) / 2;
    path += `C${[x + bend, y, toX - bend, toY, toX, toY].map(a => a.toFixed(1)).join(" ")}`;
    x = toX;
    y = toY;
  }
  return {path, x, y};
}
