"""One thread at a time, and no Ctrl-C that leaves a lock taken for ever."""

from typing import Any


def alone(lock: Any, body: Any, *args: Any, wait: bool = True) -> Any:
    """body(*args) while no other thread is in a call with this lock, an RLock. wait=False: None,
    and nothing done, where one is, or this thread already.

    One Ctrl-C, wherever it comes, leaves the lock free, as `with lock:` does not: on Python 3.14
    it may come between the two steps of taking the lock and entering the block, and on 3.13 in the
    jump back of a loop, which lies outside of the block where the loop ends in an `if`.
    """
    if lock._is_owned():
        return body(*args) if wait else None
    try:
        if lock.acquire(wait):
            return body(*args)
    finally:
        try:  # noqa: SIM105  suppress() is itself Python, which a Ctrl-C may stop before release()
            lock.release()
        except RuntimeError:  # it had not been taken
            pass
