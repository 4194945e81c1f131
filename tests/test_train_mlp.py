"""examples/train_mlp.py as a person runs it: what it prints, writes and refuses."""

import os
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

import engine

ROOT = Path(__file__).parents[1]
PROGRAM = ROOT / "examples" / "train_mlp.py"


def run(folder, *arguments, program=PROGRAM, **options):
    command = [sys.executable, str(program), *map(str, arguments)]
    return subprocess.run(
        command, cwd=folder, capture_output=True, text=True, timeout=300, check=False, **options
    )


@pytest.fixture(scope="module")
def digits(tmp_path_factory):
    """One run without any argument: the main job."""
    folder = tmp_path_factory.mktemp("digits")
    return folder, run(folder)


def test_without_arguments_at_least_96_percent_of_the_test_digits_are_right(digits):
    _, done = digits
    assert done.returncode == 0, done.stderr
    accuracy = float(re.search(r"test accuracy ([\d.]+)%", done.stdout)[1])
    assert 96.0 <= accuracy <= 100.0


def test_it_says_which_build_runs_the_loss_and_the_time(digits):
    _, done = digits
    assert done.stdout.startswith(f"engine, {engine.backend()} build\n")
    assert "1437 training images, 360 test images" in done.stdout
    before, after, seconds = re.search(
        r"loss ([\d.]+) -> ([\d.]+), .* epochs in ([\d.]+) s", done.stdout
    ).groups()
    assert float(after) < 0.1 < 1 < float(before)
    assert 0 < float(seconds) < 300


def test_it_shows_its_progress_and_ends_with_what_to_try_next(digits):
    _, done = digits
    assert "60/60 epochs" in done.stderr
    assert done.stdout.splitlines()[-1].startswith("to try next: ")


def test_it_writes_a_loss_curve_histograms_of_gradients_and_a_sheet_of_digits(digits):
    folder, done = digits
    written = [
        folder / line.removeprefix("wrote ")
        for line in done.stdout.splitlines()
        if line.startswith("wrote ")
    ]
    assert [path.stem for path in written] == ["loss", "gradients", "digits"]
    assert all(path.stat().st_size > 1000 for path in written)


def test_without_matplotlib_and_tqdm_a_line_says_how_to_get_them(digits, tmp_path):
    (tmp_path / "sitecustomize.py").write_text(BLOCK)
    env = {**os.environ, "PYTHONPATH": os.pathsep.join([str(tmp_path), str(ROOT)])}
    done = run(tmp_path, "--epochs", 1, env=env)
    assert done.returncode == 0, done.stderr
    assert "for a finer progress bar and pictures: pip install tqdm matplotlib\n" in done.stdout
    assert (tmp_path / "train_mlp" / "digits.svg").read_text().count("data:image/png") == 50


# Run by Python when it starts: hides the two packages where they are installed.
BLOCK = """
import sys
from importlib import machinery

class Finder(machinery.PathFinder):
    @classmethod
    def find_spec(cls, name, path=None, target=None):
        missing = name.split(".")[0] in ("matplotlib", "tqdm")
        return None if missing else super().find_spec(name, path, target)

sys.meta_path[:] = [Finder if f is machinery.PathFinder else f for f in sys.meta_path]
"""


def test_scalar_trains_a_net_of_values_and_draws_its_boundary(tmp_path):
    done = run(tmp_path, "--scalar", "--epochs", 25, "--hidden", 8, "--out", "made/here")
    assert done.returncode == 0, done.stderr
    assert "105 parameters, each an engine.Value" in done.stdout
    assert float(re.search(r"training accuracy ([\d.]+)%", done.stdout)[1]) > 85
    assert sorted(path.stem for path in (tmp_path / "made/here").iterdir()) == [
        "moons",
        "moons_gradients",
        "moons_loss",
        "watch",
    ]


def test_the_page_to_watch_shows_what_was_drawn_and_is_still_at_the_end(digits):
    folder, done = digits
    assert f"open {Path('train_mlp') / 'watch.html'} in a browser" in done.stdout
    text = (folder / "train_mlp" / "watch.html").read_text(encoding="utf-8")
    names = re.findall(r'src="([^"]*)"', text)
    assert [Path(name).stem for name in names] == ["loss", "gradients", "digits"]
    assert all((folder / "train_mlp" / name).exists() for name in names)
    assert "refresh" not in text


