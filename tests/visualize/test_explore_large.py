"""Pages of large graphs in a real browser: nothing is lost, every number is the engine's."""

import json

import pytest
from visualize.browser import answer_of, needs_browser
from visualize.pages import story_of
from visualize.test_explore import PROGRAMS, Cube, loss_of_many

import engine
from benchmarks.gpt import Workload
from engine import Value, nn
from engine.value import has_grad
from engine.visualize import explore, story
from engine.visualize.exploring import write
from engine.visualize.layout import layout
from engine.visualize.recording import Recorder, walked
from engine.visualize.views import recorded

pytestmark = needs_browser


@pytest.fixture
def browse(tmp_path):
    """Opens the page of something, runs a program in it, and gives its answer."""
    return lambda root, program, *flags: answer_of(
        explore(root, tmp_path / "page.html"), program, *flags
    )


def mixed():
    """Values, Tensors, hooks, a Function, a backward of the program's own: 800 nodes or so."""
    v, t = Value(2.0, label="v"), engine.tensor([1.0, 2.0, 4.0], requires_grad=True)
    v.register_hook(lambda g: g * 0.5)
    total = Value(0.0)
    for k in range(20):
        part = (v * (1 + k / 10)).tanh()
        part.register_hook(lambda g: g * 3.0)
        made = Value(part.data**2, (part,), (2.0 * part.data,))
        total = total + Cube.apply(made) * part + (part - 0.1).relu() * float("inf") * 0.0
        for program in PROGRAMS.values():
            y = program(v, t)
            y = y if isinstance(y, Value) else engine.unstack(y.reshape(1))[0]
            total = total + y * 1e-3
    return total


def small_and_large(root, tmp_path):
    """The same walk as boxes and steps one by one, and as the page of a large graph."""
    with Recorder():
        made = root()
    walk = walked(made)
    all_ = recorded(walk, {})
    plain = story.plainly(all_, {id(box.thing): i for i, box in enumerate(all_.boxes)})
    return plain, write(story.story(walk, {}, "title", "", []), tmp_path / "large.html")


@pytest.mark.parametrize("root", [loss_of_many, mixed], ids=lambda root: root.__name__)
def test_columns_hold_the_same_boxes_and_steps_bit_for_bit(root, tmp_path):
    plain, path = small_and_large(root, tmp_path)
    assert "columns" in story_of(path)
    names = json.dumps(list(plain["boxes"][0]))
    program = f"""
    const names = {names};
    return {{boxes: given.boxes.map(box => JSON.stringify(names.map(name => box[name] ?? null))),
      steps: given.steps}};
    """
    answer = answer_of(path, program)
    for made, box in zip(answer["boxes"], plain["boxes"], strict=True):
        box["at"] = box["at"] and [*box["at"]]
        found = dict(zip(plain["boxes"][0], json.loads(made), strict=True))
        found["at"] = found["at"] and found["at"][:2]
        assert found == {name: box.get(name) for name in found}
    assert len(answer["steps"]) == len(plain["steps"]) > 1000
    for made, step in zip(answer["steps"], plain["steps"], strict=True):
        assert made == step


FOLDS = """
key("End");
return {boxes, steps};
"""


def test_a_large_graph_is_folded_by_line(browse):
    answer = browse(loss_of_many, FOLDS)
    assert sorted(b["count"] for b in answer["boxes"]) == [1, 1, 1000, 2000]
    (loss,) = [b for b in answer["boxes"] if b["count"] == 2000]
    assert loss["notes"] == ["a loop: also made of what it made itself"]
    first = loss_of_many.__code__.co_firstlineno
    assert loss["label"] == f"line {first + 6} in loss_of_many"


class Times:
    """A layer of a program's own."""

    def __init__(self, w):
        self.w = Value(w)

    def __call__(self, xs):
        return [(x * self.w).tanh() for x in xs]


def loss_of_layers():
    xs = [Value(i / 100) for i in range(100)]
    for layer in [Times(0.5), Times(1.5), Times(2.5)]:
        xs = layer(xs)
    return sum(xs)


def nets():
    """Two nets of engine's own layers, so large that they are folded."""
    small, large = nn.Sequential(nn.Linear(2, 2), nn.Tanh()), nn.Linear(2, 2)
    x = engine.ones(1, 2)
    total = engine.zeros(())
    for i in range(100):
        total = total + (large(small(x * i)) ** 2).sum()
    return total


@pytest.mark.parametrize(
    ("root", "names"),
    [
        (loss_of_layers, {"Times 1, ", "Times 2, ", "Times 3, "}),
        (nets, {"Sequential 1 / Linear 1, ", "Linear 2, "}),
    ],
    ids=["of the program's own", "engine's"],
)
def test_a_large_graph_is_folded_by_layer(root, names, browse):
    script = """
    const labels = boxes.map(box => box.label);
    open(boxes.findIndex(box => box.label.includes("2, line") && box.kind !== "leaf"));
    while (parts.length) open(parts.findIndex(part => part.nodes.length > 1));
    choose(boxes.findIndex(box => box.kind === "operation" || box.kind === "function"));
    return {labels, facts: find("facts").textContent};
    """
    answer = browse(root, script)
    for name in names:
        assert any(label.startswith(name) for label in answer["labels"]), answer["labels"]
    assert f"layer{sorted(names)[-2 if root is loss_of_layers else 0][:-2]}" in answer["facts"]


