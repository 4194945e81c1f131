"""What was measured as text, as JSON and as a picture."""

from __future__ import annotations

import math
import os
import platform
from dataclasses import asdict
from importlib import metadata
from typing import Any

from benchmarks.registry import Result

PEERS = ("numpy", "torch", "micrograd", "autograd", "mygrad", "jax", "casadi")


def machine() -> dict[str, str]:
    """Where it was measured: Python, platform, processor, cores, versions of the peers."""
    versions = {name: version(name) for name in PEERS}
    return {
        "python": platform.python_version(),
        "platform": platform.platform(),
        "processor": processor(),
        "cores": str(os.cpu_count()),
        **{name: number for name, number in versions.items() if number},
    }


def version(name: str) -> str:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return ""


def processor() -> str:
    """The processor's own name where Linux tells it, else what Python knows."""
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as file:
            names = [line.partition(":")[2].strip() for line in file if "model name" in line]
    except OSError:
        names = []
    return names[0] if names else platform.processor()


def table(result: Result) -> str:
    """The row's title, then a line for each contender: its figure, and that over the first's."""
    lines = [f"\n{result.title}"]
    for name, figure in result.figures.items():
        shown = f"{quantity(figure, result.unit):>28}"
        lines.append(f"  {name:<16}{shown}{result.ratios[name]:>10.3g}")
    lines += [f"  {name:<16} missing: {why}" for name, why in result.missing.items()]
    return "\n".join(lines)


def quantity(figure: float, unit: str) -> str:
    """With a prefix that fits: 0.0071 "seconds per step" is "7.1 ms per step"."""
    head, _, tail = unit.partition(" ")
    if head != "seconds":
        return f"{figure:,.1f} {unit}"
    for factor, name in ((1.0, "s"), (1e3, "ms"), (1e6, "us")):
        if figure * factor >= 1:
            return f"{figure * factor:,.3g} {name} {tail}"
    return f"{figure * 1e9:,.0f} ns {tail}"


def as_json(results: list[Result], rounds: int, clock: str) -> dict[str, Any]:
    """Everything, ready for json.dump."""
    rows = [{**asdict(result), "ratios": result.ratios} for result in results]
    return {"machine": machine(), "rounds": rounds, "clock": clock, "rows": rows}


DECADE, ORIGIN = 120, 300  # of the picture: pixels for a factor of ten, and where 1 stands


def place(ratio: float) -> float:
    """Where a ratio stands from left to right, logarithmic."""
    return ORIGIN + DECADE * math.log10(ratio)


def picture(results: list[Result], width: int = 920) -> str:
    """An SVG: for each contender of each row a bar from the first's time to its own, logarithmic:
    to the right it takes longer, to the left less."""
    drawn, y = [], 44
    for result in results:
        drawn.append(f'<text x="8" y="{y}" font-weight="bold">{escape(result.title)}</text>')
        for name, ratio in result.ratios.items():
            y += 18
            drawn += bar(name, ratio, quantity(result.figures[name], result.unit), y)
        y += 30
    lines = [line(ratio, y - 30) for ratio in (1, 10, 100, 1000)]
    return "\n".join([
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{y - 10}" '
        f'font-family="sans-serif" font-size="12">',
        '<rect width="100%" height="100%" fill="white"/>',
        '<text x="8" y="16">Time over that of the first, logarithmic</text>',
        *lines, *drawn, "</svg>\n",
    ])  # fmt: skip


def bar(name: str, ratio: float, figure: str, y: int) -> list[str]:
    """A contender: its name, a bar, and its figure with the ratio."""
    left, right = sorted((place(1), place(ratio)))
    color = "#3465a4" if name.startswith("engine") else "#888a85"
    shown = figure if ratio == 1 else f"{figure}, {float(f'{ratio:.3g}'):,g} x"
    return [
        f'<text x="24" y="{y}">{escape(name)}</text>',
        f'<rect x="{left - 1:.0f}" y="{y - 10}" width="{right - left + 2:.0f}" height="12" '
        f'fill="{color}"/>',
        f'<text x="{right + 8:.0f}" y="{y}">{escape(shown)}</text>',
    ]


def line(ratio: int, bottom: int) -> str:
    """A line from top to bottom where a ratio stands."""
    x = f"{place(ratio):.0f}"
    return (f'<path d="M{x} 22V{bottom}" stroke="#d3d7cf"/>'
            f'<text x="{x}" y="16" text-anchor="middle">{ratio:,}</text>')  # fmt: skip


def escape(text: str) -> str:
    return text.replace("&", "&amp;").replace("<", "&lt;")
