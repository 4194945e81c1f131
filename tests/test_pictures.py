"""Pictures and progress bars of a training run, with and without matplotlib and tqdm."""

import re
import struct
import xml.etree.ElementTree as ET
import zlib

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from engine import pictures
from engine.progress import PlainBar, progress

SVG = "{http://www.w3.org/2000/svg}"


@pytest.fixture
def ours(monkeypatch):
    monkeypatch.setattr(pictures, "has_matplotlib", lambda: False)


def unpacked(file):
    """The colours of an uncompressed-filter PNG file, read by its specification."""
    assert file[:8] == b"\x89PNG\r\n\x1a\n"
    chunks, place = {}, 8
    while place < len(file):
        (size,) = struct.unpack(">I", file[place : place + 4])
        kind, body = file[place + 4 : place + 8], file[place + 8 : place + 8 + size]
        (crc,) = struct.unpack(">I", file[place + 8 + size : place + 12 + size])
        assert crc == zlib.crc32(kind + body)
        chunks[kind], place = body, place + 12 + size
    wide, high, depth, colour = struct.unpack(">IIBB", chunks[b"IHDR"][:10])
    assert (depth, colour) == (8, 2)
    rows = np.frombuffer(zlib.decompress(chunks[b"IDAT"]), np.uint8).reshape(high, 1 + 3 * wide)
    assert not rows[:, 0].any()
    return rows[:, 1:].reshape(high, wide, 3)


@settings(max_examples=30, deadline=None)
@given(high=st.integers(1, 9), wide=st.integers(1, 9), seed=st.integers(0, 999))
def test_a_png_holds_its_colours(high, wide, seed):
    pixels = np.random.default_rng(seed).integers(0, 256, (high, wide, 3)).astype(np.uint8)
    assert (unpacked(pictures.png(pixels)) == pixels).all()


@pytest.mark.usefixtures("ours")
def test_our_loss_curve_is_an_svg_with_a_point_per_epoch(tmp_path):
    path = pictures.loss_curve(tmp_path / "loss", [2.0, 0.5, 0.03], "Loss & more")
    assert path.name == "loss.svg"
    root = ET.parse(path).getroot()
    texts = [node.text for node in root.iter(f"{SVG}text")]
    assert {"Loss & more", "epoch", "10", "1", "0.1", "0.01"} <= set(texts)
    track = list(root.iter(f"{SVG}polyline"))[-1].get("points").split()
    heights = [float(point.split(",")[1]) for point in track]
    assert len(track) == 3
    assert heights == sorted(heights)


@pytest.mark.usefixtures("ours")
@pytest.mark.parametrize("losses", [[1.0], [0.0, 0.0], [1e-300, 1e300]])
def test_our_loss_curve_takes_any_losses(tmp_path, losses):
    ET.parse(pictures.loss_curve(tmp_path / "loss", losses, "t"))


@pytest.mark.usefixtures("ours")
def test_our_sheet_shows_each_image_and_marks_mistakes(tmp_path):
    images = np.random.default_rng(0).random((13, 8, 8))
    labels, guesses = np.arange(13) % 10, np.arange(13) % 10
    guesses[4] = 9
    root = ET.parse(pictures.sheet(tmp_path / "digits", images, labels, guesses, "t")).getroot()
    assert len(list(root.iter(f"{SVG}image"))) == 13
    red = [node.text for node in root.iter(f"{SVG}text") if node.get("fill") != "black"]
    assert red == ["9, not 4"]


@pytest.mark.usefixtures("ours")
def test_our_boundary_colours_the_plane_by_the_sign_of_the_score(tmp_path):
    points = np.array([[0.0, 0.0], [1.0, 1.0]])
    scores = np.array([[-9.0, -9.0], [9.0, 0.0]])
    path = pictures.boundary(tmp_path / "moons", points, np.array([0, 1]), scores, "t")
    assert len(list(ET.parse(path).getroot().iter(f"{SVG}circle"))) == 2
    plane = pictures._plane(scores)
    (upper_left, upper_right), (lower_left, _) = plane.astype(int)
    assert upper_right.tolist() == [255, 255, 255]
    assert upper_left[2] > upper_left[0]
    assert lower_left[0] > lower_left[2]


def test_the_box_has_room_around_the_points():
    box = pictures.extent(np.array([[0.0, 2.0], [1.0, 5.0]]), room=0.5)
    assert box == (-0.5, 1.5, 1.5, 5.5)


def test_matplotlib_draws_the_same_three_as_png(tmp_path):
    pytest.importorskip("matplotlib")
    rng = np.random.default_rng(0)
    points, labels = rng.random((5, 2)), np.array([0, 1, 0, 1, 1])
    written = [
        pictures.loss_curve(tmp_path / "loss", [2.0, 1.0], "t"),
        pictures.sheet(tmp_path / "digits", rng.random((3, 8, 8)), *[np.arange(3)] * 2, "t"),
        pictures.boundary(tmp_path / "moons", points, labels, rng.normal(size=(4, 4)), "t"),
    ]
    assert [path.name for path in written] == ["loss.png", "digits.png", "moons.png"]
    assert all(path.read_bytes().startswith(b"\x89PNG") for path in written)


def test_the_plain_bar_prints_ten_lines_where_it_cannot_rewrite(capsys):
    bar = PlainBar(40, "step")
    for step in bar:
        bar.set_postfix_str(f"loss {step}")
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 10
    assert re.fullmatch(r"\[#{24}\] 40/40 steps, [\d.]+ s  loss 39", lines[-1])
    assert lines[0].startswith("[##......................] 4/40 steps")


def test_the_plain_bar_rewrites_one_line_on_a_terminal(capsys, monkeypatch):
    bar = PlainBar(3, "epoch")
    monkeypatch.setattr(bar, "rewrites", True)
    assert list(bar) == [0, 1, 2]
    written = capsys.readouterr().err
    assert written.count("\r") == 3
    assert written.endswith("\n")
    assert written.count("\n") == 1


def test_the_bar_is_plain_where_nobody_watches():
    assert type(progress(2)) is PlainBar
    assert list(progress(0)) == []
