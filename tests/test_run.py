"""`python -m engine run`: other people's scripts as they stand print what they print without it."""

import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
SCRIPTS = Path(__file__).parent / "scripts"
VALUE = """class Value:
    def __init__(self, data, _children=(), _op=''):
        self.data = data
    def __add__(self, other): return Value(self.data + other.data)
    def __mul__(self, other): return Value(self.data * other.data)
    def backward(self): pass
"""


def python(*arguments, cwd=ROOT, **variables):
    """A fresh interpreter that finds `engine` from any folder."""
    environment = os.environ | {"PYTHONPATH": str(ROOT), "PYTHONDONTWRITEBYTECODE": "1"} | variables
    command = [sys.executable, *map(str, arguments)]
    return subprocess.run(command, env=environment, cwd=cwd, capture_output=True, encoding="utf-8")


def run(*arguments, **options):
    return python("-m", "engine", "run", *arguments, **options)


@pytest.fixture
def script(tmp_path):
    """Writes a script, runs it under `engine run`, and gives what came of it."""

    def write_and_run(text, *arguments, **options):
        path = tmp_path / "script.py"
        path.write_text(text, encoding="utf-8")
        return run(path, *arguments, **options)

    return write_and_run


def output(done):
    assert done.returncode == 0, done.stderr
    return done.stdout


def numbers(text):
    return [float(number) for number in re.findall(r"-?\d+\.\d+", text)]


def test_a_gpt_on_a_value_of_its_own_prints_the_same_losses_on_engine():
    alone, ours = (
        python(SCRIPTS / "own_value_gpt.py"),
        run(SCRIPTS / "own_value_gpt.py"),
    )
    assert len(numbers(output(alone))) == 7
    assert numbers(output(ours)) == pytest.approx(numbers(output(alone)), abs=2e-9)
    assert "class Value (own_value_gpt.py, line 14) is replaced by engine.Value" in ours.stderr


def test_a_tutorial_on_custom_functions_prints_what_it_prints_on_torch():
    done = run(SCRIPTS / "torch_tutorial.py")
    # by PyTorch 2.13 on the same script
    assert numbers(output(done)) == pytest.approx(
        [4.00398, 0.77797, 0.56796, 0.48728, 0.681529], abs=2e-5
    )
    assert "True" in done.stdout
    assert "engine run: `torch` is engine" in done.stderr


def test_a_demo_of_micrograd_prints_what_it_prints_on_micrograd():
    done = run(SCRIPTS / "micrograd_demo.py")
    # by micrograd 0.1.0 on the same script
    losses = [1.193510493, 1.030619517, 0.944254600, 0.874941023, 0.816209350]
    losses += [0.763589161, 0.713342134, 0.663522814, 0.618095545, 0.574513774]
    assert numbers(output(done)) == pytest.approx(losses, abs=2e-9)
    assert done.stdout.startswith("37 parameters\n")
    assert "engine run: `micrograd` is engine" in done.stderr


IMPORTS = [
    "import torch",
    "import torch.nn as nn, torch.optim as optim",
    "import torch.nn.functional as F; F.relu",
    "import torch; torch.nn.functional.relu; torch.optim.SGD; torch.autograd.Function",
    "from torch import nn, optim, tensor",
    "from torch.nn import functional as F, Module",
    "from torch.autograd import Variable, Function, gradcheck, grad",
    "import torch; assert torch.autograd.torch is torch",
    "from torch.autograd.function import once_differentiable",
    "import torch.utils.data",
    "from torch import *; randn(2)",
    "from micrograd import engine, nn; engine.Value, nn.MLP",
    "import micrograd.engine; micrograd.engine.Value",
    "from micrograd.nn import Neuron, Layer, MLP",
]
# Runs each line by itself, and prints the line with what it raised.
EACH = """
for line in {!r}:
    try:
        exec(line, {{}})
    except Exception as error:
        print(line, type(error).__name__, error, sep=" | ")
"""


def test_import_lines_are_answered(script):
    assert output(script(EACH.format(IMPORTS))) == ""


def test_the_answers_are_the_names_of_engine(script):
    text = """
import engine, torch, torch.nn as nn, micrograd.engine
assert torch.nn is nn and torch.nn.functional is nn.functional
assert torch.Tensor is engine.Tensor and nn.Module is engine.nn.Module
assert micrograd.engine.Value is engine.Value
assert "Tensor" in dir(torch)
"""
    output(script(text))


