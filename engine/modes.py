"""Modes: what changes what an operation does, in one thread.

Gradients may be off (`no_grad`), and observers may ask to see each new node of a graph (anomaly
detection, forward mode, recording). An operation looks first at `watched`, the number of threads
in any mode at all, and only when that is not 0 at the state of its own thread.
"""

import threading

from engine import interpreter

try:
    from engine import nocython as cython
except ImportError:
    import cython

watched = 0
_lock = threading.RLock()  # a Ctrl-C that leaves it taken must not stop this thread for ever
state = threading.local()


def count(change):
    """Note that this thread went into a first mode (1) or out of its last (-1)."""
    global watched
    with cython.critical_section(_lock):
        watched += change


def set_grad(mode):
    """Switch gradients on or off in this thread; returns what they were."""
    before = interpreter.thread.grad_enabled
    if mode != before:
        interpreter.thread.grad_enabled = mode
        if not interpreter.thread.observed:
            count(1 if before else -1)
    return before


def set_observers(observers):
    """Have the functions in this tuple called with each new node; returns those before."""
    before = getattr(state, "observers", ())
    state.observers = observers
    interpreter.thread.observed = bool(observers)
    if interpreter.thread.grad_enabled and bool(before) != bool(observers):
        count(1 if observers else -1)
    return before


def is_grad_enabled():
    """Whether operations of this thread are recorded for backward."""
    return not watched or interpreter.thread.grad_enabled


def observers():
    """The functions that are called with each new node of this thread."""
    return state.observers if watched and interpreter.thread.observed else ()
