"""What a learner cannot see elsewhere stands in the page: no_grad, ctx, saved tensors, hooks."""

import pytest
from visualize.browser import answer_of, needs_browser
from visualize.test_explore import labelled

import engine
from engine import Value
from engine.autograd.function import once_differentiable
from engine.visualize import explore

pytestmark = needs_browser


@pytest.fixture
def browse(tmp_path):
    """Opens the page of something, runs a program in it, and gives its answer."""
    return lambda root, program: answer_of(explore(root, tmp_path / "page.html"), program)


# The facts of the box with some operation or label, at the end of all steps.
FACTS = """
key("End");
choose(boxes.findIndex(box => box.op === "%s" || box.label === "%s"));
return [...document.querySelectorAll("#facts dt")].map(
  dt => dt.textContent + ": " + dt.nextSibling.textContent);
"""


def facts_of(name):
    return FACTS.replace("%s", name)


def test_lines_under_no_grad_are_marked_and_what_they_made_says_so(browse):
    def program():
        x, w = labelled(x=3.0, w=2.0)
        with engine.no_grad():
            scale = x * 10
            scale.label = "scale"
        return w * scale

    script = """
    const marked = [...document.querySelectorAll("li.off")].map(item => [Number(item.dataset.n),
      item.querySelector(".mark").textContent]);
    const k = boxes.findIndex(box => box.label === "scale");
    choose(k);
    return {marked, shown: drawn[k].textContent, kind: boxes[k].kind, notes: boxes[k].notes,
      facts: find("facts").textContent, ops: boxes.map(box => box.op).filter(Boolean),
      legend: document.querySelector(".legend").textContent};
    """
    answer = browse(program, script)
    first = program.__code__.co_firstlineno
    assert answer["marked"] == [[first + 3, "no_grad"]]
    assert answer["shown"] == "scale = 30"
    assert answer["kind"] == "constant"
    assert answer["notes"] == [f"made under no_grad, line {first + 3}"]
    assert f"made under no_grad, line {first + 3}" in answer["facts"]
    assert answer["ops"] == ["*"]
    assert "nothing of theirs is in the graph" in answer["legend"]


def test_tensors_without_a_gradient_are_boxes_with_their_numbers(browse):
    def program():
        t = engine.tensor([1.0, 2.0], requires_grad=True)
        target = engine.tensor([5.0, 7.0])
        target.label = "target"
        return ((t - target) ** 2).sum()

    script = """
    const k = boxes.findIndex(box => box.label === "target");
    choose(k);
    return [boxes[k].kind, boxes[k].data.cells, find("facts").textContent];
    """
    kind, cells, facts = browse(program, script)
    assert (kind, cells) == ("constant", [[5.0, 7.0]])
    assert "requires no grad" in facts


class Scaled(engine.Function):
    @staticmethod
    def forward(ctx, x, factor):
        ctx.save_for_backward(x)
        ctx.factor = factor
        ctx.mode = object()
        return x * factor

    @staticmethod
    @once_differentiable
    def backward(ctx, g):
        return g * ctx.factor, None


@pytest.mark.parametrize("freed", [False, True], ids=["kept", "freed by backward"])
def test_the_ctx_of_a_function_tells_what_it_saved(freed, browse, tmp_path):
    x = engine.tensor([1.0, 2.0], requires_grad=True)
    x.register_hook(lambda g: g)

    def program():
        y = Scaled.apply(x, 3.0).sum()
        if freed:
            y.backward(retain_graph=True)
        return y

    facts = browse(program, facts_of("ScaledBackward"))
    assert "ctx: saved tensor 1: float32 (2,) [1, 2]" in facts
    assert "ctx: ctx.factor = 3.0" in facts
    assert "ctx: ctx.mode = object" in facts
    assert "ctx: needs_input_grad = (True, False)" in facts
    assert "note: saved: 1" in facts
    assert "note: once_differentiable" in facts


