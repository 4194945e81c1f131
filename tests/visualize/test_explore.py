"""Pages that step through a backward pass: every number in them is the engine's."""

import math
import random
import re
import tomllib
from pathlib import Path

import pytest
from visualize.pages import gradients_at_the_end, story_of

import engine
from engine import Value
from engine.value import has_grad
from engine.visualize import draw, explore, recording
from engine.visualize.recording import Recorder


@pytest.fixture
def page(tmp_path):
    """Explores something, and gives the data of its page."""

    def explored(root, **options):
        return story_of(explore(root, tmp_path / "page.html", **options))

    return explored


def labelled(**numbers):
    return [Value(x, label=name) for name, x in numbers.items()]


def box(story, label):
    """The number of the box with this label."""
    (found,) = [i for i, b in enumerate(story["boxes"]) if b["label"] == label]
    return found


def random_program(seed):
    """A random graph of Values: the result, and the leaves."""
    rng = random.Random(seed)
    leaves = [Value(rng.uniform(0.5, 2.0), label=f"x{i}") for i in range(4)]
    made = list(leaves)
    for _ in range(30):
        a, b = rng.choice(made), rng.choice(made)
        made.append(
            rng.choice([a + b, a * b, a - b, a / 3, 2 - a, a.tanh(), a.exp().log(), a**2, -a])
        )
    return sum(made), leaves


@pytest.mark.parametrize("seed", range(5))
def test_the_gradients_of_a_page_are_those_of_backward_bit_for_bit(page, seed):
    root, leaves = random_program(seed)
    story = page(root)
    assert [has_grad(v) for v in leaves] == [False] * 4
    root.backward()
    ends = gradients_at_the_end(story)
    for v in leaves:
        places = [i for i, b in enumerate(story["boxes"]) if b["label"] == v.label]
        assert [ends[i] for i in places] == [v.grad] * len(places)


@pytest.mark.parametrize("seed", range(5))
def test_each_contribution_is_the_incoming_gradient_times_the_slope(page, seed):
    story = page(random_program(seed)[0])
    parts = 0
    for step in story["steps"]:
        for part in step.get("given", []) if step["do"] == "pass" else []:
            assert part["gives"] == step["arrived"][0][1] * part["slope"]
            assert part["after"] == (part["before"] or 0.0) + part["gives"]
            parts += 1
    assert parts >= 30


def test_each_node_hands_its_gradient_on_once_and_only_when_it_is_whole(page):
    story = page(random_program(7)[0])
    passed = [step["box"] for step in story["steps"] if step["do"] in ("pass", "keep")]
    assert len(passed) == len(set(passed))
    for k, step in enumerate(story["steps"]):
        later = [s for s in story["steps"][k:] if s["do"] == "pass"]
        if step["do"] in ("pass", "keep"):
            assert not any(part["to"] == step["box"] for s in later for part in s["given"])


def test_a_value_used_twice_gets_both_contributions(page):
    (x,) = labelled(x=3.0)
    story = page(x * x)
    given = [part for step in story["steps"] if step["do"] == "pass" for part in step["given"]]
    assert [(p["port"], p["gives"], p["before"], p["after"]) for p in given] == [
        (0, 3.0, None, 3.0),
        (1, 3.0, 3.0, 6.0),
    ]


def test_a_function_is_recorded_with_its_lines(page):
    def program():
        a, b = labelled(a=2.0, b=-3.0)
        c = a * b
        return c + 10.0

    story = page(program)
    first = program.__code__.co_firstlineno
    lit = [story["boxes"][s["box"]]["at"] for s in story["steps"] if s["do"] == "make"]
    assert lit == [[0, first + 2], [0, first + 2], [0, first + 2], [0, first + 3]]
    (source,) = story["sources"]
    assert source["name"] == Path(__file__).name
    assert source["lines"][first + 1].strip() == "c = a * b"


def test_nodes_are_made_in_the_order_of_the_program(page):
    def program():
        (x,) = labelled(x=2.0)
        last, first = x.exp(), x.sin()
        return first * last

    story = page(program)
    ops = [story["boxes"][s["box"]]["op"] for s in story["steps"] if s["do"] == "make"]
    assert ops == ["", "exp", "sin", "*"]


