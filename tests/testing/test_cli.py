"""`python -m engine check`: scripts, examples, levels, files, exit status."""

import json
import os
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

import engine
from engine.testing.cli import main
from tests.testing.library import NAME

IMPORT = "import torch" if NAME == "torch" else "import engine as torch"

SCRIPT = f"""
{IMPORT}
import sys


class Relu(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x.clamp(min=0)

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return g * (x > 0)


class Square(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return x * g


if __name__ == "__main__":
    print("arguments", sys.argv[1:])
    w = torch.randn(4, 3, requires_grad=True)
    for step in range(1000000):
        loss = Square.apply(Relu.apply(torch.randn(8, 4) @ w)).sum()
        loss.backward()
        w.grad = None
"""


@pytest.fixture
def script(tmp_path):
    path = tmp_path / "train.py"
    path.write_text(SCRIPT)
    return path


def test_script_is_run_stopped_and_each_function_in_it_checked(script, capsys):
    assert main([str(script), "--examples", "5", "--", "--lr", "3"]) == 4
    out, err = capsys.readouterr()
    assert "Relu: nothing found" in out
    assert "[wrong now] factor of `x`" in out
    assert "arguments ['--lr', '3']" in err


def test_one_function_is_checked_on_an_example(script, capsys):
    assert main([f"{script}:Square", "--example", "randn(3)", "--examples", "5"]) == 4
    assert "off by 0.5x" in capsys.readouterr().out
    assert main([f"{script}:Relu", "--example", "torch.randn(3)", "--examples", "5"]) == 0


def test_one_function_without_an_example_is_recorded_from_its_script(script, capsys):
    assert main([f"{script}:Relu", "--examples", "5"]) == 0
    out = capsys.readouterr().out
    assert "Relu: nothing found" in out
    assert "Square" not in out


def test_json_and_html_are_written(script, tmp_path, capsys):
    page, data = tmp_path / "report.html", tmp_path / "report.json"
    arguments = [f"{script}:Square", "--example", "randn(3)", "--examples", "0"]
    assert main([*arguments, "--html", str(page), "--json", str(data)]) == 4
    assert "factor" in page.read_text()
    assert json.loads(data.read_text())[0]["findings"][0]["kind"] == "factor"
    capsys.readouterr()
    assert main([*arguments, "--json"]) == 4
    assert json.loads(capsys.readouterr().out)[0]["status"] == 4


def ran(program, folder):
    """How a program ends in a fresh interpreter: its exit status and its last line."""
    path = folder / "pasted.py"
    path.write_text(program)
    environment = os.environ | {"PYTHONPATH": str(Path(engine.__file__).parents[1])}
    done = subprocess.run(
        [sys.executable, path], capture_output=True, text=True, cwd=folder, env=environment
    )
    return done.returncode, (done.stderr.splitlines() or [""])[-1]


def test_program_in_the_report_fails_when_pasted_until_the_mistake_is_gone(
    script, tmp_path, capsys
):
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    assert main([str(script), "--examples", "0", "--json"]) == 4
    reports = json.loads(capsys.readouterr().out)
    (program,) = [f["program"] for r in reports for f in r["findings"] if r["subject"] == "Square"]
    status, last = ran(program, elsewhere)
    assert status == 1
    assert last.startswith("AssertionError: the gradient of x is")
    assert ran(program.replace("return x * g", "return 2 * x * g"), elsewhere) == (0, "")


def test_program_for_a_function_of_a_file_imports_it_from_anywhere(script, tmp_path, capsys):
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    arguments = [f"{script}:Square", "--example", "randn(3)", "--examples", "0", "--json"]
    assert main(arguments) == 4
    program = json.loads(capsys.readouterr().out)[0]["findings"][0]["program"]
    assert ran(program, elsewhere)[0] == 1
    script.write_text(SCRIPT.replace("return x * g", "return 2 * x * g"))
    assert ran(program, elsewhere) == (0, "")


FOR_TORCH = """
import torch
from micrograd.engine import Value


class Square(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return 2 * x * g


class Triple(Square):
    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return 3 * x * g
"""


@pytest.mark.parametrize("name", ["layers.py", "layers"])
@pytest.mark.parametrize(("function", "status"), [("Square", 0), ("Triple", 4)])
def test_function_of_a_module_that_imports_torch_is_checked_without_torch(
    name, function, status, tmp_path
):
    (tmp_path / "layers.py").write_text(FOR_TORCH)
    command = [sys.executable, "-B", "-m", "engine", "check", f"{name}:{function}"]
    environment = os.environ | {"PYTHONPATH": str(Path(engine.__file__).parents[1])}
    done = subprocess.run(
        [*command, "--example", "randn(3)", "--examples", "5"],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        env=environment,
    )
    assert done.returncode == status, done.stdout + done.stderr
    assert function in done.stdout


