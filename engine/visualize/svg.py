"""The boxes of a graph as SVG text: no script, no font and no file from anywhere else.

Light on a light desktop and dark on a dark one. Colours are those of Okabe and Ito, darkened for
text; kinds differ by outline as well, gradients by their word and sign.
"""

from xml.sax.saxutils import escape

from engine.visualize.boxes import Box
from engine.visualize.layout import Layout, Sizes, layout
from engine.visualize.words import lines, sentence

CHARACTER, LINE, PAD, MARGIN, CAPTION = 7.3, 16.0, 8.0, 16.0, 26.0
# Of a heading: where a converter knows none of the fonts, DejaVu Sans or Verdana, bold, stand in.
BOLD = 8.8
STYLE = """
.engine-paper{fill:#fff}.engine-box{fill:#fff;stroke:#5a5a5a}
.engine-leaf{fill:#eaf4fb;stroke:#0072b2;stroke-width:2}
.engine-function{fill:#f6eef4;stroke:#8a4a73;stroke-width:2}
.engine-constant{fill:#f4f4f4;stroke:#6b6b6b;stroke-dasharray:4 3}
.engine-arrow{fill:none;stroke:#6b6b6b;stroke-width:1.3}.engine-tip{fill:#6b6b6b}
.engine-text{font:12px ui-monospace,Menlo,Consolas,"DejaVu Sans Mono",monospace;fill:#1a1a1a}
.engine-head{font-weight:bold}.engine-data{fill:#1a1a1a}.engine-grad{fill:#a03d00}
.engine-none{fill:#6b6b6b;font-style:italic}.engine-note{fill:#5a5a5a}
@media (prefers-color-scheme:dark){
.engine-paper{fill:#16181c}.engine-box{fill:#202329;stroke:#a8a8a8}
.engine-leaf{fill:#12303f;stroke:#56b4e9}.engine-function{fill:#33202d;stroke:#d69abd}
.engine-constant{fill:#26282c;stroke:#a0a0a0}
.engine-arrow{stroke:#a8a8a8}.engine-tip{fill:#a8a8a8}
.engine-text,.engine-data{fill:#f0f0f0}.engine-grad{fill:#ffb27a}
.engine-none{fill:#b0b0b0}.engine-note{fill:#c0c0c0}}
"""
# The corner of each kind's outline.
CORNER = {"leaf": 10, "operation": 3, "function": 16, "constant": 0}


def svg(boxes: list[Box], caption: str = "") -> str:
    """The picture, with the caption above it."""
    sizes = [size(box) for box in boxes]
    plan = layout(sizes, [box.parents for box in boxes])
    top = MARGIN + (CAPTION if caption else 0.0)
    wide = max(plan.wide, len(caption) * CHARACTER) + 2 * MARGIN
    high = plan.high + top + MARGIN
    name = f"A graph of {len(boxes)} nodes. {caption}".strip()
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{wide:.0f}" height="{high:.0f}" '
        f'viewBox="0 0 {wide:.0f} {high:.0f}" role="img">',
        f"<title>{escape(name)}</title><style>{STYLE}</style>",
        f'<rect class="engine-paper" width="{wide:.0f}" height="{high:.0f}"/>',
        text(MARGIN, MARGIN + 12, "note", caption) if caption else "",
        f'<g transform="translate({MARGIN:.0f} {top:.0f})">',
        *arrows(boxes, sizes, plan),
        *(outline(box, *sizes[i], plan.x[i], plan.y[i]) for i, box in enumerate(boxes)),
        "</g></svg>\n",
    ]
    return "\n".join(part for part in parts if part)


def size(box: Box) -> tuple[float, float]:
    """Width and height of a box that holds its lines."""
    shown = lines(box)
    longest = max(len(line) * (BOLD if kind == "head" else CHARACTER) for kind, line in shown)
    return longest + 2 * PAD + 4, len(shown) * LINE + PAD


def text(x: float, y: float, kind: str, words: str) -> str:
    return f'<text class="engine-text engine-{kind}" x="{x:.1f}" y="{y:.1f}">{escape(words)}</text>'


def outline(box: Box, wide: float, high: float, x: float, middle: float) -> str:
    """One box: its outline, its lines, and everything about it as a tooltip."""
    y = middle - high / 2
    shown = [
        text(x + PAD + 2, y + PAD / 2 + 12 + i * LINE, kind, words)
        for i, (kind, words) in enumerate(lines(box))
    ]
    return (
        f"<g><title>{escape(sentence(box))}</title>"
        f'<rect class="engine-box engine-{box.kind}" x="{x:.1f}" y="{y:.1f}" width="{wide:.1f}" '
        f'height="{high:.1f}" rx="{CORNER[box.kind]}"/>{"".join(shown)}</g>'
    )


def arrows(boxes: list[Box], sizes: Sizes, plan: Layout) -> list[str]:
    """The arrows from operands to results; the first operand enters topmost."""
    drawn = []
    for target, box in enumerate(boxes):
        for port, source in enumerate(box.parents):
            path, tip = arrow(plan, sizes, source, target, (port + 1) / (len(box.parents) + 1))
            drawn.append(
                f'<path class="engine-arrow" d="{path}"/><path class="engine-tip" d="{tip}"/>'
            )
    return drawn


def arrow(plan: Layout, sizes: Sizes, source: int, target: int, port: float) -> tuple[str, str]:
    """The line from one box to another and its tip, as SVG paths; port: 0 at the top, 1 below."""
    high = sizes[target][1]
    stops = [(plan.x[i], plan.y[i]) for i in plan.route(source, target)]
    stops.append((plan.x[target], plan.y[target] + high * (port - 0.5)))
    x, y = plan.x[source] + sizes[source][0], plan.y[source]
    path = f"M{x:.1f} {y:.1f}"
    for to_x, to_y in stops:
        if to_x - x > plan.gap:  # past a wide box: straight, then bend in the gap before the stop
            x = to_x - plan.gap
            path += f"H{x:.1f}"
        bend = (to_x - x) / 2
        path += f"C{x + bend:.1f} {y:.1f} {to_x - bend:.1f} {to_y:.1f} {to_x:.1f} {to_y:.1f}"
        x, y = to_x, to_y
    return path, f"M{x:.1f} {y:.1f}l-8 -4v8z"
