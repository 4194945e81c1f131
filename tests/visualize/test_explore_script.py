"""`python -m engine explore script.py`: other people's scripts as they stand become pages."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from visualize.pages import gradients_at_the_end, story_of

ROOT = Path(__file__).parents[2]
MICROGRAD = """from micrograd.engine import Value
a = Value(-4.0)
b = Value(2.0)
c = a + b
d = a * b + b**3
c += c + 1
c += 1 + c + (-a)
d += d * 2 + (b + a).relu()
d += 3 * d + (b - a).relu()
e = c - d
f = e**2
g = f / 2.0
g += 10.0 / f
g.backward()
print(a.grad, b.grad)
"""
OWN = """class Value:
    def __init__(self, data, _children=(), _op=''):
        self.data = data
        self.grad = 0
    def __add__(self, other): return Value(self.data + other.data)
    def __mul__(self, other): return Value(self.data * other.data)
    def backward(self): pass

x = Value(3.0)
w = Value(0.5)
for step in range(3):
    w.grad = 0
    loss = (x * w + x) * w
    loss.backward()
    print(w.data, w.grad)
    w.data -= 0.01 * w.grad
"""
TORCH = """import torch
class Double(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * 2
    @staticmethod
    def backward(ctx, g):
        return g * 2

x = torch.tensor([1.0, 2.0], requires_grad=True)
loss = Double.apply(x).sum()
loss.backward()
"""


def explore(*arguments, cwd, **variables):
    environment = os.environ | {"PYTHONPATH": str(ROOT), "PYTHONDONTWRITEBYTECODE": "1"}
    environment |= variables
    command = [sys.executable, "-m", "engine", "explore", *map(str, arguments)]
    return subprocess.run(command, env=environment, cwd=cwd, capture_output=True, encoding="utf-8")


@pytest.fixture
def explored(tmp_path):
    """Explores a script; gives what came of it, and the page's data if there is a page."""

    def write_and_explore(text, *arguments):
        (tmp_path / "script.py").write_text(text, encoding="utf-8")
        done = explore("script.py", *arguments, cwd=tmp_path)
        page = tmp_path / "script.html"
        return done, story_of(page) if page.exists() else None

    return write_and_explore


def by_name(story):
    return {b["label"]: i for i, b in enumerate(story["boxes"]) if b["label"]}


def test_a_script_for_micrograd_becomes_a_page_beside_it(explored):
    done, story = explored(MICROGRAD)
    assert done.returncode == 0, done.stderr
    a, b = map(float, done.stdout.split())
    ends, names = gradients_at_the_end(story), by_name(story)
    assert (ends[names["a"]], ends[names["b"]]) == (a, b)
    assert story["sources"][0]["lines"] == MICROGRAD.splitlines()
    assert "`micrograd` is engine" in done.stderr
    assert "The one backward pass of script.py" in story["remark"]


def test_the_lit_lines_are_those_that_made_the_nodes(explored):
    _, story = explored(MICROGRAD)
    names = by_name(story)
    assert {name: story["boxes"][names[name]]["at"][1] for name in "cdefg"} == {
        "c": 7, "d": 9, "e": 10, "f": 11, "g": 13,
    }  # fmt: skip


def test_a_value_class_of_the_scripts_own_is_replaced_and_the_last_backward_shown(explored):
    done, story = explored(OWN)
    assert "class Value (script.py, line 1) is replaced by engine.Value" in done.stderr
    assert "The last of 3 backward passes" in story["remark"]
    data, grad = map(float, done.stdout.splitlines()[-1].split())
    names = by_name(story)
    assert story["boxes"][names["w"]]["data"] == data
    assert gradients_at_the_end(story)[names["w"]] == grad


def test_a_script_for_torch_shows_its_function_and_its_tensors(explored):
    done, story = explored(TORCH)
    assert done.returncode == 0, done.stderr
    assert "DoubleBackward" in [b["op"] for b in story["boxes"]]
    assert gradients_at_the_end(story)[by_name(story)["x"]]["text"] == "[2, 2]"


def test_a_script_that_calls_no_backward_is_shown_from_its_last_result(explored):
    done, story = explored("from engine import Value\nx = Value(2.0)\ny = x * x\n")
    assert "script.py calls no backward(); this is that of its last result" in done.stderr
    assert gradients_at_the_end(story)[by_name(story)["x"]] == 4.0


LAYERS = """import random
from micrograd.nn import MLP
from micrograd.engine import Value
random.seed(0)
model = MLP(2, [4, 4, 1])
loss = sum((1 - model([Value(i / 5), Value(0.5)])).relu() for i in range(20)) / 20
loss.backward()
"""


@pytest.mark.parametrize("text", [MICROGRAD, LAYERS], ids=["small", "large"])
def test_the_same_script_gives_the_same_bytes_whatever_the_hash_seed(text, tmp_path):
    (tmp_path / "script.py").write_text(text, encoding="utf-8")
    for seed in "01":
        done = explore("script.py", "-o", f"{seed}.html", cwd=tmp_path, PYTHONHASHSEED=seed)
        assert done.returncode == 0, done.stderr
    assert (tmp_path / "0.html").read_bytes() == (tmp_path / "1.html").read_bytes()


def test_the_page_goes_where_o_says_and_other_arguments_to_the_script(explored, tmp_path):
    text = "import sys, os\nfrom engine import Value\nprint(sys.argv)\nos.chdir('/')\n"
    done, _ = explored(text + "(Value(2.0) * 3).backward()\n", "-o", "p.html", "--steps", "2")
    assert done.stdout.strip() == "['script.py', '--steps', '2']"
    assert story_of(tmp_path / "p.html")["title"] == "script.py, step by step"


def test_a_script_without_a_graph_gets_one_line_and_no_page(explored):
    done, story = explored("print('hello')\n")
    assert (done.returncode, done.stdout, story) == (1, "hello\n", None)
    assert done.stderr.startswith("engine explore: script.py made no graph: nothing in it was")
    assert len(done.stderr.splitlines()) == 1


def test_an_error_of_the_scripts_own_is_shown_as_without_explore(explored):
    done, story = explored("from engine import Value\nValue(1.0) * 2\n1 / 0\n")
    assert (done.returncode, story) == (1, None)
    assert done.stderr.splitlines()[-1] == "ZeroDivisionError: division by zero"
    assert "exploring.py" not in done.stderr


def test_a_script_that_ends_itself_is_shown_unless_it_failed(explored):
    text = "import sys\nfrom engine import Value\n(Value(1.0) * 2).backward()\nsys.exit({})\n"
    assert explored(text.format(3))[0].returncode == 3
    done, story = explored(text.format(0))
    assert done.returncode == 0
    assert len(story["boxes"]) == 3


def test_a_file_that_is_not_there_gets_one_line(tmp_path):
    done = explore("missing.py", cwd=tmp_path)
    assert done.returncode == 2
    assert done.stderr == ("engine explore: cannot open 'missing.py': No such file or directory\n")


def test_a_page_that_cannot_be_written_gets_one_line(explored):
    done, _ = explored(MICROGRAD, "-o", "no/such/folder/page.html")
    assert done.returncode == 1
    assert "No such file or directory" in done.stderr.splitlines()[-1]
