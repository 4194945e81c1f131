"""The handwritten digits that ship with engine; digits.txt tells their source and licence."""

from __future__ import annotations

from pathlib import Path

import numpy as np

import engine
from engine.tensors import Tensor

COUNT, SIDE, BRIGHTEST = 1797, 8, 16


def digits() -> tuple[Tensor, Tensor]:
    """1,797 handwritten digits: images and labels.

    images: float32, shape (1797, 8, 8), from 0.0 (paper) to 1.0 (ink) in steps of 1/16.
    labels: int64, shape (1797,), the digits 0 to 9.
    In the order of the source, where neighbours come from one writer: `split` shuffles.
    Raises ModuleNotFoundError in a Python that was built without lzma.
    Source: Alpaydin & Kaynak 1998, as scikit-learn's load_digits carries them.
    """
    numbers = np.frombuffer(_unpacked("digits.xz"), dtype=np.uint8)
    pixels, labels = numbers[: COUNT * SIDE * SIDE], numbers[COUNT * SIDE * SIDE :]
    images = pixels.reshape(COUNT, SIDE, SIDE).astype(np.float32) / BRIGHTEST
    return engine.from_numpy(images), engine.from_numpy(labels.astype(np.int64))


def _unpacked(name: str) -> bytes:
    try:
        import lzma
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError(
            "digits: this Python was built without lzma, which unpacks the images; install "
            "liblzma (xz) and build Python again, or use another Python"
        ) from error
    return lzma.decompress(Path(__file__).with_name(name).read_bytes())