def test_constants_are_boxes_and_make_no_steps(page):
    (x,) = labelled(x=3.0)
    story = page(2 * x + 1)
    constants = [b["data"] for b in story["boxes"] if b["kind"] == "constant"]
    assert constants == [2.0, 1.0]
    shown = {s["box"] for s in story["steps"]}
    assert [story["boxes"][i]["kind"] for i in sorted(shown)] == ["leaf", "operation", "operation"]


def test_exploring_changes_no_gradient_and_observes_nothing_afterwards(page):
    (x,) = labelled(x=3.0)
    y = x * x
    y.backward()
    page(y)
    assert (x.grad, y.grad) == (6.0, 1.0)
    z = x * 2
    assert not hasattr(z, "made_")
    z.backward()
    assert x.grad == 8.0


def test_a_second_backward_is_shown_as_added_to_the_first(page):
    (x,) = labelled(x=3.0)
    (x * x).backward()
    story = page(x * 5)
    (keep,) = [s for s in story["steps"] if s["do"] == "keep"]
    assert (keep["before"], keep["after"]) == (6.0, 11.0)


def test_what_programs_change_after_backward_is_shown_as_it_was():
    (w,) = labelled(w=3.0)
    with Recorder() as recorder:
        (w * w).backward()
        w.data = 100.0
    assert recorder.last.data[id(w)] == 3.0


def test_while_recording_backward_writes_the_same_gradients():
    root, leaves = random_program(3)
    root.backward()
    expected = [v.grad for v in leaves]
    for v in leaves:
        v.zero_grad()
    with Recorder() as recorder:
        root.backward()
    assert [v.grad for v in leaves] == expected
    assert recorder.walks == 1


def test_a_gradient_that_is_changed_in_place_after_backward_is_shown_as_it_was():
    w = engine.ones(2, requires_grad=True)
    with Recorder() as recorder:
        (w * w).sum().backward()
        (w * w).sum().backward()
        w.grad.zero_()
    before, after = recorder.last.visits[-1].kept
    assert (before.tolist(), after.tolist()) == ([2.0, 2.0], [4.0, 4.0])


def test_a_gradient_that_is_retained_is_written_while_recording():
    w = engine.ones(2, requires_grad=True)
    with Recorder() as recorder:
        y = w * w
        y.retain_grad()
        y.sum().backward()
    assert y.grad.tolist() == [1.0, 1.0]
    assert [visit.kept is None for visit in recorder.last.visits] == [True, True, False]


def test_values_keep_their_lines_over_walks_that_do_not_reach_them():
    (x,) = labelled(x=3.0)
    with Recorder() as recorder:
        early = x * x
        for _ in range(4):
            (x + 1).backward()
        (early * 2).backward()
    assert early.made_.stack[0][1] == early_line()
    assert early.made_.serial == 0
    assert recorder.last.visits[1].node is early


def early_line():
    """The line of `early = x * x` in the test above."""
    lines = Path(__file__).read_text(encoding="utf-8").splitlines()
    return lines.index("        early = x * x") + 1


def test_where_a_value_was_made_is_kept_with_those_alone_that_a_program_still_has(monkeypatch):
    made = []
    monkeypatch.setattr(recording, "Made", lambda *where: made.append(where[2]))
    (x,) = labelled(x=3.0)
    with Recorder() as recorder:
        for _ in range(10):
            ((x * x) * x).backward()
        assert (len(recorder.older), len(recorder.log)) == (5 * 2, 0)
    assert made == [19, 18]


def test_a_long_log_is_settled_though_no_walk_is_taken(monkeypatch):
    monkeypatch.setattr(recording, "MOST", 50)
    (x,) = labelled(x=3.0)
    with Recorder() as recorder:
        kept = [x * k for k in range(100)]
        assert len(recorder.log) <= 50
    assert [v.made_.serial for v in kept] == [*range(100)]


def test_what_stands_at_an_instruction_is_found_once():
    (x,) = labelled(x=3.0)
    with Recorder() as recorder:
        x * x
        first = len(recorder.spots)
        for _ in range(100):
            x = x + 1
    assert len(recorder.spots) <= first + 2


