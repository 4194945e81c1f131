"""save and load: safetensors files that nothing on the way breaks, and that break nothing."""

import errno
import io
import json
import os
import pickle
import signal
import stat
import subprocess
import sys
import time
from collections import OrderedDict
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, strategies as st
from hypothesis.extra import numpy as arrays_of

import engine
from engine import Value, files, safetensors

DTYPES = [engine.float64, engine.float32, engine.float16, engine.int64, engine.int32]
DTYPES += [engine.int16, engine.int8, engine.uint8, engine.bool]


def written(obj):
    stream = io.BytesIO()
    engine.save(obj, stream)
    return stream.getvalue()


def read(data, **options):
    return engine.load(io.BytesIO(data), **options)


def through(obj):
    return read(written(obj))


def test_save_and_load_go_through_a_path_or_a_file(tmp_path):
    state = OrderedDict(w=engine.ones(2, requires_grad=True), n=3, t="text", k=engine.float64)
    engine.save(state, tmp_path / "state.safetensors")
    for found in (engine.load(str(tmp_path / "state.safetensors")), through(state)):
        assert type(found) is OrderedDict
        assert list(found) == ["w", "n", "t", "k"]
        assert found["w"].requires_grad
        assert found["k"] is engine.float64


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_every_dtype_and_shape_comes_back(dtype):
    x = engine.tensor([[1, 0, 3], [0, 1, 1]], dtype=dtype)
    for t in (x, x.t(), x[:, ::2], x[0, 0], x[:, :0], engine.zeros(1, dtype=dtype).expand(3)):
        found = through(t)
        assert (found.dtype, found.shape) == (t.dtype, t.shape)
        assert found.tolist() == t.tolist()
        found.zero_()  # its memory is its own


def test_values_parameters_arrays_and_containers_come_back_as_what_they_are():
    p = engine.nn.Parameter(engine.ones(1), requires_grad=False)
    v = Value(0.1, label="v")
    v.grad = 2.5
    kept = [v, p, {1, "a"}, np.ones(2), (engine.Size([2]), None, True), np.float32(0.5)]
    v2, p2, items, array, (size, nothing, yes), number = through(kept)
    assert (v2.data, v2.grad, v2.label) == (0.1, 2.5, "v")
    assert (type(p2), p2.requires_grad) == (engine.nn.Parameter, False)
    assert (items, array.tolist(), nothing, yes) == ({1, "a"}, [1.0, 1.0], None, True)
    assert (type(size), size) == (engine.Size, engine.Size([2]))
    assert (type(number), number) == (np.float32, 0.5)
    assert through(engine.device("cpu", 0)) == engine.device("cpu", 0)


def test_a_tensor_that_stands_twice_is_one_and_keeps_its_attributes():
    x = engine.ones(2)
    x.label, x.scale = "weights", [1.0, float("inf")]
    a, b = through([x, x])
    assert a is b
    assert (a.label, a.scale) == ("weights", [1.0, float("inf")])


def test_keys_that_lead_to_one_name_do_not_disturb_each_other():
    state = {
        "a": {"b": engine.ones(1)},
        "a.b": engine.zeros(1),
        1: {},
        "__metadata__": engine.ones(2),
    }
    found = through(state)
    assert (found["a"]["b"].item(), found["a.b"].item(), found[1]) == (1.0, 0.0, {})
    assert found["__metadata__"].tolist() == [1.0, 1.0]


def test_hooks_are_left_behind_with_a_warning():
    x = engine.ones(1, requires_grad=True)
    x.register_hook(lambda g: g)
    with pytest.warns(UserWarning, match="hooks will not be serialized"):
        written(x)


arrays = arrays_of.arrays(
    st.sampled_from([np.float64, np.float32, np.int16, np.bool_]),
    arrays_of.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=3),
)
leaves = st.one_of(
    arrays,
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(),
    st.text(st.characters()),
)
keys = st.one_of(st.text(), st.integers(-(2**59), 2**59), st.booleans(), st.none())
objects = st.recursive(
    leaves,
    lambda inner: st.one_of(
        st.lists(inner, max_size=4),
        st.lists(inner, max_size=4).map(tuple),
        st.dictionaries(keys, inner, max_size=4),
        st.dictionaries(st.text(), inner, max_size=4).map(OrderedDict),
    ),
    max_leaves=12,
)


