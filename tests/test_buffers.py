"""Big arrays of the compiled kernels: memory that was freed is used again, and is nobody else's."""

import contextvars
import ctypes
import gc
import os
import sys
import sysconfig

import numpy as np
import pytest
from fresh import printed
from numpy._core.multiarray import get_handler_name
from together import THREADS, in_threads, switching_often  # noqa: F401  a fixture

import engine
from engine import builds

fast = builds.module("kernels")

NUMPYS = "default_allocator"
SANITIZER = "libasan" in os.environ.get("LD_PRELOAD", "")  # it is to see each piece of memory
THREADED = sysconfig.get_config_var("Py_GIL_DISABLED")
KEEPS = engine.backend() == "cython" and not THREADED and not SANITIZER
OURS = "engine_buffers" if KEEPS else NUMPYS
BIG = 65_536  # bytes, as in buffers.h
keeping = pytest.mark.skipif(not KEEPS, reason="this build keeps no memory")


def numbers(size, number=1.0):
    """A contiguous float64 array of so many bytes, made by NumPy."""
    return np.full(size // 8, float(number))


@pytest.mark.parametrize(
    ("size", "handler"),
    [(BIG - 8, NUMPYS), (BIG, OURS), (64 << 20, OURS), ((64 << 20) + 8, NUMPYS)],
)
def test_arrays_from_64_kib_to_64_mib_have_memory_that_is_kept(size, handler):
    y = fast.copied(numbers(size))
    assert get_handler_name(y) == handler
    assert y.flags.owndata
    assert y.nbytes == size
    assert np.all(y == 1.0)


@keeping
def test_memory_that_was_freed_is_that_of_the_next_array_of_its_size():
    x = numbers(BIG * 3)
    y, other = fast.copied(x), fast.copied(x)
    assert not np.shares_memory(y, other)
    place = y.ctypes.data
    assert place % 64 == 0
    del y
    smaller, again = fast.copied(x[:-1]), fast.copied(x)
    assert smaller.ctypes.data != place
    assert again.ctypes.data == place


def test_an_array_with_kept_memory_can_grow_and_shrink():
    x = np.random.default_rng(0).standard_normal((300, 200))
    y = fast.copied(x)
    y.resize((400, 200), refcheck=False)
    assert np.array_equal(y[:300], x)
    assert not y[300:].any()
    y.resize((2, 200), refcheck=False)
    assert np.array_equal(y, x[:2])
    y.resize((0, 200), refcheck=False)
    assert y.size == 0


def test_arrays_made_by_the_user_keep_numpys_memory():
    before = numbers(BIG)
    a, b = engine.ones(200, 200, requires_grad=True), engine.ones(200, 200)
    (a @ b).relu().sum().backward()
    assert get_handler_name() == NUMPYS
    assert get_handler_name(before) == get_handler_name(numbers(BIG)) == NUMPYS
    assert get_handler_name((a @ b).detach().numpy()) == OURS
    context = contextvars.copy_context()
    assert context.run(get_handler_name) == NUMPYS
    assert in_threads(lambda i: get_handler_name()) == [NUMPYS] * THREADS


def users_handler():
    """NumPy's own allocator under another name, and the function that chooses an allocator."""
    pointer, text, thing = ctypes.c_void_p, ctypes.c_char_p, ctypes.py_object
    get = ctypes.PYFUNCTYPE(pointer, thing, text)(("PyCapsule_GetPointer", ctypes.pythonapi))
    new = ctypes.PYFUNCTYPE(thing, pointer, text, pointer)(("PyCapsule_New", ctypes.pythonapi))
    table = (ctypes.c_void_p * 307).from_address(get(np._core._multiarray_umath._ARRAY_API, None))
    choose = ctypes.PYFUNCTYPE(thing, thing)(table[304])
    numpys = thing.from_address(table[306]).value
    struct = ctypes.create_string_buffer(ctypes.string_at(get(numpys, b"mem_handler"), 168))
    struct[:6] = b"users\0"
    return struct, new(ctypes.addressof(struct), b"mem_handler", None), choose


KEPT_FOR_EVER = []  # an allocator outlives its arrays


def test_an_allocator_that_the_user_chose_is_used_for_all_arrays():
    struct, handler, choose = users_handler()
    KEPT_FOR_EVER.append(struct)

    def made():
        choose(handler)
        found = [get_handler_name(fast.copied(numbers(BIG))), get_handler_name(numbers(BIG))]
        return [*found, get_handler_name()]

    assert contextvars.copy_context().run(made) == ["users"] * 3
    assert get_handler_name(fast.copied(numbers(BIG))) == OURS


def test_threads_never_share_a_buffer(switching_often):  # noqa: F811
    sizes = [BIG * k for k in (1, 2, 3)]

    def work(i):
        wrong = 0
        for k in range(200):
            x = numbers(sizes[k % 3], i)
            y, z = fast.copied(x), fast.relu_forward(x)
            y += 1.0
            wrong += not (np.all(y == i + 1) and np.all(z == i))
        return wrong

    assert in_threads(work) == [0] * THREADS


FORKS = """
import os, threading
import numpy as np
from engine import builds

fast = builds.module("kernels")
stop = threading.Event()

def work():
    x = np.full(20_000, 3.0)
    held = []
    for i in range(300):
        held.append(fast.copied(x[: 10_000 + 100 * (i % 20)]))
        held[-1] *= 2.0
        if i % 7 == 0:
            held.clear()
    return all((y == 6.0).all() for y in held)

def busy():
    while not stop.is_set():
        work()

threads = [threading.Thread(target=busy) for _ in range(3)]
for thread in threads:
    thread.start()
held, codes = fast.copied(np.ones(20_000)), []
for _ in range(20):
    child = os.fork()
    if child == 0:
        os._exit(0 if work() and (held == 1.0).all() else 1)
    codes.append(os.waitpid(child, 0)[1])
stop.set()
for thread in threads:
    thread.join()
print(sum(codes), work(), (held == 1.0).all())
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="fork")
def test_processes_forked_among_busy_threads_use_their_own_copy_of_what_is_kept():
    program = "import warnings; warnings.simplefilter('ignore')\n" + FORKS
    assert printed(program) == "0 True True\n"


RESIDENT = """
import numpy as np
from engine import builds

fast = builds.module("kernels")

def resident():
    with open("/proc/self/statm") as lines:
        return int(lines.read().split()[1]) * 4096 / 2**20

x = np.ones(1 << 23)
fast.copied(x[:10_000])
before = resident()
for each in range(3):
    held = [fast.copied(x[: (1 << 20) + 1000 * (i + 50 * each)]) for i in range(40)]
    print(round(resident() - before))
    del held
    print(round(resident() - before))
"""


@pytest.mark.skipif(sys.platform != "linux", reason="Linux counts the memory")
@pytest.mark.skipif(SANITIZER, reason="it holds back what was freed")
def test_at_most_64_mib_are_kept_and_the_rest_goes_back_to_the_system():
    found = [int(line) for line in printed(RESIDENT).split()]
    assert all(held > 320 for held in found[::2])
    assert all(kept <= 65 for kept in found[1::2])
    assert found[-1] > 50 or not KEEPS


def test_an_array_that_outlives_the_interpreter_is_freed_in_peace():
    program = """
import atexit, sys
import numpy as np
from engine import builds

held = builds.module("kernels").copied(np.ones(20_000))
sys.held = held, [held]
atexit.register(lambda held=held: print(held.sum()))
"""
    assert printed(program) == "20000.0\n"


def test_what_is_too_big_for_memory_is_an_error_of_numpy():
    a, b = np.empty((1 << 40, 0)), np.empty((0, 1 << 40))
    with pytest.raises((ValueError, MemoryError)):
        fast.matmul_forward(a, b)
    gc.collect()
    assert get_handler_name() == NUMPYS
