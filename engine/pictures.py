"""Pictures of a training run: by matplotlib as PNG where it is installed, else by ourselves as SVG.

Each function takes a path without an ending and returns the path of the file that it wrote. A file
is replaced in one step, so that it can be looked at while a run draws it again and again.
"""

from __future__ import annotations

import base64
import struct
import zlib
from collections.abc import Callable, Mapping, Sequence
from html import escape
from pathlib import Path
from typing import Any

import numpy as np

Array = Any  # a NumPy array; its dtype is said where it matters

WIDE, HIGH, MARGIN = 640, 400, 50
COLUMNS, CELL = 10, 64
COLOURS = ((214, 39, 40), (31, 119, 180))  # class 0 red, class 1 blue


def _hex(colour: tuple[int, int, int]) -> str:
    return "#{:02x}{:02x}{:02x}".format(*colour)


SIDES = ((1, _hex(COLOURS[1])), (-1, _hex(COLOURS[0])))  # positive gradients, negative ones


def has_matplotlib() -> bool:
    """Whether pictures will be matplotlib's."""
    try:
        import matplotlib.figure  # noqa: F401
    except ModuleNotFoundError:
        return False
    return True


def loss_curve(path: Path, losses: Sequence[float], title: str) -> Path:
    """The loss of each epoch as a line, on a logarithmic scale."""
    if has_matplotlib():
        figure, axes = _figure(6.4, 4.0)
        axes.semilogy(range(1, len(losses) + 1), losses)
        axes.set(title=title, xlabel="epoch", ylabel="training loss")
        axes.grid(alpha=0.3, which="both")
        axes.xaxis.get_major_locator().set_params(integer=True)
        return _saved(figure, path)
    return _svg(path, WIDE, HIGH, _curve(np.asarray(losses, dtype=float), title))


