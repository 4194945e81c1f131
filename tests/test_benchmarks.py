"""The measurements themselves: baselines that compute right, rows that run, figures that add up."""

import json
import random
import re
import shlex
import shutil
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

import engine
from benchmarks import (
    costs,
    explorer,
    gpt,
    growth,
    instructions,
    peers,
    report,
    rounds,
    tensor,
    worker,
)
from benchmarks.__main__ import main, options
from benchmarks.baselines import ClosureValue, TupleValue
from benchmarks.registry import ROWS, Result, Row, Work

ROOT = Path(__file__).resolve().parents[1]
BASELINES = [TupleValue, ClosureValue]
PEERS = ("autograd", "casadi", "jax", "micrograd", "mygrad", "torch")
BACKEND = f"engine {engine.backend()}"

OPERATIONS = [
    lambda x, y: x + y,
    lambda x, y: x - y,
    lambda x, y: x * y,
    lambda x, y: x / (y * y + 1),
    lambda x, y: 1.5 - 2 * x,
    lambda x, y: 1 / (x * x + 0.5),
    lambda x, y: -x,
    lambda x, y: (x * x + 1) ** -0.5,
    lambda x, y: (x - y).relu(),
    lambda x, y: (0.1 * x).exp() if abs(x.data) < 100 else x * 0.01,
    lambda x, y: (x * x + 0.1).log(),
]


def random_program(value, seed):
    """Leaves' gradients and the result of thirty operations drawn by `seed`, for one class."""
    draw = random.Random(seed)
    leaves = [value(draw.uniform(-2, 2)) for _ in range(4)]
    known = list(leaves)
    for _ in range(30):
        known.append(draw.choice(OPERATIONS)(draw.choice(known), draw.choice(known)))
    result = sum(known[-5:])
    result.backward()
    return [result.data, *(leaf.grad for leaf in leaves)]


@pytest.mark.parametrize("seed", range(40))
@pytest.mark.parametrize("baseline", BASELINES, ids=lambda c: c.__name__)
def test_a_baseline_has_the_gradients_of_engine(baseline, seed):
    expected = random_program(engine.Value, seed)
    assert random_program(baseline, seed) == pytest.approx(expected, rel=1e-9, abs=1e-12)


@pytest.mark.parametrize("baseline", BASELINES, ids=lambda c: c.__name__)
def test_a_baseline_has_the_gpts_gradients_of_engine(baseline):
    ours, theirs = gpt.Workload(engine.Value), gpt.Workload(baseline)
    ours.step()
    theirs.step()
    expected = [p.grad for p in ours.parameters]
    assert [p.grad for p in theirs.parameters] == pytest.approx(expected, rel=1e-9, abs=1e-12)
    assert sum(g != 0 for g in expected) > 3000


def test_the_gpt_on_bare_floats_does_the_arithmetic_of_the_values():
    assert gpt.of_floats().loss() == pytest.approx(
        gpt.Workload(engine.Value).loss().data, rel=1e-12
    )


@pytest.mark.skipif(find_spec("casadi") is None, reason="casadi is not installed")
def test_casadi_has_the_gradients_of_engine():
    work = gpt.Workload(engine.Value, tiny=True)
    work.step()
    step, gradient = gpt.of_casadi(tiny=True)
    step()
    expected = [p.grad for p in work.parameters]
    assert list(gradient) == pytest.approx(expected, rel=1e-9, abs=1e-12)


def test_the_gpt_step_has_the_size_that_is_told():
    work = gpt.Workload(TupleValue)
    assert len(work.parameters) == 4192
    assert 60_000 < gpt.count_nodes(work.loss()) < 70_000


def lacks(contender):
    """Whether it is a peer that is not installed; a mere folder, as tests/autograd, is no peer."""
    package = contender.partition(" ")[0]
    spec = find_spec(package) if package in PEERS else None
    return package in PEERS and (spec is None or spec.origin is None)


def contenders_here():
    """Each row with each contender that this process can be: this build, and no other's."""
    for row in ROWS.values():
        for contender in row.contenders:
            if contender == BACKEND or not contender.startswith("engine"):
                yield pytest.param(row, contender, id=f"{row.name}-{contender}")


