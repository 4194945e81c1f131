"""Modes: what changes what an operation does, in one thread.

Gradients may be off (`no_grad`), and observers may ask to see each new node of a graph (anomaly
detection, forward mode, recording). An operation looks first at `watched`, the number of threads
in any mode at all, and only when that is not 0 at the state of its own thread.
"""

import threading

from engine import interpreter

watched = 0
state = threading.local()


def count(change):
    """Note that this thread went into a first mode (1) or out of its last (-1)."""
    global watched
    watched += change  # the interpreter changes threads before it or after it (free_threading.py)


def set_grad(mode):
    """Switch gradients on or off in this thread; returns what they were."""
    before = interpreter.thread.grad_enabled
    changes = mode != before and not interpreter.thread.observed
    if changes and before:
        count(1)  # before: a Ctrl-C between leaves one too many, which costs nothing but time
    interpreter.thread.grad_enabled = mode
    if changes and mode:
        count(-1)
    return before


def set_observers(observers):
    """Have the functions in this tuple called with each new node; returns those before."""
    before = getattr(state, "observers", ())
    change = (bool(observers) - bool(before)) * interpreter.thread.grad_enabled
    count(max(change, 0))
    state.observers = observers
    interpreter.thread.observed = bool(observers)
    count(min(change, 0))
    return before


def is_grad_enabled():
    """Whether operations of this thread are recorded for backward."""
    return not watched or interpreter.thread.grad_enabled


def observers():
    """The functions that are called with each new node of this thread."""
    return state.observers if watched and interpreter.thread.observed else ()
