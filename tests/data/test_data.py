"""The digits, the moons, and files of the user's own."""

import hashlib
import io
import re
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import engine
from engine import data

NOTE = Path(data.__file__).with_name("digits.txt").read_text(encoding="utf-8")


def test_digits_have_their_shapes_dtypes_and_range():
    images, labels = data.digits()
    assert images.shape == (1797, 8, 8)
    assert labels.shape == (1797,)
    assert images.dtype == engine.float32
    assert labels.dtype == engine.int64
    sixteenths = images.numpy() * 16
    assert set(np.unique(sixteenths)) == set(range(17))
    assert np.bincount(labels.numpy()).tolist() == [
        178, 182, 177, 183, 181, 182, 181, 179, 174, 180,
    ]  # fmt: skip


def test_digits_are_those_whose_digest_the_note_gives():
    images, labels = data.digits()
    pixels = (images.numpy() * 16).astype(np.uint8).tobytes()
    digest = hashlib.sha256(pixels + labels.numpy().astype(np.uint8).tobytes()).hexdigest()
    assert digest == re.search(r"[0-9a-f]{64}", NOTE)[0]


def test_the_first_digit_is_a_zero_with_the_known_pixels():
    images, labels = data.digits()
    assert labels[0].item() == 0
    assert (images[0] * 16)[:2].tolist() == [
        [0, 0, 5, 13, 9, 1, 0, 0],
        [0, 0, 13, 15, 10, 15, 5, 0],
    ]


def test_the_note_names_source_and_licence():
    for words in ("Alpaydin", "Kaynak", "load_digits", "BSD 3-Clause", "Redistributions in binary"):
        assert words in NOTE


def test_each_call_gives_digits_of_its_own():
    data.digits()[0].zero_()
    assert data.digits()[0].max().item() == 1.0


def test_a_python_without_lzma_is_told_so(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "lzma", None)
    with pytest.raises(ModuleNotFoundError, match="digits: this Python was built without lzma"):
        data.digits()


def test_the_split_of_the_digits_is_that_of_scikit_learn():
    x, y, test_x, test_y = data.split(*data.digits())
    assert (len(x), len(y), len(test_x), len(test_y)) == (1437, 1437, 360, 360)
    assert y[:10].tolist() == [6, 5, 3, 4, 4, 4, 8, 8, 7, 0]
    assert test_y[:10].tolist() == [2, 8, 2, 6, 6, 7, 1, 9, 8, 5]


@settings(max_examples=25, deadline=None)
@given(count=st.integers(2, 60), seed=st.integers(0, 2**32 - 1), share=st.floats(0, 1))
def test_a_split_keeps_every_sample_once_with_its_label(count, seed, share):
    test = 1 + int(share * (count - 2))
    x = engine.arange(count)
    parts = data.split(x, x * 10, test, seed)
    assert len(parts[2]) == test
    assert sorted([*parts[0].tolist(), *parts[2].tolist()]) == list(range(count))
    assert parts[1].tolist() == [10 * n for n in parts[0].tolist()]
    assert parts[3].tolist() == [10 * n for n in parts[2].tolist()]


@pytest.mark.parametrize(
    ("labels", "test", "text"),
    [
        (5, 0, "one less than their number; got 5 samples, 5 labels and test=0"),
        (5, 5, "test=5"),
        (4, 2, "a label for each.* got 5 samples, 4 labels"),
    ],
)
def test_a_split_into_nothing_is_refused(labels, test, text):
    with pytest.raises(ValueError, match=text):
        data.split(engine.zeros(5, 2), engine.zeros(labels), test)


def test_moons_lie_on_two_arcs():
    points, labels = data.moons(200, noise=0.0, seed=3)
    assert points.dtype == engine.float32
    assert labels.dtype == engine.int64
    assert labels.sum().item() == 100
    x, y, k = points[:, 0].numpy(), points[:, 1].numpy(), labels.numpy()
    np.testing.assert_allclose(np.hypot(x - k, y - 0.5 * k), 1.0, atol=1e-6)
    assert (y[k == 0] >= 0).all()
    assert (y[k == 1] <= 0.5).all()


def test_moons_are_the_same_for_one_seed_and_as_noisy_as_asked():
    first, again, other = (data.moons(2000, 0.2, seed)[0] for seed in (1, 1, 2))
    assert first.tolist() == again.tolist() != other.tolist()
    noise = (first - data.moons(2000, 0.0, 1)[0]).numpy()
    assert noise.std() == pytest.approx(0.2, rel=0.05)
    assert data.moons(0)[0].shape == (0, 2)


@pytest.mark.parametrize(("n", "noise"), [(-1, 0.1), (3, -0.1), (3, float("nan"))])
def test_moons_of_a_negative_size_are_refused(n, noise):
    with pytest.raises(ValueError, match=f"at least 0; got n={n} and noise={noise}"):
        data.moons(n, noise)


@pytest.mark.parametrize("names", [("images", "labels"), ("x", "y"), ("X", "y")])
def test_a_npz_file_is_read_as_it_stands(tmp_path, names):
    images, labels = np.arange(24).reshape(2, 3, 4), np.array([1.0, 0.0])
    np.savez(tmp_path / "own.npz", **dict(zip(names, (images, labels), strict=True)))
    x, y = data.load(tmp_path / "own.npz")
    assert x.dtype == engine.float32
    assert x.tolist() == images.tolist()
    assert y.tolist() == [1, 0]
    assert y.dtype == engine.int64


