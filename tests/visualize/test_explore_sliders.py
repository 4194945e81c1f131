"""Sliders in a real browser: the page computes again, and its numbers are those of a fresh run."""

import math

import pytest
from visualize.browser import answer_of, needs_browser
from visualize.pages import gradients_at_the_end
from visualize.test_explore import Cube

import engine
from engine import Value
from engine.registry import RULES
from engine.visualize import explore

pytestmark = needs_browser


@pytest.fixture
def browse(tmp_path):
    """Opens the page of something, runs a program in it, and gives its answer."""
    return lambda root, program: answer_of(explore(root, tmp_path / "page.html"), program)


# Where a rule is not defined everywhere: a factor and a summand for operands from 0.2 to 0.9.
DOMAINS = {"acosh": (1.0, 1.5)}


def every_rule(x, k):
    """A sum over every rule, of x and k; each has a factor of its own."""
    total = Value(0.0)
    for i, (name, rule) in enumerate(sorted(RULES.items())):
        factor, more = DOMAINS.get(name, (1.0, 0.0))
        operands = [x * factor + more, k] if rule.arity == 2 else [x * factor + more]
        if rule.operands[-1] == "k":
            operands[1] = 0.5
        total = total + rule(*operands) * (1.0 + i / 50)
    return total


MOVE = """
const answers = [];
for (const [name, x] of %s) {
  select(name);
  slide(x);
  key("End");
  answers.push({graph: {boxes: graph.boxes, steps: graph.steps}, why: obstacle(),
    shown: find("facts").textContent, changed: find("changes").textContent});
}
return answers;
"""


def labelled(**numbers):
    return [Value(x, label=name) for name, x in numbers.items()]


def close(found, expected):
    return found == pytest.approx(expected, rel=1e-12, abs=1e-12, nan_ok=True)


def test_every_rule_moves_as_in_a_fresh_run(browse):
    moves = [("x", 0.25), ("k", 0.7), ("x", 0.85), ("k", -0.3)]
    answers = browse(
        lambda: every_rule(*labelled(x=0.5, k=0.4)), MOVE % [list(move) for move in moves]
    )
    now = {"x": 0.5, "k": 0.4}
    for (name, number), answer in zip(moves, answers, strict=True):
        assert answer["why"] == ""
        now[name] = number
        x, k = labelled(**now)
        root = every_rule(x, k)
        root.backward()
        ends = gradients_at_the_end(answer["graph"])
        by_name = {b["label"]: i for i, b in enumerate(answer["graph"]["boxes"]) if b["label"]}
        assert close(answer["graph"]["boxes"][-1]["data"], root.data)
        assert close([ends[by_name["x"]], ends[by_name["k"]]], [x.grad, k.grad])
        assert f"{name} = {number!r}" in answer["changed"]


def test_each_rule_alone_agrees_at_numbers_of_all_sizes(tmp_path):
    points = [-750.0, -30.5, -2.0, -0.3, -0.0, 0.0, 1e-9, 0.7, 1.0, 5.9, 6.5, 40.0, 1e9]
    names = sorted(RULES)
    program = f"""
    const points = JSON.parse("{points}");
    const apply = ({{value, slopes}}, ...xs) => {{
      const given = xs.slice(0, value.length), y = value(...given);
      return [y, slopes(...given, y)].flat().map(encoded);
    }};
    const all = rule => points.map(a => points.map(b => apply(rule, a, b)));
    return Object.fromEntries(Object.keys(RULES).map(name => [name, all(RULES[name])]));
    """
    answer = answer_of(
        explore(lambda: every_rule(*labelled(x=0.5, k=0.4)), tmp_path / "page.html"), program
    )
    assert sorted(answer) == names
    compared = 0
    for name in names:
        for i, a in enumerate(points):
            for j, b in enumerate(points):
                rule = RULES[name]
                operands = [a, b][: rule.arity]
                y = float(rule.value(*operands))
                expected = [y, *rule.slopes(*operands, y)]
                found = [float(x) for x in answer[name][i][j]]
                # Far from 0 sin, cos and tan lose digits in the C library and the browser alike.
                far = name in ("sin", "cos", "tan") and abs(a) > 100
                assert far or found == pytest.approx(expected, rel=2e-11, abs=1e-14, nan_ok=True), (
                    name, operands, found, expected,
                )  # fmt: skip
                compared += 1
    assert compared > 5000


