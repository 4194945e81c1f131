"""Points in the plane, made on request."""

from __future__ import annotations

import numpy as np

import engine
from engine.tensors import Tensor


def moons(n: int = 100, noise: float = 0.1, seed: int = 0) -> tuple[Tensor, Tensor]:
    """Two half circles that reach into each other: points and labels, shuffled.

    n: how many points; noise: the standard deviation of what is added to both coordinates.
    points: float32, shape (n, 2); labels: int64, shape (n,), 0 for the upper arc, round (0, 0),
    and 1 for the lower, round (1, 0.5), both of radius 1.
    The same seed gives the same points on every machine. Raises ValueError for a negative size.
    """
    if n < 0 or not noise >= 0:
        raise ValueError(f"moons: n and noise must be at least 0; got n={n} and noise={noise}")
    rng = np.random.RandomState(seed)  # its streams are frozen, a Generator's are not
    labels = rng.permutation(n) % 2
    angles = np.pi * rng.random_sample(n)
    upper = np.stack([np.cos(angles), np.sin(angles)], axis=1)
    lower = np.array([1.0, 0.5]) - upper
    points = np.where(labels[:, None] == 0, upper, lower) + noise * rng.standard_normal((n, 2))
    return engine.from_numpy(points.astype(np.float32)), engine.from_numpy(labels.astype(np.int64))