def test_recorders_may_stand_inside_one_another():
    (x,) = labelled(x=3.0)
    with Recorder() as outer, Recorder() as inner:
        (x * x).backward()
    assert (outer.walks, inner.walks) == (1, 0)
    assert outer.count == inner.count == 1
    assert engine.Value(2.0)._grad == 0.0


def test_a_backward_of_the_programs_own_is_shown_without_slopes(page):
    (x,) = labelled(x=3.0)
    y = Value(9.0, (x,), "square")

    def push():
        x.grad += 6.0 * y.grad

    y._backward = push
    story = page(y)
    (step,) = [s for s in story["steps"] if s["do"] == "pass"]
    assert [(p["slope"], p["gives"]) for p in step["given"]] == [(None, 6.0)]


class Cube(engine.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x**3

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return g * 3 * x**2


def test_the_ctx_of_a_function_is_a_step_of_its_own(page):
    (x,) = labelled(x=2.0)
    story = page(lambda: Cube.apply(x) * 1.0)
    ctx = next(i for i, b in enumerate(story["boxes"]) if b["op"] == "CubeBackward")
    assert story["boxes"][ctx]["notes"] == ["saved: 1"]
    (step,) = [s for s in story["steps"] if s["do"] == "pass" and s["box"] == ctx]
    assert [(p["to"], p["gives"]) for p in step["given"]] == [(box(story, "x"), 12.0)]


def test_tensors_are_shown_with_their_numbers_and_gradients(page):
    x = engine.tensor([[1.0, -2.0], [3.0, 4.0]], requires_grad=True)
    x.label = "x"
    story = page(lambda: (x.relu() * 2).sum())
    i = box(story, "x")
    assert story["boxes"][i]["data"]["cells"] == [[1.0, -2.0], [3.0, 4.0]]
    assert gradients_at_the_end(story)[i]["cells"] == [[2.0, 0.0], [2.0, 2.0]]
    relu = next(b for b in story["boxes"] if b["op"] == "ReluBackward0")
    assert relu["data"]["cells"] == [[1.0, 0.0], [3.0, 4.0]]
    assert x.grad is None


class Two(engine.Function):
    @staticmethod
    def forward(ctx, a, b, k):
        ctx.save_for_backward(a, b)
        return a * b, a + b

    @staticmethod
    def backward(ctx, g, h):
        a, b = ctx.saved_tensors
        return g * b + h, g * a + h, None


def in_place(v, t):
    x = t * v
    x *= 3
    x[0] = 0
    return x.sum()


PROGRAMS = {
    "a Value times a Tensor": lambda v, t: (v * t).sum(),
    "a stack of Values": lambda v, t: (engine.stack([v, v * 2, v * v]) ** t).sum(),
    "Values of a Tensor": lambda v, t: sum(x.tanh() * v for x in engine.unstack(t)),
    "changes in place": in_place,
    "two outputs of a Function": lambda v, t: Two.apply(v, v.sin(), 5)[0] * Two.apply(v, v, 5)[1],
    "one of two outputs": lambda v, t: Two.apply(t, t * v, 5)[1].sum(),
    "numbers of a Tensor": lambda v, t: t[0] * t[1] + t.mean() * v,
}


@pytest.mark.parametrize("hooked", [False, True], ids=["plain", "hooked"])
@pytest.mark.parametrize("name", PROGRAMS)
def test_gradients_are_those_of_backward_in_any_graph(name, hooked, page):
    v, t = Value(2.0, label="v"), engine.tensor([1.0, 2.0, 4.0], requires_grad=True)
    t.label = "t"
    if hooked:
        v.register_hook(lambda g: g * 10)
        t.register_hook(lambda g: g * 10)
    story = page(lambda: PROGRAMS[name](v, t))
    PROGRAMS[name](v, t).backward()
    ends = gradients_at_the_end(story)
    found = {b["label"]: ends[i] for i, b in enumerate(story["boxes"]) if b["label"]}
    assert found
    assert found.get("v", v.grad) == v.grad
    if "t" in found:
        assert found["t"]["cells"] == [t.grad.tolist()]
    assert len(str(draw(PROGRAMS[name](v, t)))) > 1000


def test_numbers_beside_tensors_are_shown_even_where_no_slope_keeps_them(page):
    x = engine.ones(2, requires_grad=True)
    story = page(lambda: (3 * x + 1).sum())
    assert [b["data"] for b in story["boxes"] if b["kind"] == "constant"] == [3, 1]


def test_the_heat_map_of_a_large_tensor_has_at_most_16_rows_and_columns(page):
    x = engine.ones(3, 40, 50, requires_grad=True)
    x.label = "x"
    story = page(lambda: x.sum())
    cells = story["boxes"][box(story, "x")]["data"]["cells"]
    assert (len(cells), len(cells[0])) == (16, 16)


def test_nan_and_infinities_stand_in_the_page_as_words(page):
    a, b = labelled(a=math.inf, b=0.0)
    story = page(a * b)
    assert story["boxes"][-1]["data"] == "nan"
    assert story["boxes"][box(story, "a")]["data"] == "inf"


def test_a_selection_passes_nothing_where_its_slope_is_0(page):
    (x,) = labelled(x=-1.0)
    story = page(x.relu() * math.inf)
    relu = next(i for i, b in enumerate(story["boxes"]) if b["op"] == "ReLU")
    (step,) = [s for s in story["steps"] if s["do"] == "pass" and s["box"] == relu]
    assert [(p["slope"], p["gives"]) for p in step["given"]] == [(0.0, 0.0)]


def test_a_page_is_one_file_that_loads_nothing(tmp_path):
    text = explore(labelled(x=3.0)[0] * 2, tmp_path / "page.html").read_text(encoding="utf-8")
    assert set(re.findall(r"https?://[^\s\"']+", text)) == {"http://www.w3.org/2000/svg"}
    assert not re.search(r"<link|<img|<iframe|\bsrc=|@import|url\(|fetch\(|XMLHttp", text)
    assert "default-src 'none'" in text


def test_every_part_of_the_page_is_packaged():
    root = Path(engine.__file__).parents[1]
    project = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))
    patterns = project["tool"]["setuptools"]["package-data"]["*"]
    parts = [path for path in (root / "engine" / "visualize").glob("*.*") if path.suffix != ".py"]
    assert len(parts) >= 12
    assert [path.name for path in parts if not any(path.match(p) for p in patterns)] == []