def test_the_answers_come_first_where_the_real_ones_are_installed(script, tmp_path):
    for package in ("torch", "micrograd"):
        (tmp_path / package).mkdir()
        (tmp_path / package / "__init__.py").write_text("raise SystemExit('the real one')")
    output(script("import torch, micrograd.engine; torch.tensor, micrograd.engine.Value"))


def test_modules_beside_the_script_are_answered_too(script, tmp_path):
    (tmp_path / "model.py").write_text("import torch\nkind = torch.Tensor\n")
    assert "engine" in output(script("import model; print(model.kind.__module__)"))


REFUSED = {
    "import torch.nonesuch": "torch.nonesuch",
    "from torch import nonesuch": "torch.nonesuch",
    "from torch.nn import Nonesuch": "torch.nn.Nonesuch",
    "from torch.nonesuch.inner import x": "torch.nonesuch",
    "from micrograd.engine import Nonesuch": "micrograd.engine.Nonesuch",
    "import micrograd.nonesuch": "micrograd.nonesuch",
    "import torch; torch.nonesuch": "torch.nonesuch",
    "import torch; torch.nn.Nonesuch": "torch.nn.Nonesuch",
    "import torch; torch.utils.nonesuch": "torch.utils.nonesuch",
}


def test_what_engine_lacks_is_refused_by_name(script):
    said = output(script(EACH.format(list(REFUSED)))).splitlines()
    for (line, name), refusal in zip(REFUSED.items(), said, strict=True):
        kind = "AttributeError" if ";" in line else "ModuleNotFoundError"
        start = f"{line} | {kind} | {name} is not in engine "
        assert refusal.startswith(start)
        assert refusal.endswith(f"which answers for {name.partition('.')[0]} here")


def test_what_engine_lacks_can_be_asked_for_and_caught(script):
    text = """
import torch
assert not hasattr(torch, "nonesuch")
try:
    import torch.nonesuch
except ImportError:
    print("caught")
"""
    assert output(script(text)) == "caught\n"


def test_the_script_sees_what_python_would_show_it(tmp_path):
    path = tmp_path / "a folder, ünique" / "script.py"
    path.parent.mkdir()
    path.write_text(
        '"""Its text."""\nimport sys\n'
        "print(sys.argv, __name__, __file__, __doc__, sys.path[0])\n"
        "print(sys.modules['__main__'].__file__, __package__, sorted(globals())[:2])\n"
    )
    arguments = ["script.py", "one", "--help", "-x"]
    alone = python(*arguments, cwd=path.parent, PYTHONIOENCODING="utf-8")
    ours = run(*arguments, cwd=path.parent, PYTHONIOENCODING="utf-8")
    assert output(ours).splitlines()[0] == output(alone).splitlines()[0]
    assert ours.stdout.splitlines()[1].split()[:-2] == alone.stdout.splitlines()[1].split()[:-2]


def test_a_traceback_is_that_of_the_script_alone(tmp_path):
    path = tmp_path / "script.py"
    path.write_text(VALUE + "\n\ndef fail():\n    return 1 / 0\n\n\nfail()\n")
    alone, ours = python(path), run(path)
    assert (ours.returncode, alone.returncode) == (1, 1)
    assert ours.stderr.splitlines()[1:] == alone.stderr.splitlines()
    assert 'script.py", line 13, in <module>' in ours.stderr


def test_a_syntax_error_is_that_of_the_script_alone(tmp_path):
    path = tmp_path / "script.py"
    path.write_text("x = 1\ny = (\n")
    alone, ours = python(path), run(path)
    assert (ours.returncode, ours.stderr) == (1, alone.stderr)


@pytest.mark.parametrize(
    ("ending", "status"),
    [
        ("", 0),
        ("import sys; sys.exit()", 0),
        ("raise SystemExit(7)", 7),
        ("raise SystemExit('sorry')", 1),
        ("raise KeyError", 1),
        ("raise KeyboardInterrupt", -signal.SIGINT),
    ],
)
def test_the_exit_status_is_the_scripts(tmp_path, ending, status):
    path = tmp_path / "script.py"
    path.write_text(ending)
    alone, ours = python(path), run(path)
    assert (ours.returncode, alone.returncode) == (status, status)
    assert ours.stderr == alone.stderr


