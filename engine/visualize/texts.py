"""The boxes of a graph as text: a tree for a terminal, and DOT for other programs."""

from engine.visualize.boxes import Box
from engine.visualize.words import clean, lines

DEEPEST = 24


def tree(boxes: list[Box], caption: str = "") -> str:
    """The graph as a tree, results above what they were made of.

    A box used twice is written out once; what lies deeper than 24 levels follows below, at the
    left again. Both are referred to by their numbers.
    """
    used = {p for box in boxes for p in box.parents}
    begin = [i for i in range(len(boxes)) if i not in used]
    written: list[str] = [caption] if caption else []
    done: set[int] = set()
    while begin:
        branch(begin.pop(0), boxes, begin, done, written)
    return "\n".join(written) + "\n"


def branch(
    top: int, boxes: list[Box], later: list[int], done: set[int], written: list[str]
) -> None:
    """Write the tree below one box; what lies too deep is left for `later`."""
    waiting = [(top, "", "")]
    while waiting:
        i, before, below = waiting.pop()
        depth = len(below) // 3
        again = i in done
        deep = depth >= DEEPEST and not again and bool(boxes[i].parents)
        if deep:
            later.append(i)
        written.append(before + line(i, boxes[i], "see there" if again else "see below" * deep))
        if again or deep:
            continue
        done.add(i)
        children = [*enumerate(boxes[i].parents)]
        for place, p in reversed(children):
            last = place == len(children) - 1
            waiting.append(
                (p, below + ("└─ " if last else "├─ "), below + ("   " if last else "│  "))
            )


def line(i: int, box: Box, reference: str) -> str:
    """One box in one line; a reference stands in the place of its numbers."""
    words = [text for _, text in lines(box)]
    if box.kind == "constant":
        return "   ".join(words)
    return f"#{i}  " + "   ".join([words[0], reference] if reference else words)


def dot(boxes: list[Box]) -> str:
    """The graph in the DOT language."""
    text = ["digraph {", "rankdir=LR", 'node [shape=box, fontname="monospace"]']
    for i, box in enumerate(boxes):
        words = "\\n".join(quoted(words) for _, words in lines(box))
        text.append(f'n{i} [label="{words}"{STYLES[box.kind]}]')
        text += [f"n{p} -> n{i}" for p in box.parents]
    return "\n".join([*text, "}"]) + "\n"


STYLES = {
    "leaf": ", style=bold",
    "operation": "",
    "function": ", style=rounded",
    "constant": ", style=dashed",
}


def quoted(words: str) -> str:
    """Text inside a DOT string."""
    return clean(words).replace("\\", "\\\\").replace('"', '\\"')
