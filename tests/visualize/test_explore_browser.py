"""Pages in a real browser: headless Chromium steps through them by its keys and shows the
engine's numbers."""

import re

import pytest
from visualize.browser import answer_of, needs_browser
from visualize.pages import story_of
from visualize.test_explore import Cube, loss_of_many, random_program

import engine
from engine import Value
from engine.visualize import explore

pytestmark = needs_browser


@pytest.fixture
def browse(tmp_path):
    """Opens the page of something, runs a program in it, and gives its answer and the story."""

    def run(root, program, *flags):
        path = explore(root, tmp_path / "page.html")
        return answer_of(path, program, *flags), story_of(path)

    return run


WALK = """
const seen = [];
for (let i = 0; i < steps.length; i++) {
  key("ArrowRight");
  const box = document.querySelector(".box.current");
  const lit = document.querySelector("li.lit");
  seen.push({box: Number(box.dataset.box), words: words(), lit: lit && Number(lit.dataset.n),
    texts: [...box.querySelectorAll("text")].map(text => text.textContent)});
}
const grads = boxes.map((box, i) => exact(gradientOf(i, state)[0]));
return {seen, grads, next: document.getElementById("next").disabled};
"""


def number_in(text):
    """The last number of a line of arithmetic."""
    return float(re.findall(r"-?(?:\d+\.?\d*(?:e[-+]?\d+)?|inf|nan)", text)[-1])


def test_the_arrow_key_steps_through_a_page_and_every_number_is_the_engines(browse):
    root, leaves = random_program(11)
    answer, story = browse(root, WALK)
    assert answer["next"] is True
    assert [s["box"] for s in answer["seen"]] == [s["box"] for s in story["steps"]]
    compared = 0
    for step, seen in zip(story["steps"], answer["seen"], strict=True):
        if step["do"] == "pass":
            shown = [number_in(line) for line in seen["words"]]
            assert shown == [x for part in step["given"] for x in (part["gives"], part["after"])]
            compared += len(shown)
        elif step["do"] == "make" and seen["words"]:
            assert number_in(seen["words"][0]) == story["boxes"][step["box"]]["data"]
    assert compared >= 60
    root.backward()
    for v in leaves:
        ends = [answer["grads"][i] for i, b in enumerate(story["boxes"]) if b["label"] == v.label]
        assert [float(g) for g in ends] == [v.grad] * len(ends)


def program_of_five_lines():
    a, b = Value(2.0, label="a"), Value(-3.0, label="b")
    c = a * b
    d = c + a
    return 2 * d


def test_the_current_line_is_lit_and_the_arithmetic_is_written_out(browse):
    answer, _ = browse(program_of_five_lines, WALK)
    first = program_of_five_lines.__code__.co_firstlineno
    seen = answer["seen"]
    assert [s["lit"] - first for s in seen] == [2, 2, 2, 3, 4, 4, 4, 3, 2, 2, 2]
    assert seen[2]["words"] == ["#2 = a × b = 2 × (-3) = -6"]
    assert seen[7]["words"] == [
        "to #2: 2 × 1 = 2", "   the first to arrive at #2: 2",
        "to a: 2 × 1 = 2", "   the first to arrive at a: 2",
    ]  # fmt: skip
    assert seen[8]["words"][:2] == ["to a: 2 × (-3) = -6", "   added at a: 2 + (-6) = -4"]
    assert {s["texts"][0]: s["texts"][2] for s in seen[9:]} == {"a": "grad -4", "b": "grad 4"}


def test_back_home_end_and_the_slider_show_any_step(browse):
    program = """
    const at = () => document.getElementById("count").textContent.split(" ")[0];
    const seen = [at()];
    for (const name of ["End", "ArrowLeft", "Home", "ArrowLeft", "b"]) {
      key(name);
      seen.push(at());
    }
    find("scrub").value = 3;
    find("scrub").dispatchEvent(new Event("input"));
    seen.push(at());
    location.hash = "#5";
    await wait(100);
    return [...seen, at()];
    """
    answer, _ = browse(program_of_five_lines, program)
    assert answer == ["0", "11", "10", "0", "0", "6", "3", "5"]


def test_play_goes_on_by_itself_until_it_is_paused(browse):
    program = """
    find("speed").value = "450";
    key(" ");
    await wait(1000);
    const pressed = find("play").getAttribute("aria-pressed"), reached = at;
    key(" ");
    await wait(1500);
    return [pressed, reached, at, find("play").textContent];
    """
    answer, _ = browse(program_of_five_lines, program)
    assert answer == ["true", 2, 2, "Play"]


