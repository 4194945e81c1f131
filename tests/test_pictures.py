"""Pictures and progress bars of a training run, with and without matplotlib and tqdm."""

import re
import struct
import xml.etree.ElementTree as ET
import zlib

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from engine import pictures
from engine.progress import NowAndThen, PlainBar, progress

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


GRADIENTS = {"first": [[0.5, -0.05], [0.0, 0.002]], "second": [-4.0], "third": [0.0, np.inf]}


def bars(path):
    """The rectangles of an SVG after the paper: y, height and colour of each."""
    found = list(ET.parse(path).getroot().iter(f"{SVG}rect"))[1:]
    return [(float(r.get("y")), float(r.get("height")), r.get("fill")) for r in found]


@pytest.mark.usefixtures("ours")
def test_our_histograms_show_each_layer_with_positive_gradients_up(tmp_path):
    path = pictures.histograms(tmp_path / "g", GRADIENTS, "t")
    texts = [node.text for node in ET.parse(path).getroot().iter(f"{SVG}text")]
    assert texts[1:4] == [
        "first: 4 gradients, rms 0.25, 25% are 0",
        "second: 1 gradients, rms 4",
        "third: 2 gradients, rms 0, 50% are 0, 1 not finite",
    ]
    assert texts[4:] == ["0.001", "0.01", "0.1", "1", "10"]
    red, blue = map(pictures._hex, pictures.COLOURS)
    assert [colour for *_, colour in bars(path)] == [blue, blue, red, red]
    for (y, high, colour), middle in zip(bars(path), (86, 86, 86, 170), strict=True):
        assert y + high * (colour == blue) == pytest.approx(middle)


@pytest.mark.usefixtures("ours")
@pytest.mark.parametrize("g", [[], [0.0], [np.nan], [1e-300, 1e300], [5e-324], [-1.0] * 9])
def test_our_histograms_take_any_gradients(tmp_path, g):
    path = pictures.histograms(tmp_path / "g", {"w": g}, "t")
    finite = [x for x in g if x and np.isfinite(x)]
    assert len(bars(path)) == len(set(finite))


def test_gradients_are_counted_by_size_and_the_smallest_with_the_first():
    edges = pictures._decades(np.array([1e-20, 0.5, -3.0, 0.0]))
    assert (edges[0], edges[-1]) == (-7, 1)
    counts = pictures._counts(np.array([1e-20, 1e-7, 0.5, 0.5, -3.0]), edges)
    assert counts.sum() == 4
    assert counts[0] == 2
    assert counts[np.searchsorted(edges, np.log10(0.5)) - 1] == 2


def test_a_page_shows_its_pictures_and_loads_itself_anew_only_while_it_is_live(tmp_path):
    pictured = [tmp_path / "loss.svg", tmp_path / "a & b.png"]
    live = pictures.page(tmp_path / "watch", pictured, "<title>", live=True).read_text("utf-8")
    done = pictures.page(tmp_path / "watch", pictured, "<title>", live=False).read_text("utf-8")
    assert 'http-equiv="refresh" content="1"' in live
    assert live.replace('<meta http-equiv="refresh" content="1">', "") == done
    assert re.findall(r'src="([^"]*)"', done) == ["loss.svg", "a &amp; b.png"]
    assert "<h1>&lt;title&gt;</h1>" in done
    empty = pictures.page(tmp_path / "watch", [], "t", live=True).read_text("utf-8")
    assert "Nothing is drawn yet" in empty
    assert "Nothing is drawn yet" not in done


@pytest.mark.usefixtures("ours")
def test_a_picture_is_replaced_in_one_step(tmp_path, monkeypatch):
    first = pictures.loss_curve(tmp_path / "loss", [1.0], "one").read_text("utf-8")

    def full(part, *arguments, **options):
        part.write_bytes(b"<svg half")
        raise OSError("no space left")

    monkeypatch.setattr(type(tmp_path), "write_text", full)
    with pytest.raises(OSError, match="no space"):
        pictures.loss_curve(tmp_path / "loss", [2.0], "two")
    assert (tmp_path / "loss.svg").read_bytes().decode() == first


def test_now_and_then_is_not_too_often_and_takes_a_fifth_of_the_time(monkeypatch):
    clock = [100.0]
    monkeypatch.setattr("engine.progress.time.perf_counter", lambda: clock[0])
    seen = []

    def slow(text):
        seen.append((clock[0], text))
        clock[0] += 3.0

    watch = NowAndThen(slow, seconds=1.0)
    for step in range(40):
        watch(step)
        clock[0] += 0.5
    assert seen == [(101.0, 2), (116.0, 26)]


def test_the_box_has_room_around_the_points():
    box = pictures.extent(np.array([[0.0, 2.0], [1.0, 5.0]]), room=0.5)
    assert box == (-0.5, 1.5, 1.5, 5.5)


def test_matplotlib_draws_the_same_four_as_png(tmp_path):
    pytest.importorskip("matplotlib")
    rng = np.random.default_rng(0)
    points, labels = rng.random((5, 2)), np.array([0, 1, 0, 1, 1])
    written = [
        pictures.loss_curve(tmp_path / "loss", [2.0, 1.0], "t"),
        pictures.sheet(tmp_path / "digits", rng.random((3, 8, 8)), *[np.arange(3)] * 2, "t"),
        pictures.boundary(tmp_path / "moons", points, labels, rng.normal(size=(4, 4)), "t"),
        pictures.histograms(tmp_path / "gradients", GRADIENTS, "t"),
    ]
    assert [path.stem for path in written] == ["loss", "digits", "moons", "gradients"]
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(p.name for p in written)
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