@pytest.mark.parametrize(("row", "contender"), list(contenders_here()))
def test_a_row_runs_a_round_of_each_contender_at_tiny_size(row: Row, contender):
    if lacks(contender):
        with pytest.raises(ImportError, match=contender.partition(" ")[0]):
            row.prepare(contender, True)
    else:
        assert 0 < worker.seconds(row.prepare(contender, True)) < 60


@pytest.mark.parametrize("contender", ["by hand", "torch", *peers.PEERS])
def test_a_peer_trains_the_net_to_the_losses_of_engine(contender):
    if lacks(contender):
        pytest.skip(f"{contender} is not installed")
    ours, theirs = (tensor.net(each, (4, 5, 6, 3), 1e-2) for each in (BACKEND, contender))
    losses = [ours() for _ in range(5)]
    assert losses[-1] < losses[0] / 2
    assert [theirs() for _ in range(5)] == pytest.approx(losses, rel=1e-5)


@pytest.mark.parametrize("row", list(ROWS.values()), ids=lambda row: row.name)
def test_a_row_says_what_it_measures(row: Row):
    assert row.group in ("scalar", "tensor", "kernels")
    assert row.title
    assert row.contenders[:2] == ("engine cython", "engine python")


def test_a_contender_that_is_missing_is_reported_as_missing():
    row = Row(
        "operation", "scalar", "title", "operation", ("tuple", "micrograd"), lambda c, t: None
    )
    result = rounds.measure(row, 1, tiny=True)
    known = {**result.figures, **result.missing}
    assert set(known) == {"tuple", "micrograd"}
    assert result.figures["tuple"] > 0
    if "micrograd" in result.missing:
        assert "micrograd" in result.missing["micrograd"]
        assert "missing: " in report.table(result)


def test_a_round_is_timed_by_either_clock():
    work = Work(lambda: sum(range(100_000)), 3)
    assert worker.seconds(work, "wall") > 0
    assert worker.seconds(work, "cpu") > 0


def test_a_worker_that_fails_is_an_error_and_not_missing(capfd):
    row = Row("no_such_row", "scalar", "title", "step", ("tuple",), lambda c, t: None)
    with pytest.raises(RuntimeError, match="ended a worker"):
        rounds.measure(row, 1)
    assert "no_such_row" in capfd.readouterr().err


def test_the_builds_are_chosen_by_the_contenders_name():
    assert rounds.environment("engine python")["ENGINE_BACKEND"] == "python"
    assert rounds.environment("tuple", threads=2)["OPENBLAS_NUM_THREADS"] == "2"
    assert rounds.environment("jax")["PJRT_NPROC"] == "1"


@pytest.mark.parametrize("row", [costs.import_time, costs.peak_memory], ids=lambda f: f.__name__)
def test_a_cost_is_measured_for_this_build(row):
    result = row(1, tiny=True)
    assert result.figures[BACKEND] > 0, result.missing
    assert result.unit.split()[0] in ("seconds", "bytes")


def test_a_tuple_based_node_takes_more_memory_than_engines():
    result = costs.node_memory(1, tiny=True)
    assert result.unit == "bytes per node"
    assert 90 < result.figures[BACKEND] < result.figures["tuple"] < 600, result


@pytest.mark.parametrize("sweep", list(growth.SWEEPS), ids=lambda f: f.__name__)
def test_a_sweep_tells_time_and_memory_at_each_size(sweep):
    grown = growth.sweep(sweep.__name__, BACKEND, "tiny")
    assert grown.sizes == growth.SWEEPS[sweep][0]
    assert len(grown.seconds) == len(grown.bytes) == len(grown.sizes)
    assert min(grown.seconds) > 0
    assert min(grown.bytes) > 0
    assert "slope" in growth.table(grown)


def test_a_sweep_in_a_process_of_its_own_brings_its_figures_back():
    grown = growth.measure("nodes", BACKEND, "tiny")
    assert grown.sizes == [10, 100], grown.missing


def test_memory_grows_in_proportion_to_the_nodes():
    few, many = (growth.peak("nodes", BACKEND, count) for count in (30_000, 300_000))
    assert 100 < few / 30_000 < 260  # a node's own memory is in it, whatever allocates it
    assert 8 < many / few < 12


def test_slope_is_the_power_of_the_size():
    sizes = [1, 10, 100, 1000]
    assert growth.slope(sizes, [3 * size**1.5 for size in sizes]) == pytest.approx(1.5)