def sheet(path: Path, images: Array, labels: Array, guesses: Array, title: str) -> Path:
    """Images with the guess under each; a wrong one is red and shows what it should be.

    images: shape (n, height, width), from 0 (paper) to 1 (ink); labels, guesses: shape (n,).
    """
    captions = [
        f"{guess}" if guess == label else f"{guess}, not {label}"
        for guess, label in zip(guesses, labels, strict=True)
    ]
    rows = -(-len(images) // COLUMNS)
    if not has_matplotlib():
        return _svg(path, *_sheet_size(rows), _sheet(images, captions, title))
    figure, grid = _figure(COLUMNS * 0.8, rows * 0.95 + 0.4, rows, COLUMNS)
    figure.suptitle(title)
    for axes in np.ravel(grid):
        axes.axis("off")
    for axes, image, caption in zip(np.ravel(grid), images, captions, strict=False):
        axes.imshow(1 - image, cmap="gray", vmin=0, vmax=1)
        axes.set_title(caption, y=-0.35, fontsize=9, color=_ink(caption))
    return _saved(figure, path)


def boundary(path: Path, points: Array, labels: Array, scores: Array, title: str) -> Path:
    """Points of two classes over the plane, coloured by the sign and the size of a score.

    points: shape (n, 2); labels: 0 or 1; scores: shape (rows, columns), from the lower left corner
        of `extent(points)` to the upper right, above 0 for class 1.
    """
    box = extent(points)
    plane = _plane(scores)
    if has_matplotlib():
        figure, axes = _figure(6.4, 4.8)
        axes.imshow(
            plane[::-1], extent=box, origin="lower", aspect="auto", interpolation="bilinear"
        )
        axes.scatter(
            *points.T, c=[_hex(COLOURS[k]) for k in labels], edgecolors="white", linewidths=0.8
        )
        axes.set(title=title)
        return _saved(figure, path)
    return _svg(path, WIDE, HIGH, _boundary(points, labels, plane, box, title))


def histograms(path: Path, gradients: Mapping[str, Array], title: str) -> Path:
    """How many gradients of each layer have which size: positive ones up, negative ones down.

    gradients: arrays of any shape, by the name of the layer. Sizes are on a logarithmic scale that
    all layers share, and end eight decades below the largest; what is smaller is counted there.
    Zeros, and what is not finite, are told in the text beside each.
    """
    rows = {name: np.asarray(g, dtype=float).ravel() for name, g in gradients.items()}
    edges = _decades(np.concatenate([*rows.values(), np.zeros(1)]))
    if not has_matplotlib():
        return _svg(path, WIDE, _histograms_high(len(rows)), _histograms(rows, edges, title))
    figure, grid = _figure(6.4, 1.1 * len(rows) + 0.9, len(rows), 1)
    figure.suptitle(title)
    for axes, (name, g) in zip(np.ravel(grid), rows.items(), strict=True):
        _histogram_axes(axes, f"{name}: {_summary(g)}", g, edges)
    return _saved(figure, path)


def page(path: Path, pictures: Sequence[Path], title: str, live: bool) -> Path:
    """An HTML page with the pictures beside it; while `live` it loads itself anew each second."""
    again = '<meta http-equiv="refresh" content="1">' if live else ""
    images = [f'<img src="{escape(p.name)}" alt="{escape(p.stem)}">' for p in pictures]
    shown = "\n".join(images or ["<p>Nothing is drawn yet.</p>"])
    text = (
        f'<!doctype html>\n<html lang="en"><meta charset="utf-8">{again}\n'
        '<meta name="viewport" content="width=device-width">\n'
        f"<title>{escape(title)}</title>\n"
        "<style>:root{color-scheme:light dark}body{font-family:sans-serif;margin:1rem}"
        "img{max-width:100%;margin:0 1rem 1rem 0;vertical-align:top}</style>\n"
        f"<h1>{escape(title)}</h1>\n{shown}\n</html>\n"
    )
    return _written(
        path.with_name(path.name + ".html"), lambda part: part.write_text(text, "utf-8")
    )


def extent(points: Array, room: float = 0.4) -> tuple[float, float, float, float]:
    """Left, right, bottom and top of a box with `room` around the points."""
    (left, bottom), (right, top) = points.min(0) - room, points.max(0) + room
    return float(left), float(right), float(bottom), float(top)


def _plane(scores: Array) -> Array:
    """Scores as uint8 colours, top row first: white at 0, towards a class's colour beyond."""
    strength = np.tanh(np.abs(scores))[::-1, :, None] * 0.6
    side = np.where(scores[::-1, :, None] > 0, COLOURS[1], COLOURS[0])
    return np.round(255 + strength * (side - 255.0)).astype(np.uint8)


# matplotlib


def _figure(wide: float, high: float, rows: int = 1, columns: int = 1) -> tuple[Any, Any]:
    from matplotlib.figure import Figure  # not pyplot, which would choose a window system

    figure = Figure(figsize=(wide, high), layout="constrained")
    return figure, figure.subplots(rows, columns)


def _histogram_axes(axes: Any, text: str, g: Array, edges: Array) -> None:
    for side, colour in SIDES:
        counts = side * _counts(g * side, edges)
        axes.bar(edges[:-1], counts, 0.25, align="edge", color=colour)
    axes.axhline(0, color="black", linewidth=0.6)
    axes.set(xlim=(edges[0], edges[-1]), yticks=[])
    axes.set_title(text, fontsize=9, loc="left")
    axes.xaxis.set_major_formatter(lambda power, _: f"{10.0**power:g}")
    axes.label_outer()


def _saved(figure: Any, path: Path) -> Path:
    def save(part: Path) -> None:
        figure.savefig(part, dpi=110, format="png")

    return _written(path.with_name(path.name + ".png"), save)


# Our own SVG


def _svg(path: Path, wide: int, high: int, parts: list[str]) -> Path:
    path = path.with_name(path.name + ".svg")
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{wide}" height="{high}" '
        f'viewBox="0 0 {wide} {high}" font-family="sans-serif" font-size="13">'
    )
    paper = f'<rect width="{wide}" height="{high}" fill="white"/>'
    text = "\n".join([head, paper, *parts, "</svg>\n"])
    return _written(path, lambda part: part.write_text(text, encoding="utf-8"))