def alike(a, b):
    """Whether two objects are equal to the last bit, nan included."""
    if type(a) is not type(b):
        return False
    if isinstance(a, np.ndarray):
        return (a.dtype, a.shape, a.tobytes()) == (b.dtype, b.shape, b.tobytes())
    if isinstance(a, dict):
        return list(a) == list(b) and all(alike(a[k], b[k]) for k in a)
    if isinstance(a, (list, tuple)):
        return len(a) == len(b) and all(map(alike, a, b))
    return repr(a) == repr(b)


@given(objects)
def test_whatever_is_saved_comes_back_to_the_last_bit(obj):
    assert alike(through(obj), obj)


# --- the official package ---


def test_the_official_package_reads_our_files(tmp_path):
    official = pytest.importorskip("safetensors.numpy")
    layer = engine.nn.Linear(3, 2)
    state = {"step": engine.tensor(3), "model": layer.state_dict(), "half": engine.ones(3).half()}
    engine.save(state, tmp_path / "f")
    found = official.load_file(tmp_path / "f")
    assert set(found) == {"step", "model.weight", "model.bias", "half"}
    assert found["model.weight"].tolist() == layer.weight.tolist()
    assert (found["half"].dtype, found["step"].dtype) == (np.float16, np.int64)


@given(st.dictionaries(st.text(), arrays, max_size=4))
def test_both_packages_read_what_either_wrote(found):
    official = pytest.importorskip("safetensors.numpy")
    found.pop("__metadata__", None)
    theirs = read(official.save(found))
    assert alike({k: t.numpy() for k, t in theirs.items()}, {k: found[k] for k in theirs})
    assert set(theirs) == set(found)
    ours = official.load(written(found))
    assert {a.tobytes() for a in ours.values()} == {a.tobytes() for a in found.values()}


# --- what is refused ---


@pytest.mark.parametrize(
    ("obj", "text"),
    [
        ({"f": print}, r"got one of type builtins.builtin_function_or_method at 'f'.*pickle_prot"),
        (engine.nn.Linear(1, 1), r"Linear at 'the top': save its state_dict\(\)"),
        ({"a": [1, {(1, 2): 3}]}, r"one as a key of type builtins.tuple at 'a\.1\.\(1, 2\)'"),
        ({2**60: 1}, "one as a key of type builtins.int"),
        (np.ones(1, complex), "one of complex128 of type numpy.ndarray"),
        (np.array([None]), "one of object of type"),
    ],
    ids=str,
)
def test_what_such_a_file_cannot_hold_is_refused_with_its_place_and_the_cure(obj, text):
    with pytest.raises(TypeError, match=text):
        written(obj)


def test_private_attributes_are_refused_and_not_dropped():
    x = engine.ones(1)
    x._cache = 1
    with pytest.raises(TypeError, match=r"private names of type builtins.dict at 'w.__dict__'"):
        written({"w": x})


def test_a_list_that_holds_itself_is_refused():
    endless = []
    endless.append(endless)
    with pytest.raises(ValueError, match="holds itself"):
        written(endless)


def test_a_structure_too_long_to_be_read_is_not_written(tmp_path):
    path = tmp_path / "f"
    with pytest.raises(ValueError, match="put many numbers into one tensor"):
        engine.save("x" * safetensors.LONGEST, path)
    assert list(tmp_path.iterdir()) == []


class Runs:
    """A pickle of it runs code."""

    ran = False

    @staticmethod
    def run():
        Runs.ran = True

    def __reduce__(self):
        return Runs.run, ()


sys.modules.setdefault(__name__, type(sys)(__name__)).Runs = Runs


@pytest.mark.parametrize("protocol", [2, 3, 4, 5])
def test_a_pickle_is_written_and_read_on_request_alone(protocol):
    stream = io.BytesIO()
    engine.save({"f": Runs(), "x": engine.ones(1)}, stream, pickle_protocol=protocol)
    with pytest.raises(pickle.UnpicklingError, match=r"may run any code.*weights_only=False"):
        read(stream.getvalue())
    assert Runs.ran is False
    assert read(stream.getvalue(), weights_only=False)["x"].tolist() == [1.0]
    assert Runs.ran is True
    Runs.ran = False


def test_no_pickle_is_touched_unless_asked_for(monkeypatch):
    for name in ("dump", "dumps", "load", "loads", "Pickler", "Unpickler"):
        monkeypatch.setattr(pickle, name, None)
    x = engine.ones(2, requires_grad=True)
    assert through({"x": x, "v": Value(1.0)})["x"].tolist() == [1.0, 1.0]
    assert read(written(x), weights_only=False).tolist() == [1.0, 1.0]