def test_pictures_are_drawn_anew_while_the_net_learns(tmp_path):
    command = [sys.executable, "-u", str(PROGRAM), "--scalar", "--hidden", "4", "--epochs", "99999"]
    page = tmp_path / "train_mlp" / "watch.html"
    with subprocess.Popen(
        command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as running:
        try:
            seen = wait_for(lambda: page.exists() and "moons_gradients" in page.read_text("utf-8"))
            boundary = next(page.parent.glob("moons.[ps][nv]g"))
            first = boundary.stat().st_mtime_ns
            again = wait_for(lambda: boundary.stat().st_mtime_ns != first)
        finally:
            running.kill()
    assert seen
    assert again
    assert "refresh" in page.read_text("utf-8")


def wait_for(condition, seconds=60):
    """Whether the condition comes true in that time."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if condition():
            return True
        time.sleep(0.1)
    return False


def test_one_seed_gives_one_result(tmp_path):
    first, again, other = (
        run(tmp_path, "--epochs", 2, "--hidden", 8, "--seed", seed).stdout for seed in (5, 5, 6)
    )
    loss = re.compile(r"loss .*%")
    assert loss.search(first)[0] == loss.search(again)[0] != loss.search(other)[0]


def test_help_explains_every_option(tmp_path):
    done = run(tmp_path, "--help")
    assert done.returncode == 0
    for option in ("scalar", "data", "epochs", "batch", "hidden", "rate", "seed", "out"):
        assert re.search(rf"--{option}( [A-Z]+)?\s+\w", done.stdout)


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (["--hidden", "-3"], "argument --hidden: must be a whole number above 0; got -3"),
        (["--epochs", "0"], "argument --epochs: must be a whole number above 0; got 0"),
        (["--batch", "1.5"], "argument --batch: must be a whole number above 0; got 1.5"),
        (["--rate", "-1"], "argument --rate: must be a number above 0; got -1"),
        (["--rate", "x"], "argument --rate: must be a number above 0; got x"),
        (["--rate", "inf"], "argument --rate: must be a number above 0; got inf"),
        (["--seed", "-1"], "argument --seed: must be from 0 to 2**32 - 1; got -1"),
        (["--seed", "x"], "argument --seed: invalid int value: 'x'"),
        (["--unknown"], "unrecognized arguments: --unknown"),
        (["--data", "none.npz"], "No such file or directory: 'none.npz'"),
        (["--data", "own.txt"], "own.txt: the name must end in .npz or .csv"),
        (["--data", "bad.csv"], "bad.csv: could not convert string 'x'"),
        (["--data", "flat.npz"], "needs samples of shape (n, ...) and labels of shape (n,)"),
        (["--data", "one.csv"], "split: needs two samples or more"),
        (["--data", "one.csv", "--scalar"], "--scalar makes its own points; leave out --data"),
        (["--out", "one.csv"], "File exists: 'one.csv'"),
        (["--rate", "1e30"], "the loss became nan; a smaller --rate helps"),
        (["--hidden", "10000000000000"], "not enough memory|Unable to allocate"),
    ],
)
def test_bad_input_gets_one_clear_line_and_a_failure(tmp_path, arguments, reason):
    (tmp_path / "bad.csv").write_text("1,2\n1,x\n")
    (tmp_path / "one.csv").write_text("1,2\n")
    np.savez(tmp_path / "flat.npz", images=np.ones(3), labels=np.ones(3))
    done = run(tmp_path, *arguments)
    assert done.returncode == 2
    *_, last = done.stderr.splitlines()
    assert last.startswith("train_mlp.py: ")
    assert any(text in last for text in reason.split("|"))
    assert "Traceback" not in done.stderr
    assert "nan" in reason or len(done.stderr.splitlines()) == 1


@pytest.mark.parametrize("name", ["own.npz", "own.csv"])
def test_a_file_of_ones_own_takes_the_place_of_the_digits(tmp_path, name):
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 3, 200)
    images = rng.normal(0, 20, (200, 3, 3)) + 100 * np.eye(3)[labels][:, None, :]
    if name == "own.npz":
        np.savez(tmp_path / name, images=images, labels=labels)
    else:
        np.savetxt(tmp_path / name, np.c_[images.reshape(200, 9), labels], delimiter=",")
    done = run(tmp_path, "--data", name, "--epochs", 20, "--hidden", 16)
    assert done.returncode == 0, done.stderr
    assert "160 training images, 40 test images" in done.stdout
    assert float(re.search(r"test accuracy ([\d.]+)%", done.stdout)[1]) > 90
    assert any(path.stem == "digits" for path in (tmp_path / "train_mlp").iterdir())


def test_samples_that_are_no_images_get_no_sheet(tmp_path):
    (tmp_path / "own.csv").write_text("".join(f"{i},{-i},{2 * i},{i % 2}\n" for i in range(10)))
    done = run(tmp_path, "--data", "own.csv", "--epochs", 1)
    assert done.returncode == 0, done.stderr
    written = {path.stem for path in (tmp_path / "train_mlp").iterdir()}
    assert written == {"loss", "gradients", "watch"}


def test_in_a_bare_clone_the_tree_beside_it_is_used(tmp_path):
    clone = tmp_path / "a clone, ünïcode"
    ignore = shutil.ignore_patterns("__pycache__", "*.so", "*.pyd")
    shutil.copytree(ROOT / "engine", clone / "engine", ignore=ignore)
    (clone / "examples").mkdir()
    program = shutil.copy(PROGRAM, clone / "examples")
    site = str(Path(np.__file__).parents[1])
    # -S: no site-packages, so that an installed engine is not there; NumPy comes by its path.
    code = (
        f"import sys, runpy; sys.path.append({site!r}); "
        "sys.meta_path = [f for f in sys.meta_path if 'editable' not in repr(f)]; "
        f"sys.argv[0] = {program!r}; runpy.run_path({program!r}, run_name='__main__')"
    )
    env = {k: v for k, v in os.environ.items() if k not in ("PYTHONPATH", "ENGINE_BACKEND")}
    done = subprocess.run(
        [sys.executable, "-S", "-c", code, "--epochs", "1"],
        cwd=tmp_path, env=env, capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("engine, python build\n")


@pytest.mark.skipif(os.name == "nt", reason="POSIX signals")
def test_ctrl_c_ends_politely_and_keeps_what_was_learned(tmp_path):
    # What a shell runs in the background is deaf to Ctrl-C, and so is what it starts.
    hear = "import os, signal, sys; signal.signal(signal.SIGINT, signal.SIG_DFL); "
    start = hear + "os.execv(sys.executable, [sys.executable, *sys.argv[1:]])"
    command = [sys.executable, "-c", start, "-u", str(PROGRAM), "--epochs", "100000"]
    with subprocess.Popen(
        command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as running:
        for line in running.stdout:
            if "test images" in line:
                break
        time.sleep(2)
        running.send_signal(signal.SIGINT)
        try:
            out, err = running.communicate(timeout=60)
        finally:
            running.kill()
    assert running.returncode == 0, err
    assert re.search(r"stopped after \d+ of 100000 epochs", err)
    assert "test accuracy" in out
    assert "Traceback" not in err