def test_a_clicked_node_tells_everything_about_it(browse):
    program = """
    key("End");
    drawn[0].dispatchEvent(new Event("click"));
    return [...document.querySelectorAll("#facts dd")].map(item => item.textContent);
    """
    answer, _ = browse(program_of_five_lines, program)
    assert answer[:5] == ["a", "a leaf", "2", "-4", "-4"]
    assert "2 from #3 (2 × 1)" in answer
    assert "-6 from #2 (2 × (-3))" in answer


def test_a_function_and_a_tensor_are_shown_with_their_numbers(browse):
    x = engine.tensor([[1.0, -2.0], [0.0, 3.0]], requires_grad=True)
    x.label = "x"
    program = """
    key("End");
    drawn[0].dispatchEvent(press("Enter"));
    return [...document.querySelectorAll(".map")].map(map => [...map.querySelectorAll("td")].map(
      cell => cell.textContent + cell.title));
    """
    answer, _ = browse(lambda: Cube.apply(x).sum(), program)
    assert answer == [["+1", "−-2", "00", "+3"], ["+3", "+12", "00", "+27"]]


def test_the_quiz_asks_for_the_next_contribution_and_judges_the_answer(browse):
    program = """
    find("quiz").checked = true;
    key("b");
    key("ArrowRight");
    const said = find("say").textContent, before = at, verdicts = [];
    const answer = find("sums").querySelector("input");
    const check = find("sums").querySelector("button");
    for (const guess of ["", "3", "2"]) {
      answer.value = guess;
      check.click();
      verdicts.push(words()[0]);
    }
    key("ArrowRight");
    return {said, verdicts, moved: at - before, shown: words().length};
    """
    answer, _ = browse(program_of_five_lines, program)
    asks = "the gradient of #5 is 1, and #5 = 2 × #3. How much does it hand to #3?"
    assert answer["said"] == f"Quiz: {asks}"
    assert [v.split(".")[0] for v in answer["verdicts"]] == [
        "Not yet",
        "Not yet",
        "Right: 1 × 2 = 2",
    ]
    assert (answer["moved"], answer["shown"]) == (1, 2)


def test_screen_readers_hear_each_step_and_each_node(browse):
    program = """
    key("End");
    return {step: find("scrub").getAttribute("aria-valuetext"),
      live: find("live").getAttribute("aria-live"), say: find("say").textContent,
      labels: drawn.map(box => box.getAttribute("aria-label")),
      roles: [...new Set(drawn.map(box => box.getAttribute("role") + box.tabIndex))],
      unnamed: [...document.querySelectorAll("button, input, select")].filter(
        x => !(x.textContent.trim() || x.labels.length)).length};
    """
    answer, _ = browse(program_of_five_lines, program)
    assert answer["live"] == "polite"
    assert answer["step"] == "step 11 of 11"
    assert answer["say"].startswith("Backward: ")
    assert answer["labels"][0] == "a, data 2, grad -4"
    assert answer["roles"] == ["button0"]
    assert answer["unnamed"] == 0


@pytest.mark.parametrize("dark", [0, 1], ids=["dark", "light"])
def test_texts_stand_out_in_both_themes(browse, dark):
    program = """
    key("End");
    const channel = c => (c /= 255) <= 0.03928 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4;
    const light = text => { const [r, g, b] = text.match(/[\\d.]+/g).map(Number);
      return 0.2126 * channel(r) + 0.7152 * channel(g) + 0.0722 * channel(b); };
    const ratio = (a, b) => { const [low, high] = [light(a), light(b)].sort((x, y) => x - y);
      return (high + 0.05) / (low + 0.05); };
    const paper = getComputedStyle(document.body).backgroundColor;
    const found = [];
    for (const box of drawn) for (const text of box.querySelectorAll("text"))
      if (text.textContent && !box.classList.contains("unmade")) found.push(ratio(
        getComputedStyle(text).fill, getComputedStyle(box.querySelector("rect")).fill));
    for (const item of document.querySelectorAll("p, button, dt, li"))
      found.push(ratio(getComputedStyle(item).color, paper));
    return [Math.min(...found), light(paper)];
    """
    flag = f"--blink-settings=preferredColorScheme={dark}"
    (least, paper), _ = browse(program_of_five_lines, program, flag)
    assert least >= 4.5
    assert paper > 0.9 if dark else paper < 0.1


@pytest.mark.parametrize("root", [program_of_five_lines, loss_of_many], ids=["small", "large"])
def test_nothing_is_wider_than_a_phone(root, tmp_path):
    program = """
    key("End");
    choose(boxes.findIndex(box => box.kind === "leaf"));
    if (parts.length) open(parts.findIndex(part => part.nodes.length > 100));
    choose(0);
    return [document.documentElement.scrollWidth, innerWidth];
    """
    page = explore(root, tmp_path / "page.html")
    wide, inner = answer_of(page, program, phone=True)
    assert wide <= inner == 390