def test_a_file_of_torch_save_is_named():
    with pytest.raises(pickle.UnpicklingError, match=r"zip archive, such as torch.save writes"):
        read(b"PK\x03\x04" + bytes(40))


# --- hostile files ---

STATE = {"w": engine.ones(2, 3), "b": engine.zeros(0, 3), "n": [1, Value(2.0)], "e": engine.ones(1)}


def test_every_single_bit_of_a_file_is_watched():
    data = written(STATE)
    for place in range(len(data)):
        for bit in range(8):
            flipped = bytearray(data)
            flipped[place] ^= 1 << bit
            with pytest.raises((ValueError, pickle.UnpicklingError)):
                read(bytes(flipped))


def test_every_truncation_and_any_longer_file_is_refused():
    data = written(STATE)
    for length in range(len(data)):
        with pytest.raises(ValueError, match="cut short or of another kind"):
            read(data[:length])
    with pytest.raises(ValueError, match=r"got \d+ bytes of numbers, where the header describes"):
        read(data + b"\0")


def file_of(header, numbers=b""):
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    return len(text).to_bytes(8, "little") + text + numbers


def entry(dtype="F32", shape=(1,), offsets=(0, 4), **more):
    return {"dtype": dtype, "shape": list(shape), "data_offsets": list(offsets), **more}


DAMAGED = {
    "empty": (b"", "got 0 bytes"),
    "huge header": ((2**62).to_bytes(8, "little") + b"{}", "the header should take 8 [+] 46116860"),
    "no JSON": (file_of(b"{nothing"), "no regular JSON"),
    "no UTF-8": (file_of(b'{"\xff": 1}'), "no regular JSON"),
    "deep": (file_of(b'{"a":' + b"[" * 200_000), "no regular JSON"),
    "long number": (file_of(b'{"a":' + b"1" * 5000 + b"}"), "no regular JSON"),
    "twice": (file_of(b'{"a":{},"b":1,"a":{}}'), "the name 'a' comes twice"),
    "a list": (file_of(b"{}".replace(b"{}", b"[{}]")), "got a list for header"),
    "fields": (file_of({"a": {"dtype": "F32"}}), "without dtype, shape and data_offsets"),
    "more fields": (file_of({"a": entry(x=1)}, bytes(4)), "or with more"),
    "dtype": (file_of({"a": entry("BF16", (2,))}, bytes(4)), "of dtype 'BF16', where one of"),
    "dtype kind": (file_of({"a": entry([1])}, bytes(4)), r"of dtype \[1\]"),
    "negative": (file_of({"a": entry(shape=(-1,))}, bytes(4)), "no list of sizes"),
    "bool size": (file_of({"a": entry(shape=(True,))}, bytes(4)), "no list of sizes"),
    "float size": (file_of({"a": entry(shape=(1.0,))}, bytes(4)), "no list of sizes"),
    "many sizes": (file_of({"a": entry(shape=(1,) * 65)}, bytes(4)), "no list of up to 64"),
    "overflow": (file_of({"a": entry(shape=(2**62, 4))}, bytes(4)), "at the bytes"),
    "wide nothing": (
        file_of({"a": entry(shape=(0, 2**62, 2**62), offsets=(0, 0))}),
        "too large for any array",
    ),
    "offsets": (file_of({"a": entry(offsets=(4, 0))}, bytes(4)), r"4 bytes by its shape \[1\]"),
    "three": (file_of({"a": entry(offsets=(0, 4, 8))}, bytes(4)), "no list of up to 2"),
    "overlap": (file_of({"a": entry(), "b": entry()}, bytes(8)), "'b' at byte 0, where byte 4"),
    "hole": (file_of({"a": entry(offsets=(4, 8))}, bytes(8)), "'a' at byte 4, where byte 0"),
    "beyond": (file_of({"a": entry()}, bytes(3)), "got 3 bytes of numbers, where .* describes 4"),
    "metadata": (file_of({"__metadata__": {"a": 1}}), "no dict of texts"),
    "bool": (file_of({"a": entry("BOOL", (4,))}, b"\0\1\2\0"), "neither 0 nor 1"),
    "half ours": (file_of({"__metadata__": {"engine.structure": "1"}}), "differ from the checksum"),
}


@pytest.mark.parametrize("name", DAMAGED)
def test_a_file_made_to_harm_gets_an_error_that_says_what_is_wrong(name):
    data, text = DAMAGED[name]
    with pytest.raises(ValueError, match=text) as error:
        read(data)
    assert "must be a whole safetensors file" in str(error.value)


