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


def picture(results: list[Result], width: int = 920) -> str:
    """An SVG: a bar for each contender of each row, its time over the first's, logarithmic."""
    bars, y = [], 24
    for result in results:
        bars.append(f'<text x="8" y="{y}" font-weight="bold">{escape(result.title)}</text>')
        for name, ratio in result.ratios.items():
            y += 18
            length = 8 + 150 * max(0.0, math.log10(max(ratio, 0.1)) + 1)
            shown = f"{quantity(result.figures[name], result.unit)}, x {ratio:.3g}"
            color = "#3465a4" if name.startswith("engine") else "#babdb6"
            bars.append(f'<text x="24" y="{y}">{escape(name)}</text>')
            bars.append(f'<rect x="140" y="{y - 10}" width="{length:.0f}" height="12" '
                        f'fill="{color}"/>')  # fmt: skip
            bars.append(f'<text x="{148 + length:.0f}" y="{y}">{escape(shown)}</text>')
        y += 30
    return (f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{y}" '
            f'font-family="sans-serif" font-size="12">\n'
            f'<rect width="100%" height="100%" fill="white"/>\n' + "\n".join(bars)
            + "\n</svg>\n")  # fmt: skip


def escape(text: str) -> str:
    return text.replace("&", "&amp;").replace("<", "&lt;")