def test_a_label_cannot_leave_its_place_in_the_page(tmp_path):
    label = "</script><script>alert(1)</script>"
    path = explore(Value(1.0, label=label) * 2, tmp_path / "page.html", title="<b>&")
    text = path.read_text(encoding="utf-8")
    assert "alert(1)" in text
    assert "<script>alert" not in text
    assert "<title>&lt;b&gt;&amp;</title>" in text
    assert story_of(path)["boxes"][0]["label"] == label


def test_the_same_program_gives_the_same_bytes(tmp_path):
    first = explore(lambda: random_program(1)[0], tmp_path / "a.html").read_bytes()
    assert explore(lambda: random_program(1)[0], tmp_path / "b.html").read_bytes() == first


def loss_of_many():
    """A loss of 3,000 nodes, made by four lines."""
    w = Value(2.0, label="w")
    loss = Value(0.0)
    for i in range(1000):
        part = w * (i / 1000)
        loss = loss + part.tanh()
    return loss


def test_a_large_graph_is_packed_in_columns_and_says_so(page):
    story = page(loss_of_many)
    assert "3002 nodes are folded by layer, label and line" in story["remark"]
    assert "boxes" not in story
    assert story["columns"]["full"] == {}


@pytest.mark.parametrize("wrong", [3.0, "text", None])
def test_what_is_no_graph_is_refused_by_its_type(wrong, tmp_path):
    with pytest.raises(TypeError, match=f"explore: needs .* got {type(wrong).__name__}"):
        explore(wrong, tmp_path / "page.html")


def test_what_has_no_gradient_is_refused_with_the_reason(tmp_path):
    with pytest.raises(RuntimeError, match="explore: needs a result that requires grad"):
        explore(engine.ones(1), tmp_path / "page.html")


def test_a_tensor_of_many_numbers_is_refused_with_the_cure(tmp_path):
    x = engine.ones(3, requires_grad=True)
    with pytest.raises(RuntimeError, match=r"one number to start from; got shape \(3,\)"):
        explore(x * 2, tmp_path / "page.html")
