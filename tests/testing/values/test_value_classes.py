"""The checker of scalar classes: wrong ones are found and explained, right ones are left alone."""

import contextlib
import importlib.util
import io
import json
import re
from functools import cache
from pathlib import Path

import pytest

import engine
from engine.testing.report import Finding, Level, Report
from engine.testing.value_class import check_value_class, grade, looks_like_value_class
from engine.testing.value_class_programs import BINARY, UNARY, Form, Program, Step, shrunk
from engine.testing.value_class_subject import Subject, raised

HERE = Path(__file__).parent
WRONG = sorted(path.stem for path in (HERE / "wrong").glob("*.py"))
RIGHT = sorted(path.stem for path in (HERE / "right").glob("*.py"))
ADD, MUL = Form(BINARY[0], "vv"), Form(BINARY[1], "vv")


def load(folder, name):
    """The homework of this name, as a module."""
    path = HERE / folder / f"{name}.py"
    spec = importlib.util.spec_from_file_location("homework", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@cache
def report_on(name):
    """A wrong class's module and its report."""
    module = load("wrong", name)
    return module, check_value_class(class_of(module))


def class_of(module):
    return getattr(module, "Value", None) or module.Scalar


def made_of(source):
    """The class Value of a text."""
    names = {}
    exec(source, names)
    return names["Value"]


# --- wrong ones ---


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_class_is_found_with_the_right_explanation(name):
    module, report = report_on(name)
    kind, argument, words = module.EXPECTED
    found = [f for f in report.findings if (f.kind, f.argument) == (kind, argument)]
    assert len(found) == 1, str(report)
    assert words in found[0].message
    assert len(report.findings) <= 2, str(report)


@pytest.mark.parametrize("name", WRONG)
def test_the_program_of_a_finding_can_be_pasted_and_shows_what_it_says(name):
    module, report = report_on(name)
    for finding in report.findings:
        if finding.program and finding.kind != "paths":
            got = re.findall(r"# (.*); right: |  # raises (\w+)", finding.program)
            assert got and pasted(finding.program, module) == [x or y for x, y in got]


def pasted(program, module):
    """The lines that a program prints, and the type of the exception that ends it."""
    said, ended = io.StringIO(), []
    with contextlib.redirect_stdout(said):
        try:
            exec(program, dict(vars(module)))
        except Exception as error:
            ended = [type(error).__name__]
    return said.getvalue().splitlines() + ended


def test_the_program_of_two_backwards_is_small_and_prints_what_is_right():
    _, report = report_on("inner_added_up")
    assert report.findings[0].program == """\
a = Value(1.5)
b = a + 0.5
c = (-1.0) + b
c.backward()
c.backward()
print(a.grad)  # 3.0; right: 2.0"""


def test_an_exception_is_told_in_one_line_of_a_program():
    assert raised(ValueError("no\nmore")) == "# raises ValueError: no"
    assert raised(ValueError()) == "# raises ValueError"


def test_the_program_of_many_paths_counts_the_calls():
    _, report = report_on("exponential")
    last = report.findings[0].program.splitlines()[-1]
    assert re.fullmatch(r"a.backward\(\)  # [\d,]+ calls; [\d,]+ for 6 doublings", last)


ONE_CAUSE = """
    assigned_everywhere assigned_in_add assigned_in_mul assigned_in_tanh breadth_first
    constant_without_slope incoming_forgotten_everywhere mul_swapped not_reversed one_level_only
    second_operand_cut
""".split()


@pytest.mark.parametrize("name", ONE_CAUSE)
def test_one_cause_has_one_finding(name):
    _, report = report_on(name)
    assert len(report.findings) == 1, str(report)


SHUFFLED = """
    assigned_everywhere assigned_in_mul breadth_first breadth_first_on_every_path
    depth_first_as_met
""".split()


def shuffled(name, seed):
    """The class of a homework, its parents in an order that changes as that of a set may."""
    source = (HERE / "wrong" / f"{name}.py").read_text()
    drawn = r"self.parents = random.sample(list(\1), len(\1))"
    source = re.sub(r"self.parents = (.*)", drawn, source)
    return made_of(f"from random import Random\nrandom = Random({seed})\n{source}")


@pytest.mark.parametrize("name", SHUFFLED)
def test_the_report_is_the_same_whatever_the_order_of_the_parents_in_a_set(name):
    said = {str(check_value_class(shuffled(name, seed), programs=60)) for seed in range(3)}
    assert len(said) == 1, "\n".join(said)


def test_gradients_that_follow_the_order_of_a_set_are_not_steady():
    add, mul = ADD.operation, MUL.operation
    program = Program((2.0, 3.0), (Step(mul, (0, 1)), Step(add, (0, 1)), Step(add, (2, 3))))
    for cls, steady in ((engine.Value, True), (shuffled("assigned_in_mul", 0), False)):
        subject = Subject(cls)
        assert subject.steady(program, subject.outcome(program)) is steady


def test_there_are_as_many_wrong_and_right_classes_as_promised():
    assert len(WRONG) >= 15
    assert len(RIGHT) >= 5


# --- right ones ---


@pytest.mark.parametrize("name", RIGHT)
def test_a_right_class_raises_no_alarm_whatever_the_seed(name):
    cls = class_of(load("right", name))
    for seed in range(5):
        report = check_value_class(cls, seed=seed, programs=40)
        assert report, str(report)


def test_engines_own_class_and_a_subclass_of_it_are_right():
    class Mine(engine.Value):
        pass

    for cls in (engine.Value, Mine):
        report = check_value_class(cls)
        assert report, str(report)
        assert "a.tanh()" in report.notes[0]


def test_what_a_class_does_not_offer_is_not_asked_of_it():
    report = check_value_class(class_of(load("right", "one_operation")))
    assert report.notes == ["checked: a + b, a + 2, 2 + a"]


# --- mutants ---

CHANGES = [("+= ", "= "), ("+= ", "-= "), (" * ", " + "), (" - ", " + "), ("other", "self")]
CHANGES += [(".data", ".grad"), ("reversed(order)", "order"), ("**", "*"), ("> 0", "< 0")]
CHANGES += [("(self, other)", "(self,)"), (" * out.grad", ""), ("-1.0", "1.0"), ("1.0", "0.5")]


def mutants():
    """The right class in micrograd's style with one change in one line, each a mistake."""
    lines = (HERE / "right" / "micrograd_style.py").read_text().splitlines()
    for i, line in enumerate(lines):
        for old, new in CHANGES if line.startswith("        ") else ():
            if old in line and "isinstance" not in line:
                changed = line.replace(old, new, 1)
                text = "\n".join([*lines[:i], changed, *lines[i + 1 :]])
                yield pytest.param(text, id=f"{i + 1}: {changed.strip()}")


@pytest.mark.parametrize("source", list(mutants()))
def test_a_class_with_one_wrong_line_is_found(source):
    assert not check_value_class(made_of(source), programs=30, size=4)


# --- grading ---


def test_a_grade_is_what_is_left_after_the_points_of_the_findings():
    report = Report(
        "Value",
        [
            Finding(Level.NOW, "sign", "a - b", ""),
            Finding(Level.SHAPES, "recursion", "backward", ""),
            Finding(Level.WASTEFUL, "paths", "backward", ""),
        ],
    )
    assert grade(Report("Value")) == 100.0
    assert grade(report) == 100.0 - 20.0 - 10.0 - 5.0
    assert grade(report, {"sign": 7.5, Level.SHAPES: 1.0}) == 100.0 - 7.5 - 1.0
    assert grade(report, {Level.NOW: 8.0}, full=10.0) == 2.0
    assert grade(report, {Level.NOW: 80.0}, full=10.0) == 0.0


def test_a_report_on_a_homework_has_a_status_and_json():
    _, report = report_on("no_radd")
    content = json.loads(report.json())
    assert (report.status, content["subject"]) == (Level.NOW, "Value")
    assert content["findings"][0]["kind"] == "reflected"
    assert not report


def test_a_finding_on_a_scalar_class_speaks_of_programs_where_others_speak_of_shapes():
    _, report = report_on("relu_one_at_zero")
    assert str(report.findings[0]).startswith("[wrong in other programs] relu at 0 of")
    assert report.as_dict()["findings"][0]["level"] == "wrong in other programs"
    assert "<b>wrong in other programs</b> relu at 0" in report.html()
    assert [f.label for f in report_on("no_radd")[1].findings] == ["wrong now"]


def test_micrograd_as_published_has_nothing_wrong_now():
    _, report = report_on("inner_added_up")
    assert report.at_least(Level.NOW)
    assert [f.kind for f in report.findings] == ["inner"]


def test_a_value_class_is_told_from_other_things():
    assert looks_like_value_class(engine.Value)
    assert looks_like_value_class(class_of(load("right", "counts_of_uses")))
    assert not looks_like_value_class(engine.Function)
    assert not looks_like_value_class(int)
    assert not looks_like_value_class(check_value_class)


# --- classes of which nothing can be checked ---


@pytest.mark.parametrize(
    ("body", "kind", "words"),
    [
        ("def __init__(self, a, b): pass", "raises", "missing 1 required positional argument"),
        ("def __init__(self, x): self.x = x", "raises", "needs an attribute for its number"),
        ("def __init__(self, x): self.data = x", "raises", "needs an attribute for its gradient"),
        ("def __init__(self, x): self.data, self.grad = x, 0", "raises", "has no attribute 'back"),
        (
            "def __init__(self, x): self.data, self.grad = int(x), 0\n    backward = lambda s: 0",
            "number",
            "must keep the number that it is given",
        ),
        (
            "def __init__(self, x): self.data, self.grad = x, 1.0\n    backward = lambda s: 0",
            "start",
            "gradient of 1.0 before any backward",
        ),
    ],
    ids=["two arguments", "no number", "no gradient", "no backward", "integers", "starts at 1"],
)
def test_a_class_that_cannot_be_checked_gets_one_finding(body, kind, words):
    (finding,) = check_value_class(made_of(f"class Value:\n    {body}")).findings
    assert (finding.kind, finding.level) == (kind, Level.NOW)
    assert words in finding.message


# --- programs ---


def test_a_program_runs_on_any_class_and_prints_as_python():
    program = Program((2.0, -3.0), (Step(MUL.operation, (0, 1)), Step(ADD.operation, (2, -0.5))))
    assert [v.data for v in program.run(engine.Value)] == [2.0, -3.0, -6.0, -6.5]
    text = program.source("Value", "d.backward()")
    assert text == "a = Value(2.0)\nb = Value(-3.0)\nc = a * b\nd = c + (-0.5)\nd.backward()"


def test_a_program_is_pruned_to_what_its_last_value_needs():
    tanh = next(operation for operation in UNARY if operation.name == "tanh")
    steps = Step(tanh, (1,)), Step(ADD.operation, (0, 0)), Step(MUL.operation, (3, 3))
    assert Program((2.0, 3.0), steps).pruned() == Program(
        (2.0,), (Step(ADD.operation, (0, 0)), Step(MUL.operation, (1, 1)))
    )


def test_a_program_shrinks_to_the_smallest_that_still_fails():
    steps = tuple(Step(ADD.operation, (i, i)) for i in range(5))
    smallest = shrunk(Program((2.0,), (*steps, Step(MUL.operation, (5, 0)))), lambda p: any(
        step.operation.name == "mul" for step in p.steps
    ))
    assert smallest == Program((2.0,), (Step(MUL.operation, (0, 0)),))