def _written(path: Path, write: Callable[[Path], Any]) -> Path:
    """Writes beside the file and puts the new one in its place: nobody sees half of it."""
    part = path.with_name(path.name + ".part")
    write(part)
    part.replace(path)
    return path


def _text(x: float, y: float, text: str, anchor: str = "middle", colour: str = "black") -> str:
    return f'<text x="{x:g}" y="{y:g}" text-anchor="{anchor}" fill="{colour}">{escape(text)}</text>'


def _line(points: list[tuple[float, float]], colour: str, width: float) -> str:
    track = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
    return f'<polyline points="{track}" fill="none" stroke="{colour}" stroke-width="{width}"/>'


def _curve(losses: Array, title: str) -> list[str]:
    heights = np.log10(np.maximum(losses, 1e-12))
    low, high = float(np.floor(heights.min())), float(np.ceil(heights.max()))
    high = max(high, low + 1)
    x = np.linspace(MARGIN, WIDE - 20, len(losses))
    parts = [_text(WIDE / 2, 22, title), _text(WIDE / 2, HIGH - 10, "epoch")]
    for power in range(int(low), int(high) + 1):
        y = _up(power, low, high)
        parts += [
            _line([(MARGIN, y), (WIDE - 20, y)], "#ddd", 1),
            _text(MARGIN - 6, y + 4, f"{10.0**power:g}", "end"),
        ]
    parts += [_text(MARGIN, HIGH - 28, "1"), _text(WIDE - 20, HIGH - 28, str(len(losses)), "end")]
    track = [(float(a), _up(float(b), low, high)) for a, b in zip(x, heights, strict=True)]
    return [*parts, _line(track, "#1f77b4", 2)]


def _up(height: float, low: float, high: float) -> float:
    """The y of a height: SVG counts downwards."""
    top, bottom = 40.0, HIGH - 45.0
    return bottom - (height - low) / (high - low) * (bottom - top)


def _sheet_size(rows: int) -> tuple[int, int]:
    return COLUMNS * CELL + 20, rows * (CELL + 22) + 40


def _sheet(images: Array, captions: list[str], title: str) -> list[str]:
    parts = [_text(COLUMNS * CELL / 2 + 10, 22, title)]
    for place, (image, caption) in enumerate(zip(images, captions, strict=True)):
        row, column = divmod(place, COLUMNS)
        x, y = 10 + column * CELL, 36 + row * (CELL + 22)
        pixels = np.round(255 * (1 - np.clip(image, 0, 1))).astype(np.uint8)
        grey = np.repeat(pixels[:, :, None], 3, axis=2)
        parts += [
            _image(x + 6, y, CELL - 12, CELL - 12, grey),
            _text(x + CELL / 2, y + CELL + 2, caption, colour=_ink(caption)),
        ]
    return parts


def _boundary(
    points: Array,
    labels: Array,
    plane: Array,
    box: tuple[float, float, float, float],
    title: str,
) -> list[str]:
    left, right, bottom, top = box
    parts = [_text(WIDE / 2, 22, title), _image(0, 32, WIDE, HIGH - 32, plane)]
    for (x, y), label in zip(points, labels, strict=True):
        across = (x - left) / (right - left) * WIDE
        down = 32 + (top - y) / (top - bottom) * (HIGH - 32)
        parts.append(
            f'<circle cx="{across:.1f}" cy="{down:.1f}" r="5" stroke="white" '
            f'fill="{_hex(COLOURS[label])}"/>'
        )
    return parts


ROW = 84  # the height of one layer's histogram with its text


def _histograms_high(rows: int) -> int:
    return 70 + ROW * rows


