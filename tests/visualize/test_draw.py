"""Pictures of graphs: what they show, that they are well-formed, and where their boxes stand."""

import os
import re
import sys
import xml.etree.ElementTree as ET
from types import SimpleNamespace

import pytest
from hypothesis import given, strategies as st
from visualize.browser import BROWSER, needs_browser

import engine
from engine.visualize import converting, draw
from engine.visualize.boxes import boxes_of
from engine.visualize.folding import folded
from engine.visualize.layout import layout
from engine.visualize.recording import Recorder

SVG = "{http://www.w3.org/2000/svg}"


def texts(drawing):
    """The words that a picture shows, box by box."""
    root = ET.fromstring(str(drawing))
    boxes = [g for g in root.iter(f"{SVG}g") if g.find(f"{SVG}rect") is not None]
    return [[text.text for text in g.findall(f"{SVG}text")] for g in boxes]


def small():
    """2 * x + 1, with a label at both ends."""
    x = engine.Value(3.0, label="x")
    y = 2 * x + 1
    y.label = "y"
    return x, y


def test_a_picture_shows_labels_operations_data_and_constants():
    _, y = small()
    assert texts(draw(y)) == [
        ["x", "data 3", "no gradient yet"],
        ["2"],
        ["*", "data 6", "no gradient yet"],
        ["1"],
        ["y  +", "data 7", "no gradient yet"],
    ]


def test_after_backward_a_picture_shows_the_gradients():
    x, y = small()
    y.backward()
    assert ["x", "data 3", "grad 2"] in texts(draw(y))
    x.zero_grad()
    assert ["x", "data 3", "no gradient yet"] in texts(draw(y))


def test_a_picture_stays_as_it_was_drawn():
    _, y = small()
    before = draw(y)
    y.backward()
    assert "grad 2" not in str(before) + before.tree() + before.dot()
    assert str(before) != str(draw(y))


def test_a_notebook_gets_the_same_svg_that_is_saved(tmp_path):
    drawing = draw(small()[1])
    path = drawing.save(tmp_path / "graph.svg")
    assert path.read_text(encoding="utf-8") == drawing._repr_svg_() == str(drawing)
    assert repr(drawing) == "<drawing of 5 nodes; .save('graph.svg') writes it>"


def test_a_value_used_twice_is_one_box_with_two_arrows():
    x = engine.Value(3.0)
    drawing = draw(x * x)
    assert len(texts(drawing)) == 2
    assert str(drawing).count('class="engine-arrow"') == 2


def test_numbers_on_the_left_and_options_of_operations_are_seen():
    x = engine.Value(2.0)
    assert texts(draw(1 - x))[1] == ["1"]
    assert texts(draw(x**3))[-1][0] == "**3"
    assert texts(draw(x.leaky_relu(0.1)))[-1][0] == "leaky_relu 0.1"
    assert [box.parents for box in boxes_of(1 - x)][-1] == [1, 0]
    assert [box.parents for box in boxes_of(x - 1)][-1] == [0, 1]


def test_nodes_made_by_hand_show_all_their_parents():
    a, b, c = map(engine.Value, (1.0, 2.0, 3.0))
    box = boxes_of(engine.Value(6.0, (a, b, c), (1.0, 2.0, 4.0)))[-1]
    assert (box.parents, box.slopes) == ([0, 1, 2], [1.0, 2.0, 4.0])


