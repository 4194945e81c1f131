"""Forward mode against reverse mode, for a Function that has a jvp of its own."""

from collections.abc import Iterator, Sequence
from importlib import import_module
from typing import Any

import numpy as np

from engine.testing.adapter import Array
from engine.testing.first import asked
from engine.testing.probes import Scene
from engine.testing.report import Finding, Level
from engine.testing.second import like
from engine.testing.trial import run, tensors


def forward_mode(s: Scene) -> Iterator[Finding]:
    """jvp gives another derivative than backward."""
    base = getattr(s.subject.library.Function, "jvp", None)
    own = getattr(s.subject.target, "jvp", None)
    if not s.subject.is_function or own is None or own is base:
        return
    rng = np.random.default_rng(4)
    directions = {i: rng.normal(size=np.shape(s.arrays[i])) for i in asked(s.subject, s.case)}
    for i in directions:
        tangents = tangents_of(s, {i: directions[i]})
        trial = run(s.subject, s.case, s.arrays, s.trial.upstream)
        pairs = zip(s.trial.upstream, tangents, strict=True)
        forward = float(sum(np.sum(v * t) for v, t in pairs))
        g = trial.grads[i]
        reverse = 0.0 if g is None else float(np.sum(g * directions[i]))
        if not np.isclose(forward, reverse, rtol=1e-6, atol=1e-9):
            yield Finding(Level.NOW, "wrong-jvp", s.name(i), (
                f"jvp and backward differ for `{s.name(i)}`: along one direction jvp gives "
                f"{forward:.6g}, backward {reverse:.6g}, and backward agrees with differences."
            ))  # fmt: skip


def tangents_of(s: Scene, directions: dict[int, Array]) -> Sequence[Array]:
    """The tangents of the active outputs by forward mode."""
    library = s.subject.library
    forward_ad: Any = import_module(f"{library.name}.autograd.forward_ad")
    _, arguments = tensors(s.subject, s.case, s.arrays)
    with forward_ad.dual_level():
        for i, direction in directions.items():
            tangent = like(library, direction, arguments[i], False)
            arguments[i] = forward_ad.make_dual(arguments[i], tangent)
        result = s.subject.call(*arguments)
        outputs = list(result) if isinstance(result, (tuple, list)) else [result]
        found = [forward_ad.unpack_dual(outputs[k]).tangent for k in s.trial.active]
    return [np.zeros(()) if t is None else library.array(t) for t in found]
