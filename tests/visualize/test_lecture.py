"""The lecture's example: gradients pushed by hand are those of backward, and pictures are made."""

import subprocess
import sys
import xml.etree.ElementTree as ET
from pathlib import Path

from visualize.pages import story_of

LECTURE = Path(__file__).parents[2] / "examples" / "lecture.py"


def lecture(*arguments):
    command = [sys.executable, str(LECTURE), *map(str, arguments)]
    return subprocess.run(command, capture_output=True, encoding="utf-8")


def test_the_lecture_pushes_gradients_by_hand_and_draws_them(tmp_path):
    done = lecture("--output", tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.count("a 6  b -4  c -2  f 4") == 3
    assert "(the same)" in done.stdout
    assert "gradients b 0.5  w1 1  w2 0  x1 -1.5  x2 0.5" in done.stdout
    assert "To try next" in done.stdout
    pictures = sorted(tmp_path.glob("*.svg"))
    assert len(pictures) == 4
    for path in pictures:
        assert ET.parse(path).getroot().tag == "{http://www.w3.org/2000/svg}svg"
    story = story_of(tmp_path / "5_step_by_step.html")
    assert [b["label"] for b in story["boxes"]] == ["a", "b", "d", "e", "f"]
    assert "no gradient yet" in pictures[0].read_text(encoding="utf-8")
    assert "grad -4" in pictures[1].read_text(encoding="utf-8")


def test_the_lecture_says_in_one_line_when_it_cannot_write(tmp_path):
    (tmp_path / "file").write_text("")
    done = lecture("--output", tmp_path / "file")
    assert done.returncode == 2
    assert "cannot make the folder" in done.stderr.splitlines()[-1]