@pytest.mark.parametrize("heading", ["", "width,height,kind\n", "\ufeffa,b,c\n"])
def test_a_csv_file_has_the_label_last_and_perhaps_a_heading(tmp_path, heading):
    path = tmp_path / "own.CSV"
    path.write_text(heading + "1,2.5,0\n\n-3,4e1,2\n", encoding="utf-8")
    x, y = data.load(str(path))
    assert x.tolist() == [[1.0, 2.5], [-3.0, 40.0]]
    assert y.tolist() == [0, 2]


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("", "holds no samples"),
        ("a,b\n", "holds no samples"),
        ("1\n2\n", "needs at least two columns, the label last"),
        ("1,2\n1,x\n", "could not convert string 'x'"),
        ("1,2\n1,2,3\n", "number of columns changed from 2 to 3"),
        ("1,nan\n", "labels must be finite and fit float32; got inf, nan or"),
        ("inf,1\n", "samples must be finite and fit float32; got inf, nan or"),
        ("1e39,1\n", "samples must be finite and fit float32"),
        ("1,0.5\n", "labels must be whole numbers from 0 to 999"),
        ("1,-1\n", "labels must be whole numbers from 0 to 999"),
        ("1,1000\n", "labels must be whole numbers from 0 to 999"),
    ],
)
def test_a_csv_file_that_cannot_be_used_is_refused_in_one_line(tmp_path, text, fault):
    path = tmp_path / "bad.csv"
    path.write_text(text)
    with pytest.raises(ValueError, match=re.escape(fault)) as caught:
        data.load(path)
    assert str(caught.value).startswith(f"{path}: ")
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("arrays", "fault"),
    [
        ({"a": [1]}, "needs arrays 'images' and 'labels'; got ['a']"),
        ({"x": [[1]], "y": ["a"]}, "labels must be numbers; got <U1"),
        ({"x": [[1j]], "y": [1]}, "samples must be numbers; got complex128"),
        ({"x": [1, 2], "y": [1, 2]}, "shape (n, ...) and labels of shape (n,); got (2,) and (2,)"),
        ({"x": [[1], [2]], "y": [1]}, "got (2, 1) and (1,)"),
        ({"x": [[1]], "y": [[1]]}, "got (1, 1) and (1, 1)"),
        ({"x": np.zeros((0, 3)), "y": np.zeros(0)}, "got (0, 3) and (0,)"),
    ],
)
def test_a_npz_file_that_cannot_be_used_is_refused_in_one_line(tmp_path, arrays, fault):
    path = tmp_path / "bad.npz"
    np.savez(path, **{name: np.array(array) for name, array in arrays.items()})
    with pytest.raises(ValueError, match=re.escape(fault)) as caught:
        data.load(path)
    assert str(caught.value).startswith(f"{path}: ")
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("content", [b"", b"no archive", b"PK\x03\x04 broken"])
def test_a_broken_archive_is_refused_in_one_line(tmp_path, content):
    path = tmp_path / "bad.npz"
    path.write_bytes(content)
    with pytest.raises(ValueError, match=r"bad\.npz: ") as caught:
        data.load(path)
    assert "\n" not in str(caught.value)


@settings(max_examples=150, deadline=None)
@given(place=st.integers(0, 10_000), byte=st.integers(1, 255), cut=st.booleans())
def test_a_damaged_archive_is_read_or_refused_in_one_line(tmp_path_factory, place, byte, cut):
    file = io.BytesIO()
    np.savez_compressed(file, x=np.arange(24.0).reshape(6, 4), y=np.arange(6))
    content = bytearray(file.getvalue())
    place %= len(content)
    content[place] ^= byte
    path = tmp_path_factory.getbasetemp() / "damaged.npz"
    path.write_bytes(content[:place] if cut else content)
    answer = loaded_or_refused(path)
    if isinstance(answer, str):
        assert "damaged.npz" in answer
        assert "\n" not in answer
    else:
        assert len(answer[0]) == len(answer[1])


def loaded_or_refused(path):
    try:
        return data.load(path)
    except (ValueError, OSError) as error:
        return str(error)


def test_an_array_of_objects_is_never_unpickled(tmp_path):
    path = tmp_path / "bad.npz"
    np.savez(path, x=np.array([[object()]], dtype=object), y=np.array([1]))
    with pytest.raises(ValueError, match="allow_pickle=False"):
        data.load(path)


def test_a_single_array_is_told_from_an_archive(tmp_path):
    np.save(tmp_path / "one.npy", np.ones(3))
    path = (tmp_path / "one.npy").rename(tmp_path / "one.npz")
    with pytest.raises(ValueError, match=r"a single array, not a .npz archive"):
        data.load(path)


def test_missing_files_and_other_endings_are_refused(tmp_path):
    with pytest.raises(FileNotFoundError):
        data.load(tmp_path / "none.csv")
    with pytest.raises(ValueError, match=r"own.txt: the name must end in .npz or .csv"):
        data.load(tmp_path / "own.txt")