def test_command_leaves_nothing_behind(script, capsys):
    before = sorted(script.parent.iterdir())
    command = [sys.executable, "-B", "-m", "engine", "check", f"{script}:Relu"]
    environment = os.environ | {"PYTHONPATH": str(Path(engine.__file__).parents[1])}
    done = subprocess.run(
        [*command, "--example", "randn(3)", "--examples", "5"],
        capture_output=True,
        text=True,
        cwd=script.parent,
        env=environment,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert sorted(script.parent.iterdir()) == before


def test_level_leaves_out_what_is_less_bad(tmp_path, capsys):
    path = tmp_path / "layer.py"
    path.write_text(
        textwrap.dedent(f"""
        {IMPORT}

        class Double(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                ctx.save_for_backward(x)
                return x * 2

            @staticmethod
            def backward(ctx, g):
                return g * 2
    """)
    )
    arguments = [f"{path}:Double", "--example", "randn(3)", "--examples", "0"]
    assert main(arguments) == 1
    assert "saved-unused" in capsys.readouterr().out
    assert main([*arguments, "--level", "second"]) == 0


@pytest.mark.parametrize(
    ("arguments", "status", "words"),
    [
        ([], 64, "target"),
        (["nowhere.py"], 70, "nowhere.py"),
        (["{script}:Nothing", "--example", "randn(3)"], 64, "has no 'Nothing'"),
        (["{script}:Rel", "--example", "randn(3)"], 64, "has no 'Rel'; did you mean 'Relu'?"),
        (["{script}:Relu", "--example", "randn(3"], 64, "--example"),
        (["{script}:Relu", "--example", "3.0"], 64, "floating tensor"),
        (["{script}", "--level", "bad"], 64, "--level"),
        (["no.such.module:F", "--example", "randn(3)"], 70, "no.such.module"),
    ],
)
def test_wrong_command_line_gets_a_sentence_and_a_status_of_its_own(
    arguments, status, words, script, capsys
):
    assert main([a.replace("{script}", str(script)) for a in arguments]) == status
    assert words in capsys.readouterr().err


def test_script_that_calls_no_function_is_told(tmp_path, capsys):
    path = tmp_path / "empty.py"
    path.write_text("print('nothing here')\n")
    assert main([str(path)]) == 70
    assert "--example" in capsys.readouterr().err


def test_script_that_fails_is_checked_as_far_as_it_came(script, capsys):
    script.write_text(SCRIPT.replace("w.grad = None", "raise OSError('disk full')"))
    assert main([str(script), "--examples", "0"]) == 4
    assert "ended with OSError: disk full" in capsys.readouterr().err


HOMEWORK = textwrap.dedent("""
        class Value:
            def __init__(self, data, parents=()):
                self.data, self.grad, self.parents = data, 0.0, parents
                self.hand_back = lambda: None

            def __add__(self, other):
                out = Value(self.data + other.data, (self, other))

                def hand_back():
                    self.grad = out.grad
                    other.grad = out.grad

                out.hand_back = hand_back
                return out

            def backward(self):
                self.grad = 1.0
                order, seen = [], set()

                def visit(v):
                    if id(v) not in seen:
                        seen.add(id(v))
                        for parent in v.parents:
                            visit(parent)
                        order.append(v)

                visit(self)
                for v in reversed(order):
                    v.hand_back()


        class Neuron:
            pass


        print("the body runs")
    """)


@pytest.fixture
def homework(tmp_path):
    path = tmp_path / "homework.py"
    path.write_text(HOMEWORK)
    return path


def test_value_class_goes_to_its_own_check(homework, capsys):
    assert main([f"{homework}:Value", "--points"]) == 4
    out = capsys.readouterr().out
    assert "assigned" in out
    assert "points:" in out


def test_body_of_a_value_class_runs_once_and_prints_beside_the_report(homework, capsys):
    assert main([f"{homework}:Value", "--json"]) == 4
    out, err = capsys.readouterr()
    assert json.loads(out)[0]["subject"] == "Value"
    assert err == "the body runs\n"


@pytest.mark.parametrize(
    ("target", "status", "words"),
    [
        ("{}", 70, "{} called no custom Function; try {}:Value"),
        ("{}:Valu", 64, "{} has no 'Valu'; did you mean 'Value'?"),
        ("{}:F", 64, "{} has no 'F'"),
        (
            "{}:Neuron",
            64,
            "{}:Neuron cannot be checked: it needs a base Function, or `backward` and `__add__` "
            "of a scalar class",
        ),
    ],
)
def test_what_is_no_function_in_a_homework_gets_a_word_on_what_is(
    target, status, words, homework, capsys
):
    assert main([target.replace("{}", str(homework))]) == status
    last = capsys.readouterr().err.splitlines()[-1]
    assert last == f"engine check: {words.replace('{}', str(homework))}"


def test_function_that_is_never_called_needs_an_example(script, capsys):
    script.write_text(SCRIPT.partition("if __name__")[0])
    assert main([f"{script}:Relu"]) == 70
    cure = f'give --example "..." with {script}:Relu'
    assert f"{script} never called Relu.apply; {cure}\n" in capsys.readouterr().err


@pytest.mark.parametrize("example", [(), ("--example", "randn(3)")], ids=str)
def test_file_that_cannot_be_read_is_told_with_the_reason(example, tmp_path, capsys):
    assert main([f"{tmp_path}/no.py:F", *example]) == 70
    said = f"engine check: cannot read '{tmp_path}/no.py': No such file or directory\n"
    assert capsys.readouterr().err == said