class Cube(engine.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x * x

    @staticmethod
    @engine.autograd.function.once_differentiable
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return g * 3 * x * x


def test_the_ctx_of_a_function_is_a_box_that_says_what_it_saved():
    x = engine.Value(2.0, label="x")
    shown = texts(draw(Cube.apply(x)))
    assert shown[1] == ["CubeBackward", "saved: 1", "once_differentiable"]
    assert shown[2] == ["data 8", "no gradient yet"]


def test_a_picture_of_tensors_shows_shapes_leaves_and_their_gradients():
    x = engine.ones(2, 3, requires_grad=True)
    x.label = "x"
    y = (2 * x + 1).sum()
    y.backward()
    shown = texts(draw(y))
    line = "data 1 … 1, mean 1"
    assert shown[0] == ["x", "float32 (2, 3)", line, "grad 2 … 2, mean 2"]
    assert shown[1] == ["2"]
    assert ["a constant"] in shown  # a sum keeps no operand
    assert shown[-1] == ["SumBackward0", "float32 ()", "data 18"]


# Their widths in 12 px of DejaVu Sans, bold: by cairosvg, which takes no list of fonts.
BOX = re.compile(r' x="([\d.]+)" y="[\d.]+" width="([\d.]+)".*?<text.*? x="([\d.]+)".*?>(\w+)')
WIDTHS = {"MmBackward0": 98.8, "ReluBackward0": 104.4, "SumBackward0": 104.1}


def test_headings_stay_inside_their_boxes_where_another_font_stands_in():
    x = engine.ones(2, 2, requires_grad=True)
    found = BOX.findall(str(draw((x @ x).relu().sum())))
    ends = {name: float(left) + float(wide) - float(at) for left, wide, at, name in found}
    assert {name for name, wide in WIDTHS.items() if wide + 2 < ends[name]} == set(WIDTHS)


def test_values_and_tensors_stand_in_one_picture():
    v = engine.Value(2.0, label="v")
    t = engine.ones(3, requires_grad=True)
    heads = [box[0] for box in texts(draw((v * t).sum()))]
    assert "v" in heads
    assert "MulBackward0" in heads


def test_a_tensor_without_gradient_is_drawn_as_a_constant():
    x = engine.ones(2, requires_grad=True)
    shown = texts(draw(x * engine.tensor([5.0, 7.0])))
    assert ["float32 (2,)", "data [5, 7]"] in shown


def test_several_results_are_drawn_in_one_picture():
    x = engine.Value(2.0)
    assert len(texts(draw([x + 1, x * x]))) == 4


def test_what_was_made_without_gradients_is_one_box():
    with engine.no_grad():
        y = engine.Value(2.0) * 3
    assert texts(draw(y)) == [["data 6", "no gradient yet"]]


@pytest.mark.parametrize("label", ["<b>&\"'", "]]>", "\x00\x1b[31m", "\ud800", "日本語 µ", "a\nb"])
def test_any_label_gives_well_formed_text(label, tmp_path):
    v = engine.Value(1.0) * 2
    v.label = label
    drawing = draw(v)
    head = texts(drawing)[-1][0]
    assert head.startswith("<b>&\"'") or "<" not in label
    for name in ("a.svg", "a.dot", "a.txt"):
        assert drawing.save(tmp_path / name).read_text(encoding="utf-8")


def test_a_label_is_one_line_of_dot_whatever_it_holds():
    v = engine.Value(1.0, label='a\\"\n"b')
    (line,) = [line for line in draw(v).dot().splitlines() if line.startswith("n0 ")]
    assert line == r'n0 [label="a\\\" \"b\ndata 1\nno gradient yet", style=bold]'


def test_nan_and_infinities_are_drawn():
    v = engine.Value(float("inf"))
    assert texts(draw(v - v))[-1][1] == "data nan"
    assert texts(draw(v))[0][0] == "data inf"


def test_the_tree_writes_each_node_once_and_refers_to_it():
    x, y = small()
    assert draw(y * x).tree() == (
        "#5  *   data 21   no gradient yet\n"
        "├─ #4  y  +   data 7   no gradient yet\n"
        "│  ├─ #2  *   data 6   no gradient yet\n"
        "│  │  ├─ 2\n"
        "│  │  └─ #0  x   data 3   no gradient yet\n"
        "│  └─ 1\n"
        "└─ #0  x   see there\n"
    )


def test_a_deep_tree_goes_on_at_the_left():
    v = engine.Value(1.0)
    for _ in range(200):
        v = v.sin()
    lines = draw(v).tree().splitlines()
    assert max(map(len, lines)) < 120
    written = [re.search(r"#(\d+)", line).group(1) for line in lines if "see below" not in line]
    assert sorted(map(int, written)) == list(range(201))


def test_a_chain_of_400_nodes_is_drawn_whole():
    v = engine.Value(1.0)
    for _ in range(399):
        v = v.sin()
    assert len(texts(draw(v))) == 400


def test_a_chain_of_100000_nodes_is_one_box_that_says_it_is_a_loop():
    v = engine.Value(1.0, label="x")
    for _ in range(100_000):
        v = v.sin()
    shown = texts(draw(v))
    assert len(shown) == 2
    assert shown[1][0] == "100000 × sin"
    assert shown[1][-1] == "a loop: of itself too"


def test_a_loop_is_folded_by_its_lines_where_they_are_known():
    def program():
        v, total = engine.Value(1.0, label="x"), engine.Value(0.0)
        for _ in range(300):
            v = v.sin() * 1.01
            total = total + v * v
        return total

    with Recorder():
        y = program()
    drawing = draw(y)
    first = program.__code__.co_firstlineno
    heads = {text[0]: text[-1] for text in texts(drawing)}
    assert heads["600 × sin *"] == f"test_draw.py:{first + 3}"
    assert heads["600 × * +"] == f"test_draw.py:{first + 4}"
    assert "those of one line or operation are drawn as one" in str(drawing)


def test_a_graph_too_large_to_draw_says_what_to_do():
    v = engine.Value(1.0)
    for i in range(600):
        v = v.sin()
        v.label = f"step {i}"
    with pytest.raises(ValueError, match=r"at most 500 nodes; this graph has 601, and 601"):
        draw(v)


def test_a_batch_folds_into_one_example_that_says_how_often():
    w = engine.Value(2.0, label="w")
    losses = [(w * engine.Value(float(i))).tanh() for i in range(300)]
    drawing = draw(losses)
    shown = texts(drawing)
    assert "901 nodes; those that were made alike are drawn as one" in str(drawing)
    assert ["300 × *", "data 0 … 598", "no gradient yet"] in shown
    assert len(shown) == 3


def test_folding_keeps_what_was_made_differently_apart():
    w = engine.Value(2.0)
    boxes = boxes_of([w.sin(), w.cos(), w.sin().cos()])
    made, _ = folded(boxes, most=4)
    assert [(box.op, box.count) for box in made] == [("", 1), ("sin", 2), ("cos", 1), ("cos", 1)]


def test_the_same_graph_gives_the_same_bytes():
    assert str(draw(small()[1])) == str(draw(small()[1]))


@pytest.mark.parametrize("wrong", [3.0, None, "v", [1.0]], ids=str)
def test_what_is_no_graph_is_refused_by_its_type(wrong):
    with pytest.raises(TypeError, match="draw: needs a Value or a Tensor"):
        draw(wrong)


def test_a_picture_is_not_saved_under_another_end(tmp_path):
    with pytest.raises(ValueError, match=r"ends in \.svg, .* or \.pdf; got .*graph\.gif"):
        draw(small()[1]).save(tmp_path / "graph.gif")


@needs_browser
@pytest.mark.parametrize(("kind", "begin"), [("png", b"\x89PNG"), ("pdf", b"%PDF")])
def test_png_and_pdf_are_made_by_chromium_where_nothing_else_is(kind, begin, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "cairosvg", None)
    monkeypatch.setattr(converting.shutil, "which", {"chromium": BROWSER}.get)
    drawing = draw(small()[1])
    made = drawing.save(tmp_path / f"graph.{kind}").read_bytes()
    assert made.startswith(begin)
    if kind == "png":
        wide, high = (int.from_bytes(made[i : i + 4], "big") for i in (16, 20))
        assert f'width="{wide // 2}" height="{high // 2}"' in str(drawing)
    else:
        assert len(re.findall(rb"/Type\s*/Page\b", made)) == 1


@pytest.mark.skipif(os.name == "nt", reason="the stand-in for a converter is a shell script")
@pytest.mark.parametrize("kind", ["png", "pdf"])
def test_png_and_pdf_are_made_by_the_converter_of_the_machine(kind, tmp_path, monkeypatch):
    converter = tmp_path / "rsvg-convert"
    converter.write_text('#!/bin/sh\necho "$@"\ncat\n')
    converter.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    drawing = draw(small()[1])
    made = drawing.save(tmp_path / f"graph.{kind}").read_text(encoding="utf-8")
    assert made == f"--format {kind} --zoom 2\n{drawing}"


def test_png_and_pdf_are_made_by_cairosvg_where_that_is_installed(tmp_path, monkeypatch):
    def svg2pdf(bytestring, scale):
        return b"%PDF " + bytestring + bytes([scale])

    stand_in = SimpleNamespace(svg2pdf=svg2pdf, svg2png=None)
    monkeypatch.setitem(sys.modules, "cairosvg", stand_in)
    monkeypatch.setenv("PATH", str(tmp_path))
    drawing = draw(small()[1])
    made = drawing.save(tmp_path / "graph.pdf").read_bytes()
    assert made == b"%PDF " + str(drawing).encode() + b"\x02"


def test_without_a_converter_png_says_what_to_install(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "cairosvg", None)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(ImportError, match=r"a \.png needs a converter; .*pip install cairosvg"):
        draw(small()[1]).save(tmp_path / "graph.png")


def test_lines_are_shown_where_anomaly_detection_noted_them():
    with engine.autograd.set_detect_anomaly(True):
        y = engine.Value(2.0) * 3
        z = (engine.ones(1, requires_grad=True) * 3).sum()
    line = test_lines_are_shown_where_anomaly_detection_noted_them.__code__.co_firstlineno + 2
    assert texts(draw(y))[-1][-1] == f"test_draw.py:{line}"
    assert texts(draw(z))[-1][-1] == f"test_draw.py:{line + 1}"


@st.composite
def graphs(draw):
    """Parents of each of some boxes, always with smaller numbers, and sizes."""
    count = draw(st.integers(1, 25))
    parents = [draw(st.lists(st.integers(0, i - 1), max_size=3)) if i else [] for i in range(count)]
    sizes = [(draw(st.integers(10, 200)), draw(st.integers(10, 80))) for _ in range(count)]
    return parents, sizes


@given(graphs())
def test_no_two_boxes_overlap_and_arrows_lead_to_the_right(graph):
    parents, sizes = graph
    plan = layout(sizes, parents)
    boxes = [
        (plan.x[i], plan.x[i] + wide, plan.y[i] - high / 2, plan.y[i] + high / 2)
        for i, (wide, high) in enumerate(sizes)
    ]
    for i, a in enumerate(boxes):
        assert a[0] >= 0
        assert a[2] >= -1e-6
        assert a[1] <= plan.wide
        assert a[3] <= plan.high + 1e-6
        for b in boxes[:i]:
            assert a[1] < b[0] or b[1] < a[0] or a[3] < b[2] or b[3] < a[2]
        assert all(boxes[p][1] < a[0] for p in parents[i])


@given(graphs())
def test_arrows_pass_beside_boxes_and_not_through_them(graph):
    parents, sizes = graph
    plan = layout(sizes, parents)
    for target, given_ in enumerate(parents):
        for source in given_:
            for way in plan.route(source, target):
                column = [i for i in range(len(sizes)) if plan.layer[i] == plan.layer[way]]
                for i in column:
                    assert abs(plan.y[way] - plan.y[i]) > sizes[i][1] / 2
