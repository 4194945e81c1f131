"""Pictures of a training run: by matplotlib as PNG where it is installed, else by ourselves as SVG.

Each function takes a path without an ending and returns the path of the file that it wrote.
"""

from __future__ import annotations

import base64
import struct
import zlib
from collections.abc import Sequence
from html import escape
from pathlib import Path
from typing import Any

import numpy as np

Array = Any  # a NumPy array; its dtype is said where it matters

WIDE, HIGH, MARGIN = 640, 400, 50
COLUMNS, CELL = 10, 64
COLOURS = ((214, 39, 40), (31, 119, 180))  # class 0 red, class 1 blue


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


def _saved(figure: Any, path: Path) -> Path:
    path = path.with_name(path.name + ".png")
    figure.savefig(path, dpi=110)
    return path


# Our own SVG


def _svg(path: Path, wide: int, high: int, parts: list[str]) -> Path:
    path = path.with_name(path.name + ".svg")
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{wide}" height="{high}" '
        f'viewBox="0 0 {wide} {high}" font-family="sans-serif" font-size="13">'
    )
    paper = f'<rect width="{wide}" height="{high}" fill="white"/>'
    path.write_text("\n".join([head, paper, *parts, "</svg>\n"]), encoding="utf-8")
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


def _hex(colour: tuple[int, int, int]) -> str:
    return "#{:02x}{:02x}{:02x}".format(*colour)
