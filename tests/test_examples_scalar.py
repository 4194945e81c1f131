"""The examples that compute with single numbers: they learn, they speak, they refuse bad input."""

import json
import random
import subprocess
import sys
from pathlib import Path

import pytest

import engine
import engine.scalar
from benchmarks.gpt import load_example
from engine.visualize.recording import Recorder

ROOT = Path(__file__).resolve().parents[1]
EXAMPLES = ROOT / "examples"
MICROGRAD = json.loads((ROOT / "tests" / "reference" / "moons_losses.json").read_text())
SOME = ["--steps", "6", "--samples", "3"]


@pytest.fixture(scope="module")
def microgpt():
    return load_example("microgpt")


@pytest.fixture(scope="module")
def moons():
    return load_example("moons_scalar")


def run(name, *arguments, folder=ROOT):
    """An example as a user starts it."""
    command = [sys.executable, str(EXAMPLES / f"{name}.py"), *arguments]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True)


def test_microgpt_runs_from_any_folder_and_tells_what_a_user_wants_to_know(tmp_path):
    done = run("microgpt", *SOME, folder=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "5163 words, 26 letters, 4192 parameters" in done.stdout
    assert engine.backend() in done.stdout
    assert "step     6 of 6" in done.stdout
    assert "with a Value made of tuples" in done.stdout


def test_one_step_of_microgpt_takes_one_walk_which_explore_shows(microgpt, capsys):
    with Recorder() as recorder:
        microgpt.main(["--steps", "1", "--samples", "0"])
    assert recorder.walks == 1
    assert "made of tuples" not in capsys.readouterr().out


def test_microgpt_learns_another_text(tmp_path):
    words = tmp_path / "words.txt"
    words.write_text("ab\n\nba\nabba\n", encoding="utf-8")
    done = run("microgpt", "--text", str(words), *SOME)
    assert done.returncode == 0, done.stderr
    assert "3 words, 2 letters, 3424 parameters" in done.stdout
    assert set(done.stdout.partition("invented:")[2].splitlines()[0]) <= set("ab ")


@pytest.mark.parametrize(
    ("content", "message"),
    [(None, "No such file"), (b"\n \n", "holds no words"), (b"\xff\xfe\x00", "utf-8")],
)
def test_microgpt_refuses_a_text_that_it_cannot_learn_in_one_line(tmp_path, content, message):
    file = tmp_path / "words.txt"
    if content is not None:
        file.write_bytes(content)
    done = run("microgpt", "--text", str(file))
    assert done.returncode == 2
    assert message in done.stderr.splitlines()[-1]
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("name", ["microgpt", "moons_scalar"])
def test_an_example_refuses_a_negative_size(name):
    done = run(name, "--steps", "-1")
    assert done.returncode == 2
    assert "at least 1" in done.stderr.splitlines()[-1]


@pytest.mark.parametrize("name", ["microgpt", "moons_scalar"])
def test_an_example_explains_each_option(name):
    text = run(name, "--help").stdout
    options = [line.split() for line in text.splitlines() if line.startswith("  --")]
    assert len(options) >= 4
    assert all(len(words) > 3 or words[-1].isupper() for words in options)


# Arguments that make each example short; {} is a folder for what it writes.
SHORT = {
    "lecture": ["--output", "{}"],
    "microgpt": SOME,
    "moons_scalar": ["--points", "10", "--steps", "1"],
    "seeds": [],
    "train_mlp": ["--epochs", "1", "--hidden", "4", "--out", "{}"],
}


@pytest.mark.parametrize("name", sorted(path.stem for path in EXAMPLES.glob("*.py")))
def test_every_example_ends_by_saying_what_to_try_next(name, tmp_path):
    done = run(name, *(word.format(tmp_path) for word in SHORT[name]))
    assert done.returncode == 0, done.stderr
    last = "\n".join(done.stdout.splitlines()[-3:])
    assert "o try next: " in last
    assert "python " in last or "--help" in last


def trained(microgpt, adam_class, steps):
    random.seed(0)
    weights = microgpt.make_weights(engine.Value, 4)
    adam = adam_class(microgpt.parameters_of(weights))
    losses = list(microgpt.train(["abc", "abcabc"], ["a", "b", "c"], weights, adam, steps))
    return losses, weights


def test_microgpt_learns_a_pattern_and_repeats_it(microgpt):
    losses, weights = trained(microgpt, microgpt.Adam, 40)
    assert losses[0] > 1.2
    assert max(losses[-2:]) < 0.5
    assert microgpt.invent(["a", "b", "c"], weights, temperature=0.1) in ("abc", "abcabc")


def test_microgpt_takes_the_same_steps_with_the_optimizer_of_engine(microgpt):
    by_hand, _ = trained(microgpt, microgpt.Adam, 10)
    by_engine, _ = trained(microgpt, microgpt.EngineAdam, 10)
    assert by_engine == pytest.approx(by_hand, rel=1e-9)


def test_microgpt_leaves_out_letters_beyond_its_block(microgpt):
    random.seed(0)
    weights = microgpt.make_weights(engine.Value, 3)
    long, cut = [2, *[0, 1] * 20, 2], [2, *[0, 1] * 8]
    assert microgpt.loss_of(long, weights).data == microgpt.loss_of(cut, weights).data


def test_microgpt_reports_the_mean_of_each_part(microgpt):
    lines = []
    assert microgpt.report(iter([3.0, 1.0, 5.0]), 60, lines.append) == [3.0]
    assert microgpt.report(iter([3.0, 1.0, 5.0]), 3, lines.append) == [3.0, 1.0, 5.0]
    assert "loss 5.000 ####" in lines[-1]


def test_the_names_are_words_of_small_letters_each_once(microgpt):
    names = microgpt.read_words(EXAMPLES / "names.txt")
    assert len(names) == len(set(names)) == 5163
    assert microgpt.alphabet_of(names) == list("abcdefghijklmnopqrstuvwxyz")


def test_the_moons_go_through_the_losses_of_micrograd_to_nine_digits(moons):
    points, labels = moons.two_moons(MICROGRAD["points"])
    net = moons.make_net(engine.scalar.MLP, MICROGRAD["seed"])
    losses = [loss for loss, _ in moons.train(net, points, labels, 20)]
    assert losses == pytest.approx(MICROGRAD["losses"][:20], rel=1e-9)


def test_the_record_of_micrograd_ends_with_the_moons_apart():
    assert MICROGRAD["micrograd"] == "0.1.0"
    assert len(MICROGRAD["losses"]) == 100
    assert MICROGRAD["losses"][-1] < 0.02 < 1 < MICROGRAD["losses"][0]


def test_the_moons_are_half_circles_with_a_label_each(moons):
    points, labels = moons.two_moons(100, noise=0.0)
    assert labels == [1, -1] * 50
    assert all(abs((x**2 + y**2) - 1) < 1e-12 and y > -1e-12 for x, y in points[::2])
    assert all(abs((x - 1) ** 2 + (y - 0.5) ** 2 - 1) < 1e-12 for x, y in points[1::2])


def test_the_boundary_shows_the_sign_of_the_net_and_the_points(moons):
    picture = moons.boundary(lambda p: engine.Value(p[0]), [(1.0, 0.0), (-1.0, 0.0)], [1, -1])
    rows = picture.splitlines()
    assert {len(row) for row in rows} == {64}
    assert picture.count("o") == picture.count("x") == 1
    assert set(rows[0][:24]) == {"."}
    assert set(rows[0][24:]) == {" "}


def test_the_moons_are_drawn_over_the_last_picture_on_a_terminal_else_once(moons, capsys):
    losses = [(1.0, 0.5), (0.5, 0.8), (0.25, 1.0)]
    moons.report(iter(losses), 3, lambda: "..\n  ", live=True)
    live = capsys.readouterr().out
    moons.report(iter(losses), 3, lambda: "..\n  ", live=False)
    once = capsys.readouterr().out
    assert live.count("..\n  \n") == 3
    assert live.count("\x1b[2A\x1b[J") == 2
    assert live.index("\x1b[2A") > live.index("..\n")
    assert once.count("..\n  \n") == 1
    assert "\x1b" not in once
    assert once.count("step ") == live.count("step ") == 3


def test_the_moons_example_runs_and_draws_its_boundary():
    done = run("moons_scalar", "--points", "20", "--steps", "3")
    assert done.returncode == 0, done.stderr
    assert "20 points, a 2-16-16-1 net of 337 parameters" in done.stdout
    assert "accuracy" in done.stdout
    assert "ms a step" in done.stdout
    assert "..." in done.stdout