def test_the_words_of_the_page_follow_the_slider(browse):
    def program():
        a, b = labelled(a=2.0, b=-3.0)
        return (a * b + a).tanh() * 2

    script = """
    key("b");
    key("ArrowRight");
    select("a");
    slide(0.5);
    const before = at, said = words();
    const texts = [...drawn[0].querySelectorAll("text")].map(text => text.textContent);
    find("reset").click();
    return {moved: at - before, said, texts, after: words(), hidden: find("changed").hidden,
      back: graph === given, sliders: document.querySelectorAll(".slide").length};
    """
    answer = browse(program, script)
    assert answer["moved"] == 0
    assert answer["said"][0] == "to #4: 1 × 2 = 2"
    assert answer["texts"][1] == "data 0.5"
    assert answer["hidden"] is True
    assert answer["back"] is True
    assert answer["sliders"] == 1


def test_a_number_may_be_typed_beside_the_slider(browse):
    script = """
    select("a");
    const field = document.querySelector(".slider input[type=text]");
    field.value = "-1.25";
    field.dispatchEvent(new Event("change"));
    const moved = graph.boxes.at(-1).data;
    field.value = "text";
    field.dispatchEvent(new Event("change"));
    return [moved, graph.boxes.at(-1).data];
    """
    (a,) = labelled(a=2.0)
    assert browse(a * a, script) == [1.5625, 1.5625]


def tensors(w, b, v):
    """Products, broadcasting, sums along dimensions: of double Tensors and a Value."""
    x = engine.tensor([[0.5, -1.0, 2.0], [1.5, 0.25, -0.75]], dtype=engine.float64)
    h = (x @ w + b).tanh() * v
    h = h + engine.nn.functional.linear(x, w.t(), b).unsqueeze(0).view(2, 2) * 0.3
    several = engine.stack([v, v * v])
    return (
        (h.sum(0) * h.mean(1, keepdim=True)).sum()
        + (w.exp() / 7.0).mean()
        + (b.clone() * several).sum()
        + (x @ w @ b).sum() * (b @ several)
    )


def leaves_of_tensors(numbers):
    def made(x, name):
        t = engine.tensor(x, dtype=engine.float64, requires_grad=True)
        t.label = name
        return t

    return made(numbers[0], "w"), made(numbers[1], "b"), Value(numbers[2], label="v")


def test_tensors_move_as_in_a_fresh_run(browse):
    numbers = [[[0.1, -0.2], [0.3, 0.4], [-0.5, 0.6]], [0.05, -0.15], 1.5]
    script = """
    select("w");
    if (obstacle()) return {why: obstacle()};
    slide(0.9, 3);
    select("b"); slide(-0.35, 0);
    select("v"); slide(-2.5);
    return {why: obstacle(), graph: {boxes: graph.boxes, steps: graph.steps}};
    """
    answer = browse(lambda: tensors(*leaves_of_tensors(numbers)), script)
    assert answer["why"] == ""
    numbers[0][1][1], numbers[1][0], numbers[2] = 0.9, -0.35, -2.5
    w, b, v = leaves_of_tensors(numbers)
    root = tensors(w, b, v)
    root.backward()
    ends = gradients_at_the_end(answer["graph"])
    by_name = {box["label"]: i for i, box in enumerate(answer["graph"]["boxes"]) if box["label"]}
    assert close(answer["graph"]["boxes"][-1]["data"], root.item())
    assert close(
        [x for row in ends[by_name["w"]]["cells"] for x in row], w.grad.reshape(-1).tolist()
    )
    assert close(ends[by_name["b"]]["cells"][0], b.grad.tolist())
    assert close(ends[by_name["v"]], v.grad)


