"""Data of the user's own: reading a file, and splitting it into training and test."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import engine
from engine.tensors import Tensor

NAMES = (("images", "labels"), ("x", "y"), ("X", "y"))
MOST_CLASSES = 1000


def load(path: str | Path) -> tuple[Tensor, Tensor]:
    """Samples and labels from a .npz or .csv file.

    .npz: arrays `images` and `labels` (or `x` and `y`), samples along the first dimension.
    .csv: a line per sample, numbers with commas between, the label last; a heading is skipped.
    Returns samples, float32, shape (n, ...), as they stand, and labels, int64, shape (n,).
    Raises OSError if the file cannot be read, ValueError, in one line that names the file,
    unless samples are finite numbers and labels one whole number from 0 to 999 for each.
    """
    path = Path(path)
    readers: dict[str, Callable[[Path], tuple[Any, Any]]] = {".npz": _npz, ".csv": _csv}
    if path.suffix.lower() not in readers:
        raise ValueError(f"{path}: the name must end in .npz or .csv")
    try:
        samples, labels = readers[path.suffix.lower()](path)
    except Exception as error:  # a damaged file makes zipfile and NumPy raise nearly anything
        if isinstance(error, OSError) and error.filename is not None:
            raise
        reason = (str(error) or type(error).__name__).splitlines()[0]
        raise ValueError(f"{path}: {reason}") from error
    fault = _fault(samples, labels)
    if fault:
        raise ValueError(f"{path}: {fault}")
    return (
        engine.from_numpy(samples.astype(np.float32)),
        engine.from_numpy(labels.astype(np.int64)),
    )


def _npz(path: Path) -> tuple[Any, Any]:
    with path.open("rb") as file:
        archive = np.load(file, allow_pickle=False)
        if not isinstance(archive, np.lib.npyio.NpzFile):
            raise ValueError("this is a single array, not a .npz archive")
        for samples, labels in NAMES:
            if samples in archive and labels in archive:
                return archive[samples], archive[labels]
        raise ValueError(f"needs arrays 'images' and 'labels'; got {sorted(archive)}")


def _csv(path: Path) -> tuple[Any, Any]:
    lines = [line for line in path.read_text(encoding="utf-8-sig").splitlines() if line.strip()]
    heading = bool(lines) and not _all_numbers(lines[0])
    if not lines[heading:]:
        raise ValueError("holds no samples")
    rows = np.loadtxt(lines[heading:], delimiter=",", ndmin=2, comments=None)
    if rows.shape[1] < 2:
        raise ValueError("needs at least two columns, the label last")
    return rows[:, :-1], rows[:, -1]


def _all_numbers(line: str) -> bool:
    try:
        return [float(field) for field in line.split(",")] != []
    except ValueError:
        return False


def _fault(samples: Any, labels: Any) -> str | None:
    """What is wrong with the two arrays, in one line; None if nothing is."""
    for name, array in (("samples", samples), ("labels", labels)):
        if array.dtype.kind not in "biuf":
            return f"{name} must be numbers; got {array.dtype}"
        if not (np.abs(array) <= np.finfo(np.float32).max).all():
            return f"{name} must be finite and fit float32; got inf, nan or more than 3.4e38"
    if samples.ndim < 2 or 0 in samples.shape or labels.shape != samples.shape[:1]:
        return (
            "needs samples of shape (n, ...) and labels of shape (n,); "
            f"got {samples.shape} and {labels.shape}"
        )
    if not ((labels >= 0) & (labels < MOST_CLASSES) & (labels == np.floor(labels))).all():
        return f"labels must be whole numbers from 0 to {MOST_CLASSES - 1}"
    return None


def split(
    samples: Tensor, labels: Tensor, test: int | None = None, seed: int = 0
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Shuffles and divides: training samples and labels, then test samples and labels.

    test: how many samples are kept for the test, by default a fifth, rounded up: the 1,797 digits
        give 1,437 and 360.
    The same seed gives the same split on every machine, which is also that of scikit-learn's
    train_test_split with this seed as random_state. Raises ValueError unless both parts get
    at least one sample and there is a label for each.
    """
    count = len(samples)
    test = -(-count // 5) if test is None else test
    if len(labels) != count or not 0 < test < count:
        raise ValueError(
            "split: needs two samples or more, a label for each, and test from 1 to one less than "
            f"their number; got {count} samples, {len(labels)} labels and test={test}"
        )
    # RandomState: its streams are frozen, a Generator's are not.
    order = engine.from_numpy(np.random.RandomState(seed).permutation(count).astype(np.int64))
    kept, train = order[:test], order[test:]
    return samples[train], labels[train], samples[kept], labels[kept]