def test_the_step_of_a_function_says_what_its_ctx_kept(browse):
    script = """
    const ctx = boxes.findIndex(box => box.op === "ScaledBackward");
    go(steps.findIndex(step => step.do === "pass" && step.box === ctx) + 1);
    return words();
    """
    (x,) = labelled(x=2.0)
    said = browse(lambda: Scaled.apply(x, 3.0) * 1.0, script)
    assert said[0].startswith("its ctx kept saved tensor 1: Value 2.0; ctx.factor = 3.0")
    assert said[1] == "to x: contribution 3"


def test_hooks_are_noted_and_what_they_make_of_a_gradient_is_said(browse):
    def program():
        (x,) = labelled(x=2.0)
        y = x * x
        y.label = "y"
        y.register_hook(lambda g: g * 10)
        x.register_hook(lambda g: g + 0.5)
        return y * 3

    script = """
    const told = {};
    for (const label of ["x", "y"]) {
      const i = boxes.findIndex(box => box.label === label);
      go(steps.findIndex(step => ["pass", "keep"].includes(step.do) && step.box === i) + 1);
      told[label] = [boxes[i].notes, words()];
    }
    return told;
    """
    answer = browse(program, script)
    notes, said = answer["y"]
    assert notes == ["1 hook"]
    assert said[0] == "its hooks make of that: 30"
    assert said[1] == "to x: 30 × 2 = 60"
    notes, said = answer["x"]
    assert notes == ["1 hook"]
    assert said == ["its hooks make of 120: 120.5", "x.grad = 120.5"]


def test_hooks_of_tensors_are_noted(browse):
    def program():
        t = engine.tensor([1.0, 2.0], requires_grad=True)
        t.label = "t"
        t.register_hook(lambda g: g * 2)
        y = t * 3
        y.register_hook(lambda g: g * 5)
        return y.sum()

    assert "note: has hooks" in browse(program, facts_of("t"))
    assert "note: has hooks" in browse(program, facts_of("MulBackward0"))


def test_a_heat_map_tells_least_mean_and_greatest_and_signs_by_marks(browse):
    t = engine.tensor([[1.0, -2.0, 0.0], [4.0, 0.5, -0.25]], requires_grad=True)
    t.label = "t"
    script = """
    choose(0);
    const map = document.querySelector(".map");
    const caption = document.querySelector("figcaption").textContent;
    if (map.getAttribute("aria-label") !== caption) return;
    return [caption, [...map.querySelectorAll("td")].map(td => td.textContent)];
    """
    caption, marks = browse(lambda: (t * 1.0).sum(), script)
    assert caption == "data, shape 2 × 3; min -2, mean 0.5417, max 4"
    assert marks == ["+", "−", "0", "+", "+", "−"]


@pytest.mark.parametrize("reduced", [True, False])
def test_nothing_moves_where_less_motion_is_wanted(reduced, browse, tmp_path):
    script = """
    key("b"); key("ArrowRight");
    const moving = getComputedStyle(document.querySelector(".flow .arrow"));
    return [moving.animationName, matchMedia("(prefers-reduced-motion: reduce)").matches];
    """
    flags = ["--force-prefers-reduced-motion"] if reduced else []
    page = explore(labelled(x=2.0)[0] * 2, tmp_path / "page.html")
    assert answer_of(page, script, *flags) == ["none" if reduced else "flow", reduced]


def test_the_keys_alone_open_a_box_and_move_a_slider(browse):
    script = """
    drawn[0].focus();
    drawn[0].dispatchEvent(press("Enter"));
    const slider = document.querySelector(".slide");
    slider.focus();
    slider.dispatchEvent(press("ArrowRight"));
    return [document.activeElement.className, at, slider.getAttribute("aria-label")];
    """
    assert browse(labelled(x=2.0)[0] * 2, script) == ["slide", 0, "Slider of x"]


def test_values_made_by_hand_stand_in_the_page(browse):
    (x,) = labelled(x=2.0)
    y = Value(4.0, (x,), (4.0,))
    y.label = "y"
    assert "operand 1: x, slope 4" in browse(y, facts_of("y"))