def _histograms(rows: Mapping[str, Array], edges: Array, title: str) -> list[str]:
    parts = [_text(WIDE / 2, 22, title)]
    for place, (name, g) in enumerate(rows.items()):
        top = 36 + ROW * place
        parts.append(_text(MARGIN, top + 14, f"{name}: {_summary(g)}", "start"))
        parts += _histogram(g, edges, top + 50)
    foot, wide = _histograms_high(len(rows)) - 14, _bar_width(edges)
    for i in range(0, len(edges), 4):
        parts.append(_text(MARGIN + i * wide, foot, f"{10.0 ** edges[i]:g}"))
    return parts


def _histogram(g: Array, edges: Array, middle: float) -> list[str]:
    """The bars of one layer, up to 28 high, over and under its middle line."""
    counts = {side: _counts(g * side, edges) for side, _ in SIDES}
    tall, wide = 28 / max(1, *counts[1], *counts[-1]), _bar_width(edges)
    bars = [
        _bar(MARGIN + i * wide, middle - count * tall * (side > 0), wide, count * tall, colour)
        for side, colour in SIDES
        for i, count in enumerate(counts[side].tolist())
        if count
    ]
    return [*bars, _line([(MARGIN, middle), (WIDE - 20, middle)], "black", 0.6)]


def _bar_width(edges: Array) -> float:
    return (WIDE - MARGIN - 20) / (len(edges) - 1)


def _bar(x: float, y: float, wide: float, high: float, colour: str) -> str:
    return (
        f'<rect x="{x:.1f}" y="{y:.1f}" width="{wide - 1:.1f}" height="{high:.1f}" '
        f'fill="{colour}"/>'
    )


def _decades(g: Array) -> Array:
    """Edges in powers of ten, four a decade, around the sizes of g."""
    sizes = np.abs(g[np.isfinite(g) & (g != 0)])
    if not len(sizes):
        return np.arange(-8, 0.1, 0.25)
    high = float(np.floor(np.log10(sizes.max()))) + 1
    low = max(float(np.floor(np.log10(sizes.min()))), high - 8)
    return np.arange(low, high + 0.1, 0.25)


def _counts(g: Array, edges: Array) -> Array:
    """How many of the positive numbers of g lie between the edges; smaller ones with the first."""
    sizes = np.log10(g[np.isfinite(g) & (g > 0)])
    return np.histogram(np.clip(sizes, edges[0], edges[-1]), edges)[0]


def _summary(g: Array) -> str:
    """The number of gradients, their root mean square, and how many are zero or not finite."""
    finite = g[np.isfinite(g)]
    largest = float(np.abs(finite).max(initial=0.0)) or 1.0  # whose square may be inf
    size = largest * float(np.sqrt(np.mean((finite / largest) ** 2))) if len(finite) else 0.0
    lost = len(g) - len(finite)
    zeros = np.count_nonzero(g == 0) / max(len(g), 1)
    text = f"{len(g)} gradients, rms {size:.2g}" + f", {zeros:.0%} are 0" * bool(zeros)
    return text + f", {lost} not finite" * bool(lost)


def _image(x: float, y: float, wide: float, high: float, pixels: Array) -> str:
    data = base64.b64encode(png(pixels)).decode()
    return (
        f'<image x="{x:g}" y="{y:g}" width="{wide:g}" height="{high:g}" '
        'preserveAspectRatio="none" style="image-rendering:pixelated" '
        f'href="data:image/png;base64,{data}"/>'
    )


def png(pixels: Array) -> bytes:
    """A PNG file of uint8 colours of shape (height, width, 3), top row first."""
    high, wide, _ = pixels.shape
    rows = np.hstack([np.zeros((high, 1), np.uint8), pixels.reshape(high, wide * 3)])
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        _chunk(kind, data)
        for kind, data in (
            (b"IHDR", struct.pack(">IIBBBBB", wide, high, 8, 2, 0, 0, 0)),
            (b"IDAT", zlib.compress(rows.tobytes(), 9)),
            (b"IEND", b""),
        )
    )


def _chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def _ink(caption: str) -> str:
    return "#d62728" if "not" in caption else "black"