def forged(structure, arrays=None):
    """A file whose checksum is right and whose structure is not what save writes."""
    arrays = arrays or {"a": np.ones(2, np.int64)}
    text = structure if isinstance(structure, str) else json.dumps(structure)
    stream = io.BytesIO()
    metadata = {files.STRUCTURE: text, files.CHECKSUM: files.checksum(arrays, text)}
    safetensors.write(stream, arrays, metadata)
    return stream.getvalue()


@pytest.mark.parametrize(
    "structure",
    [
        "",
        "[" * 100_000,
        [],
        {},
        ["print"],
        ["METHODS"],
        [["list"]],
        ["tensor", "b", False, None],
        ["tensor", "a", True, None],
        ["tensor", "a", False, ["dict", ["_array", 1]]],
        ["tensor", "a", False, 3],
        ["tensor", ["a"], False, None],
        ["again", 0],
        ["value", "text", None, True, None],
        ["value", 10**400, None, True, None],
        ["value", 1.0, None, True, ["dict", ["__class__", 1]]],
        ["value", 1.0, None, True, ["dict", ["_a", 1]]],
        ["dict", [["list"], 1]],
        ["dict", ["a", 1], ["a", 2]],
        ["dict", [2**61 - 1, 1]],
        ["set", ["list"]],
        ["dtype", "object"],
        ["device", "cuda"],
        ["float", "text"],
        ["number", "c"],
    ],
    ids=lambda x: str(x)[:40],
)
def test_a_forged_structure_is_refused(structure):
    with pytest.raises(ValueError, match="that save does not write"):
        read(forged(structure))


@contextmanager
def refusal_allowed(text):
    """Nothing happens in the block, or load refuses with this text."""
    try:
        yield
    except ValueError as e:
        if text not in str(e):
            raise


words = st.sampled_from(
    "list tuple dict ordered tensor parameter again value array number set float dtype device a "
    "size float64 nan cpu".split()
)
atoms = st.one_of(words, st.none(), st.booleans(), st.integers(-2, 2), st.floats())
structures = st.recursive(atoms, lambda s: st.builds(lambda w, r: [w, *r], words, st.lists(s)))


@given(structures)
def test_any_structure_is_read_or_refused_and_nothing_else(structure):
    with refusal_allowed("engine.structure that save does not write"):
        read(forged(structure))


@given(st.binary(max_size=200))
def test_any_bytes_are_refused(data):
    with pytest.raises((ValueError, pickle.UnpicklingError)):
        read(data)


@given(st.data())
def test_any_bytes_put_into_a_file_are_noticed(data):
    whole = bytearray(written(STATE))
    start = data.draw(st.integers(0, len(whole) - 1))
    old = bytes(whole[start : start + 8])
    whole[start : start + 8] = new = data.draw(st.binary(max_size=12))
    if new != old:
        with pytest.raises((ValueError, pickle.UnpicklingError)):
            read(bytes(whole))


@given(
    st.dictionaries(
        st.sampled_from(["a", "b", "__metadata__"]),
        st.fixed_dictionaries(
            {
                "dtype": st.sampled_from(["F32", "I8", "BOOL", "F64", "X", None]),
                "shape": st.lists(st.integers(-1, 3), max_size=3) | st.just([2**40, 2**40]),
                "data_offsets": st.lists(st.integers(-1, 16), min_size=1, max_size=3),
            }
        ),
    ),
    st.integers(0, 24),
)
def test_a_header_is_read_only_where_it_agrees_with_the_file(header, size):
    with refusal_allowed("must be a whole safetensors file"):
        found = read(file_of(header, bytes(size)))
        assert sum(t.numpy().nbytes for t in found.values()) == size


