"""torch.cuda's questions, so that programs which ask find that there is no such device."""

from typing import Any

from engine import devices


def is_available() -> bool:
    """False: engine computes on the CPU."""
    return False


def device_count() -> int:
    """0: engine computes on the CPU."""
    return 0


def manual_seed(seed: int) -> None:
    """Nothing: there are no CUDA generators."""


def manual_seed_all(seed: int) -> None:
    """Nothing: there are no CUDA generators."""


def empty_cache() -> None:
    """Nothing: there is no CUDA memory."""


def synchronize(device: Any = None) -> None:
    """RuntimeError: there is nothing to wait for."""
    raise RuntimeError(devices.CPU_ONLY.format("cuda.synchronize", "cuda"))
