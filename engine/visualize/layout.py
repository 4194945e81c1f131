"""Where the boxes of a graph stand: in layers from left to right, arrows crossing seldom.

Layers are longest paths; a sweep puts each box at the barycentre of its neighbours. An arrow that
passes a layer has a waypoint there, one for all arrows of its source. No step recurses.
"""

from collections.abc import Sequence
from dataclasses import dataclass

SWEEPS = 12
GAP_X, GAP_Y = 44.0, 14.0

Parents = Sequence[Sequence[int]]
Sizes = Sequence[tuple[float, float]]


@dataclass
class Layout:
    """x, y: the left and the middle of each box, then of each waypoint. ways: the waypoint of a
    box in a layer. wide, high: the whole. gap: the room between layers."""

    x: list[float]
    y: list[float]
    layer: list[int]
    ways: dict[tuple[int, int], int]
    wide: float
    high: float
    gap: float

    def route(self, source: int, target: int) -> list[int]:
        """The waypoints of an arrow."""
        between = range(self.layer[source] + 1, self.layer[target])
        return [self.ways[source, i] for i in between]


def layout(sizes: Sizes, parents: Parents, gap: float = GAP_X) -> Layout:
    """Places for boxes of these sizes (width, height); parents have smaller numbers."""
    layer = layers(parents)
    ways, links = waypoints(parents, layer)
    heights = [high for _, high in sizes] + [0.0] * len(ways)
    columns: list[list[int]] = [[] for _ in range(max(layer, default=-1) + 1)]
    for item, number in enumerate(layer):
        columns[number].append(item)
    left, right = neighbours(links, len(layer))
    arrange(columns, left, right)
    y = heighten(columns, left, right, heights)
    x, wide = across(columns, sizes, gap)
    return Layout([x[i] for i in layer], y, layer, ways, wide, lift(y, heights), gap)


def layers(parents: Parents) -> list[int]:
    """The layer of each box: behind all its parents; a leaf right before the first to use it."""
    layer: list[int] = []
    first: dict[int, int] = {}
    for given in parents:
        layer.append(1 + max((layer[p] for p in given), default=-1))
    for child, given in enumerate(parents):
        for p in given:
            first[p] = min(first.get(p, layer[child]), layer[child])
    return [first.get(i, 1) - 1 if not given else layer[i] for i, given in enumerate(parents)]


Links = list[tuple[int, int, float]]


def waypoints(parents: Parents, layer: list[int]) -> tuple[dict[tuple[int, int], int], Links]:
    """Waypoints, which get their layers, and links (left item, right item, port from 0 to 1)."""
    ways: dict[tuple[int, int], int] = {}
    links: Links = []
    for child, given in enumerate(parents):
        for port, source in enumerate(given):
            item = source
            for number in range(layer[source] + 1, layer[child]):
                if (source, number) not in ways:
                    ways[source, number] = len(layer)
                    links.append((item, len(layer), 0.5))
                    layer.append(number)
                item = ways[source, number]
            links.append((item, child, (port + 1) / (len(given) + 1)))
    return ways, links


Near = list[list[tuple[int, float]]]


def neighbours(links: Links, count: int) -> tuple[Near, Near]:
    """The neighbours of each item to the left and to the right, with the port between them."""
    left: Near = [[] for _ in range(count)]
    right: Near = [[] for _ in range(count)]
    for a, b, port in links:
        left[b].append((a, 0.0))
        right[a].append((b, port - 0.5))
    return left, right


def arrange(columns: list[list[int]], left: Near, right: Near) -> None:
    """Order each column by the barycentres of its items, to and fro."""
    place = [0.0] * len(left)
    for column in columns:
        for i, item in enumerate(column):
            place[item] = float(i)
    for sweep in range(SWEEPS):
        near = left if sweep % 2 else right
        for column in columns if sweep % 2 else reversed(columns):
            centre = {item: barycentre(item, near, place) for item in column}
            column.sort(key=centre.__getitem__)
            for i, item in enumerate(column):
                place[item] = float(i)


def barycentre(item: int, near: Near, place: list[float], unit: float = 1.0) -> float:
    """The mean place of an item's neighbours; its own where it has none."""
    if not near[item]:
        return place[item]
    return sum(place[other] + shift * unit for other, shift in near[item]) / len(near[item])


def heighten(
    columns: list[list[int]], left: Near, right: Near, heights: list[float]
) -> list[float]:
    """The middle of each item: near its neighbours', in the order of its column, apart."""
    y = [0.0] * len(heights)
    for column in columns:
        settle(column, y, heights)
    for sweep in range(SWEEPS):
        near = right if sweep % 2 else left
        for column in reversed(columns) if sweep % 2 else columns:
            for item, centre in [(i, barycentre(i, near, y, 24.0)) for i in column]:
                y[item] = centre
            settle(column, y, heights)
    return y


def settle(column: list[int], y: list[float], heights: list[float]) -> None:
    """Move the items of a column apart, as little as that takes (least squares)."""
    offsets, below = [], 0.0
    for item in column:
        offsets.append(below + heights[item] / 2)
        below += heights[item] + GAP_Y
    blocks: list[tuple[float, int]] = []  # sum and number of the items that move together
    for item, offset in zip(column, offsets, strict=True):
        total, count = y[item] - offset, 1
        while blocks and blocks[-1][0] / blocks[-1][1] >= total / count:
            more, others = blocks.pop()
            total, count = total + more, count + others
        blocks.append((total, count))
    moved = [total / count for total, count in blocks for _ in range(count)]
    for item, offset, base in zip(column, offsets, moved, strict=True):
        y[item] = base + offset


def across(columns: list[list[int]], sizes: Sizes, gap: float) -> tuple[list[float], float]:
    """The left of each layer, and the width of all."""
    x, edge = [], 0.0
    for column in columns:
        x.append(edge)
        edge += max((sizes[i][0] for i in column if i < len(sizes)), default=0.0) + gap
    return x, max(edge - gap, 0.0)


def lift(y: list[float], heights: list[float]) -> float:
    """Shift all items so that the topmost touches 0; returns the height of the whole."""
    top = min((a - h / 2 for a, h in zip(y, heights, strict=True)), default=0.0)
    y[:] = [a - top for a in y]
    return max((a + h / 2 for a, h in zip(y, heights, strict=True)), default=0.0)