def test_the_steps_of_a_folded_graph_count_all_contributions(browse):
    answer = browse(loss_of_many, FOLDS)
    folds = [s for s in answer["steps"] if s["do"] == "fold"]
    assert len(folds) == len(answer["boxes"])
    assert sum(part["number"] for s in folds for part in s["given"]) == 1000 + 1000 + 2000
    root = loss_of_many()
    root.backward()
    (w,) = {id(v): v for v in below(root) if v.label == "w"}.values()
    (total,) = [s["arrived"][0][1] for s in folds if answer["boxes"][s["box"]]["label"] == "w"]
    assert total == w.grad


def below(root):
    """All Values that root was made of."""
    found, waiting = {}, [root]
    while waiting:
        v = waiting.pop()
        if id(v) not in found:
            found[id(v)] = v
            waiting += v._children
    return found.values()


def test_a_large_graph_without_lines_is_folded_by_operation(browse):
    root = loss_of_many()
    answer = browse(root, FOLDS)
    assert sorted(b["count"] for b in answer["boxes"]) == [1, 1, 1000, 1000, 1000]


def test_a_folded_box_opens_into_pages_and_these_into_nodes_with_their_arithmetic(browse):
    program = """
    key("ArrowRight");
    const reached = [];
    for (const count of [2000, 100]) {
      choose(boxes.findIndex(box => box.count === count));
      const button = document.querySelector("#tools button"), said = button.textContent;
      button.click();
      reached.push([said, boxes.length]);
    }
    key("End");
    const last = steps.at(-1);
    const way = [...document.querySelectorAll("#way li")].map(item => item.textContent);
    for (let i = 0; i < 2; i++) find("close").click();
    return {reached, last, way, after: [boxes.length, at, find("path").hidden]};
    """
    answer = browse(loss_of_many, program)
    assert [said for said, _ in answer["reached"]] == ["Open its 2000 nodes", "Open its 100 nodes"]
    assert max(count for _, count in answer["reached"]) <= 500
    for part in answer["last"]["given"]:
        assert part["gives"] == answer["last"]["arrived"][0][1] * part["slope"]
    assert len(answer["way"]) == 3
    assert answer["way"][0] == "all"
    assert answer["after"] == [4, 1, True]


# Opens every box, down to the nodes.
EVERY = """
const seen = new Set(), sizes = [];
const waiting = [everything(graph)];
while (waiting.length) {
  const part = waiting.pop(), view = viewOf(graph, part);
  sizes.push(view.boxes.length);
  const shown = view.boxes.filter(box => box.kind !== "outside" && box.count === 1);
  shown.forEach(box => seen.add(box.id));
  waiting.push(...view.parts.filter(inner => inner.nodes.length > 1));
}
const nodes = everything(graph).nodes;
const missing = nodes.filter(i => !seen.has(i)).length;
return {nodes: nodes.length, missing, most: Math.max(...sizes)};
"""


def wide():
    """A node of a program's own with 1,500 parents, and a chain without lines of 3,000."""
    leaves = [Value(i / 7, label=f"x{i}") for i in range(1500)]
    total = Value(sum(v.data for v in leaves), tuple(leaves), (1.0,) * 1500)
    for _ in range(3000):
        total = total.sin()
    return total


@pytest.mark.parametrize("root", [loss_of_many, mixed, wide], ids=lambda root: root.__name__)
@pytest.mark.parametrize("lines", [True, False], ids=["lines", "no lines"])
def test_every_node_is_reached_and_no_view_holds_more_than_500(root, lines, browse):
    answer = browse(root if lines else root(), EVERY)
    assert answer["nodes"] > 500
    assert answer["missing"] == 0
    assert answer["most"] <= 500


def test_a_node_is_found_by_its_number_and_by_its_label(browse):
    program = """
    const found = [];
    for (const text of ["#1500", "w", "77", "nothing"]) {
      find("seek").value = text;
      find("seek").dispatchEvent(new Event("change"));
      found.push([chosen === null ? null : boxes[chosen].id, find("sought").textContent]);
    }
    return found;
    """
    answer = browse(loss_of_many, program)
    assert [found for found, _ in answer[::2]] == [1500, 77]
    assert answer[1][1] == ""
    assert answer[3][1] == "There is no node nothing."


def test_boxes_stand_where_draw_would_put_them(browse):
    program = """
    const sizes = boxes.map(sizeOfBox), parents = boxes.map(box => box.parents);
    const plan = layout(sizes, parents);
    return {sizes, parents, x: plan.x, y: plan.y, wide: plan.wide, high: plan.high};
    """

    def program_of_many_arrows():
        v = [Value(float(i), label=f"v{i}") for i in range(6)]
        return sum(a * b for a in v for b in v[2:]) * v[0] + v[5].tanh()

    for root in (program_of_many_arrows, loss_of_many):
        page = browse(root, program)
        plan = layout(page["sizes"], page["parents"], 96.0)
        assert page["x"] == pytest.approx(plan.x, abs=1e-6)
        assert page["y"] == pytest.approx(plan.y, abs=1e-6)
        assert (page["wide"], page["high"]) == pytest.approx((plan.wide, plan.high))


def test_the_page_of_a_scalar_gpt_is_small_and_holds_every_gradient(tmp_path):
    work = Workload(Value)
    page = explore(work.loss, tmp_path / "gpt.html")
    assert page.stat().st_size < 5e6
    program = EVERY.replace("return {", "return {grads: leavesOf(), shown: boxes.length, ")
    leaves = """
    const leavesOf = () => given.steps.filter(step => step.do === "keep").map(step => step.after);
    """
    answer = answer_of(page, leaves + program)
    assert answer["nodes"] > 60_000
    assert answer["missing"] == 0
    assert answer["shown"] <= answer["most"] <= 500
    work.step()
    there = [p.grad for p in work.parameters if has_grad(p)]
    assert sorted(answer["grads"]) == sorted(there)