def test_a_local_file_engine_py_is_passed_over_with_python_p(tmp_path):
    (tmp_path / "engine.py").write_text("raise SystemExit('a clone of micrograd')")
    (tmp_path / "beside.py").write_text("from engine import Value\n")
    (tmp_path / "script.py").write_text("from beside import Value\nprint(Value(2.0).data)\n")
    assert python("-m", "engine", "run", "script.py", cwd=tmp_path).returncode == 1
    assert output(python("-P", "-m", "engine", "run", "script.py", cwd=tmp_path)) == "2.0\n"


def test_a_file_that_cannot_be_opened_is_one_line_and_status_2(tmp_path):
    done = run(tmp_path / "none.py")
    assert done.returncode == 2
    assert done.stderr == (
        f"engine run: cannot open {str(tmp_path / 'none.py')!r}: No such file or directory\n"
    )


@pytest.mark.parametrize("arguments", [(), ("run",), ("run", "--fast")], ids=str)
def test_a_wrong_command_line_shows_the_usage(arguments):
    done = python("-m", "engine", *arguments)
    assert done.returncode == 2
    assert done.stdout == ""
    assert done.stderr.startswith("usage: python -m engine info\n")


def test_an_unknown_command_is_named_before_the_usage():
    done = python("-m", "engine", "walk", "script.py")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("unknown command walk\nusage: python -m engine info\n")


@pytest.mark.parametrize("arguments", [("--help",), ("-h",), ("run", "--help")], ids=str)
def test_help_explains_every_command(arguments):
    said = output(python("-m", "engine", *arguments))
    assert said.startswith("usage: python -m engine info\n")
    for line in (
        "info     which build",
        "run      runs a script",
        "explore  runs it so",
        "check    ",
    ):
        assert f"\n{line}" in said


def test_an_encoding_is_read_from_the_script(tmp_path):
    path = tmp_path / "script.py"
    path.write_bytes("# -*- coding: latin-1 -*-\nprint(ascii('ü'))\n".encode("latin-1"))
    assert output(run(path)) == "'\\xfc'\n"


SHOW = "\nprint(Value.__module__)\n"


def replaced(done):
    return "__main__" not in output(done)


def test_a_scalar_value_is_replaced_wherever_it_stands(script):
    indented = "if True:\n" + "".join(f"    {line}\n" for line in VALUE.splitlines())
    for text in (VALUE, indented, VALUE.replace("Value:", "Value(object):")):
        assert replaced(script(text + SHOW))


def test_methods_by_assignment_count(script):
    assert replaced(script(VALUE + "    __radd__ = __add__\n    __rmul__ = __mul__\n" + SHOW))


def test_a_method_that_engine_lacks_is_kept(script):
    text = """
    def cube(self):
        out = Value(self.data**3, (self,), "cube")

        def push():
            self.grad += 3 * self.data**2 * out.grad

        out._backward = push
        return out

v = Value(2.0)
(v.cube() * 5).backward()
print(v.grad, Value.__module__)
"""
    done = script(VALUE + text)
    assert output(done).split()[0] == "60.0"
    assert replaced(done)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (VALUE + "    @property\n    def fancy(self): pass\n", "engine.Value has no fancy"),
        (VALUE + "    count = 0\n", "engine.Value has no count"),
        (VALUE + "    def __matmul__(self, other): pass\n", "engine.Value has no __matmul__"),
        (VALUE.replace("= data", "= np.array(data)"), "it holds arrays (`.array`)"),
        (VALUE + "if 0: Value(1.0, name='w')\n", "engine.Value takes no name"),
        ("class Base: pass\n" + VALUE.replace("Value:", "Value(Base):"), "or a base class"),
    ],
    ids=lambda text: text[-30:],
)
def test_a_value_that_engine_cannot_stand_for_stays_and_the_reason_is_said(script, text, reason):
    done = script(text + SHOW)
    assert not replaced(done)
    assert "stays as it is" in done.stderr
    assert reason in done.stderr


@pytest.mark.parametrize(
    "text",
    [
        "class Value:\n    pass\n",
        VALUE.replace("backward", "forward"),
        VALUE.replace("Value:", "Number:") + "Value = Number\n",
    ],
    ids=["empty", "no backward", "another name"],
)
def test_a_class_that_is_no_scalar_autograd_is_left_alone(script, text):
    done = script(text + SHOW)
    assert not replaced(done)
    assert done.stderr == ""