MEASURED = """
import io, resource, sys, engine
from engine import safetensors
limit = safetensors.LONGEST
text = b'{"a":[' + b"[]," * (limit // 3 - 10) + b"[]]}"
data = len(text).to_bytes(8, "little") + text
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
for made in (data, (2**60).to_bytes(8, "little") + b"{}"):
    try:
        engine.load(io.BytesIO(made))
    except ValueError:
        pass
    else:
        raise SystemExit("read")
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="memory is counted by Linux's getrusage")
def test_the_worst_header_takes_less_than_300_mb():
    assert int(in_fresh_python(MEASURED)) < 300_000


# --- disk full, kill -9, Ctrl-C ---


def in_fresh_python(program, *arguments):
    root = Path(engine.__file__).parent.parent
    variables = os.environ | {"PYTHONPATH": str(root)}
    command = [sys.executable, "-c", program, *map(str, arguments)]
    done = subprocess.run(command, env=variables, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture
def old(tmp_path):
    path = tmp_path / "state.safetensors"
    engine.save({"x": engine.arange(5)}, path)
    return path


def assert_old_is_whole(path):
    assert engine.load(path)["x"].tolist() == [0, 1, 2, 3, 4]


@pytest.mark.parametrize("call", ["fsync", "replace"])
@pytest.mark.parametrize("error", [OSError(errno.ENOSPC, "No space left"), KeyboardInterrupt()])
def test_an_error_while_saving_leaves_the_old_file_whole_and_nothing_beside(
    old, call, error, monkeypatch
):
    def fails(*arguments):
        raise error

    monkeypatch.setattr(os, call, fails)
    with pytest.raises(type(error)):
        engine.save({"x": engine.zeros(1000)}, old)
    monkeypatch.undo()
    assert_old_is_whole(old)
    assert list(old.parent.iterdir()) == [old]


FULL = """
import resource, sys, engine
resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))
try:
    engine.save({"x": engine.zeros(100_000)}, sys.argv[1])
except OSError as e:
    print(e.errno)
"""


@pytest.mark.skipif(os.name != "posix", reason="the size of files is limited by setrlimit")
def test_a_disk_that_fills_up_half_way_leaves_the_old_file_whole(old):
    assert int(in_fresh_python(FULL, old)) == errno.EFBIG
    assert_old_is_whole(old)
    assert list(old.parent.iterdir()) == [old]


ENDLESS = """
import sys, engine
x = engine.arange(5)
big = engine.zeros(300_000)
print("ready", flush=True)
while True:
    engine.save({"x": x, "big": big}, sys.argv[1])
"""


@pytest.mark.skipif(os.name != "posix", reason="kill -9")
def test_kill_9_at_any_moment_leaves_a_whole_file(old):
    root = Path(engine.__file__).parent.parent
    variables = os.environ | {"PYTHONPATH": str(root)}
    command = [sys.executable, "-c", ENDLESS, str(old)]
    for i in range(4):
        child = subprocess.Popen(command, env=variables, stdout=subprocess.PIPE)
        with child.stdout:
            child.stdout.readline()
            time.sleep(0.013 * i)
            child.send_signal(signal.SIGKILL)
            child.wait()
        assert_old_is_whole(old)


@pytest.mark.skipif(os.name != "posix", reason="modes and links of POSIX")
def test_mode_and_link_of_the_old_file_stay(old):
    old.chmod(0o640)
    link = old.parent / "link"
    link.symlink_to(old)
    engine.save({"x": engine.arange(5)}, link)
    assert link.is_symlink()
    assert stat.S_IMODE(old.stat().st_mode) == 0o640
    assert_old_is_whole(link)


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="a device that is full")
def test_a_device_is_written_to_and_never_replaced():
    with pytest.raises(OSError, match="No space left"):
        engine.save(engine.zeros(100_000), "/dev/full")
    assert stat.S_ISCHR(os.stat("/dev/full").st_mode)


# --- training goes on ---


def training():
    engine.manual_seed(0)
    net = engine.nn.Sequential(engine.nn.Linear(3, 4), engine.nn.Tanh(), engine.nn.Linear(4, 1))
    return net, engine.optim.Adam(net.parameters(), lr=0.1)


def steps(net, optimizer, count):
    for _ in range(count):
        optimizer.zero_grad()
        (net(engine.randn(5, 3)) - engine.rand(5, 1)).pow(2).mean().backward()
        optimizer.step()


def test_training_that_was_stopped_and_resumed_gives_the_same_bits(tmp_path):
    net, optimizer = training()
    steps(net, optimizer, 4)
    state = {"net": net.state_dict(), "optimizer": optimizer.state_dict()}
    engine.save(state | {"random": engine.get_rng_state()}, tmp_path / "checkpoint")
    steps(net, optimizer, 4)

    resumed, again = training()
    steps(resumed, again, 1)
    state = engine.load(tmp_path / "checkpoint")
    resumed.load_state_dict(state["net"])
    again.load_state_dict(state["optimizer"])
    engine.set_rng_state(state["random"])
    steps(resumed, again, 4)
    for a, b in zip(net.parameters(), resumed.parameters(), strict=True):
        assert a.numpy(force=True).tobytes() == b.numpy(force=True).tobytes()