def test_single_precision_moves_within_its_own_rounding(browse):
    def program(c):
        x = engine.tensor([0.3, c, -0.7], requires_grad=True)
        x.label = "x"
        return x, (x.sigmoid() * x).sum()

    script = "select('x'); slide(1.75, 1); return {boxes: graph.boxes, steps: graph.steps};"
    answer = browse(lambda: program(0.5)[1], script)
    x, root = program(1.75)
    root.backward()
    assert answer["boxes"][-1]["data"] == pytest.approx(root.item(), rel=1e-6)
    assert gradients_at_the_end(answer)[0]["cells"][0] == pytest.approx(x.grad.tolist(), rel=1e-6)


def hooked():
    (x,) = labelled(x=2.0)
    x.register_hook(lambda g: g * 10)
    return x * x


def by_hand():
    (x,) = labelled(x=2.0)
    return Value(4.0, (x,), (4.0,))


REFUSED = {
    "CubeBackward": lambda: Cube.apply(labelled(x=2.0)[0]) * 1.0,
    "hooks": hooked,
    "made by hand": by_hand,
    "SoftmaxBackward0": lambda: (
        engine.tensor([1.0, 2.0], requires_grad=True).softmax(0) ** 2
    ).sum(),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_the_page_cannot_compute_is_said_where_the_slider_would_be(name, browse):
    script = """
    choose(boxes.findIndex(box => box.kind === "leaf"));
    return [document.querySelectorAll(".slide").length, find("tools").textContent];
    """
    sliders, said = browse(REFUSED[name], script)
    assert sliders == 0
    assert said.startswith("No slider here: the page has no arithmetic for")
    assert name in said


def test_a_graph_whose_numbers_were_changed_is_not_computed_again(browse):
    (x,) = labelled(x=2.0)
    y = x * x
    x.data = 3.0
    script = "choose(0); return find('tools').textContent;"
    said = browse(y, script)
    assert said == (
        "No slider here: the page's own arithmetic does not give the engine's number at #1."
    )


def bump_of_page(a):
    return engine.exp(-a * a)


def bump_of_page_slope(a, y):
    return -2.0 * a * y


@pytest.fixture
def bump():
    """A rule of a program's own."""
    rule = engine.rule(bump_of_page)
    rule.slope(bump_of_page_slope)
    return rule


def test_a_rule_of_the_programs_own_moves_too(browse, bump):
    (x,) = labelled(x=0.5)
    script = "select('x'); slide(0.3); return {boxes: graph.boxes, steps: graph.steps};"
    answer = browse(bump(x) * 2, script)
    assert close(answer["boxes"][1]["data"], math.exp(-0.09))
    assert close(gradients_at_the_end(answer)[0], 2 * -2.0 * 0.3 * math.exp(-0.09))


def test_a_slider_moves_a_graph_of_thousands_of_nodes(browse):
    def program(w):
        (w,) = labelled(w=w)
        total = Value(0.0)
        for i in range(400):
            total = total + (w * (i / 400)).tanh() * 0.5
        return w, total

    script = """
    find("seek").value = "w";
    find("seek").dispatchEvent(new Event("change"));
    slide(-0.6);
    return {boxes: graph.boxes, steps: graph.steps};
    """
    answer = browse(lambda: program(1.5)[1], script)
    w, root = program(-0.6)
    root.backward()
    assert close(answer["boxes"][-1]["data"], root.data)
    i = next(i for i, box in enumerate(answer["boxes"]) if box["label"] == "w")
    assert close(gradients_at_the_end(answer)[i], w.grad)