def test_ratios_are_over_the_first_contender_that_was_there():
    result = Result("r", "scalar", "t", "seconds per step", {"engine python": 0.5, "tuple": 1.0})
    assert result.ratios == {"engine python": 1.0, "tuple": 2.0}
    assert "500 ms per step" in report.table(result)


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(2.0, "2 s per step"), (0.0071, "7.1 ms per step"), (4e-8, "40 ns per step")],
)
def test_a_time_is_shown_with_the_prefix_that_fits(seconds, text):
    assert report.quantity(seconds, "seconds per step") == text


def test_the_command_writes_table_json_and_picture(tmp_path, capsys):
    files = {name: tmp_path / f"figures.{name}" for name in ("json", "svg")}
    arguments = ["--row", "operation", "kernel_copy", "--rounds", "1", "--tiny"]
    assert main([*arguments, "--json", str(files["json"]), "--svg", str(files["svg"])]) == 0
    assert "one operation of a chain" in capsys.readouterr().out
    found = json.loads(files["json"].read_text())
    row, other = found["rows"]
    assert [row["name"], other["name"]] == ["operation", "kernel_copy"]
    assert row["figures"][BACKEND] > 0
    assert set(row["ratios"]) == set(row["figures"])
    assert found["machine"]["python"]
    assert files["svg"].read_text().startswith("<svg")


def test_the_picture_of_the_readme_shows_the_rows_of_the_command_beside_it():
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    _, _, after = readme.partition("python -m benchmarks --row gpt_gradients")
    command, _, _ = after.partition("```")
    chosen = options(["--row", "gpt_gradients", *shlex.split(command.replace("\\\n", " "))])
    shown = (ROOT / chosen.svg).read_text(encoding="utf-8")
    titles = [row.title for row in ROWS.values() if row.name in chosen.row]
    assert len(titles) == len(chosen.row) == shown.count("font-weight")
    assert all(report.escape(title) in shown for title in titles)


def test_the_scalar_rows_run_as_a_file_from_anywhere(tmp_path):
    command = [sys.executable, str(ROOT / "benchmarks" / "scalar.py"), "--row", "gpt_gradients"]
    done = subprocess.run(
        [*command, "--tiny", "--rounds", "1"], cwd=tmp_path, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    assert "scalar GPT" in done.stdout
    assert "floats" in done.stdout


def test_a_part_of_a_callgrind_profile_is_read(tmp_path):
    part = tmp_path / "out.2"
    part.write_text("desc: Trigger: x\nevents: Ir\nsummary: 1234 5\n")
    assert instructions.summary(part) == 1234
    part.write_text("events: Ir\n")
    with pytest.raises(RuntimeError, match=r"no summary into out\.2"):
        instructions.summary(part)


def test_a_count_that_grew_over_five_per_cent_is_named(capsys):
    stored = {"moons": {"engine cython": 1000, "engine python": 1000}}
    now = {"moons": {"engine cython": 1051, "engine python": 1049}}
    assert instructions.grown(stored, now) == ["moons, engine cython: 1,000 became 1,051"]
    assert "1.0490" in capsys.readouterr().out


@pytest.mark.skipif(not shutil.which("valgrind"), reason="valgrind is not installed")
def test_more_operations_are_more_instructions():
    few = instructions.count("operation", "tuple", tiny=True)
    many = instructions.count("operation", "tuple")
    assert 4 * 100 < few < many / 20


@pytest.mark.skipif(not explorer.browser(), reason="Chromium is not installed")
def test_the_explorers_page_is_opened_and_timed(tmp_path, capsys):
    assert explorer.main(["--tiny", "--runs", "1", "--keep", str(tmp_path / "page.html")]) == 0
    boxes, opened = capsys.readouterr().out.splitlines()
    assert int(boxes.split()[0]) > 5000
    assert float(re.search(r"opens in (\S+) s", opened)[1]) > 0
    assert (tmp_path / "page.html").stat().st_size > 100_000


def test_without_a_browser_the_command_says_what_to_install(monkeypatch, capsys):
    monkeypatch.setattr(explorer, "browser", lambda: None)
    assert explorer.main([]) == 1
    assert "apt-get install chromium" in capsys.readouterr().out
