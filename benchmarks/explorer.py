"""`python -m benchmarks.explorer`: how large the page of a scalar GPT's loss is, and how soon it
opens in Chromium.

Each run is a fresh browser with a fresh profile. A run's time is the page's own: from the start of
its navigation to the frame after its scripts, when it answers to keys and clicks.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import tempfile
import threading
import time
from pathlib import Path

from benchmarks.gpt import Workload

NAMES = ("chromium", "chromium-browser", "google-chrome", "chrome")
CLOCK = """<script>
requestAnimationFrame(() => setTimeout(() => console.log(
  `opened ${performance.now()} ${boxes.length} ${graph.boxes.length} boxes`)));
</script></body>"""
SECONDS = 60


def options(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.explorer", description="Open the page of a scalar GPT's loss."
    )
    parser.add_argument("--runs", type=int, default=7, help="how often to open it (7)")
    parser.add_argument("--tiny", action="store_true", help="one letter, for a test")
    parser.add_argument("--keep", type=Path, metavar="FILE", help="keep the page there")
    return parser.parse_args(arguments)


def browser() -> str | None:
    """The program of Chromium, or None."""
    return os.environ.get("CHROMIUM") or next(filter(None, map(shutil.which, NAMES)), None)


def opened(program: str, page: Path, folder: Path) -> tuple[float, int, int]:
    """Milliseconds until the page answers, boxes that it shows, boxes of the whole graph."""
    text = page.read_text(encoding="utf-8")
    timed = folder / "timed.html"
    timed.write_text(text.replace("</body>", CLOCK), encoding="utf-8")
    with tempfile.TemporaryDirectory(dir=folder, ignore_cleanup_errors=True) as profile:
        command = [program, "--headless", "--no-sandbox", "--disable-gpu", "--window-size=1300,800"]
        command += ["--enable-logging=stderr", f"--user-data-dir={profile}", timed.as_uri()]
        said = said_by(command)
    found = re.search(r"opened (\S+) (\d+) (\d+) boxes", said)
    if found is None:
        raise RuntimeError(f"the page did not open in {program}: {said[-500:]}")
    return float(found[1]), int(found[2]), int(found[3])


def said_by(command: list[str]) -> str:
    """What a browser writes until the page has told its time; it is ended then."""
    said = ""
    with subprocess.Popen(command, stderr=subprocess.PIPE, encoding="utf-8") as running:
        assert running.stderr is not None
        ending = threading.Timer(SECONDS, running.kill)
        ending.start()
        for line in running.stderr:
            said += line
            if "opened " in line:
                break
        ending.cancel()
        running.terminate()
    return said


def main(arguments: list[str] | None = None) -> int:
    import engine
    from engine.visualize import explore

    chosen = options(arguments)
    program = browser()
    if program is None:
        print("no Chromium here: install it (Debian: apt-get install chromium), or set CHROMIUM")
        return 1
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as name:
        folder = Path(name)
        work, start = Workload(engine.Value, chosen.tiny), time.perf_counter()
        page = explore(work.loss, chosen.keep or folder / "gpt.html")
        seconds, megabytes = time.perf_counter() - start, page.stat().st_size / 1e6
        runs = sorted(opened(program, page, folder) for _ in range(chosen.runs))
    times = [run[0] / 1e3 for run in runs]
    print(f"{runs[0][2]} boxes, {runs[0][1]} of them shown first; written in {seconds:.1f} s")
    print(f"{megabytes:.2f} MB; opens in {times[len(times) // 2]:.2f} s (median of {len(times)} "
          f"runs, from {times[0]:.2f} to {times[-1]:.2f} s)")  # fmt: skip
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
