"""PyTorch's import paths for autograd."""

from types import ModuleType

from engine.autograd import (
    _functions as _functions,
    anomaly_mode as anomaly_mode,
    forward_ad as forward_ad,
    function as function,
    functional as functional,
    graph as graph,
    introspection as introspection,
    saved_names as saved_names,
)
from engine.autograd.anomaly_mode import (
    detect_anomaly as detect_anomaly,
    set_detect_anomaly as set_detect_anomaly,
)
from engine.autograd.batches import grad as grad
from engine.autograd.grad_mode import (
    _unsafe_preserve_version_counter as _unsafe_preserve_version_counter,
    is_multithreading_enabled as is_multithreading_enabled,
    set_multithreading_enabled as set_multithreading_enabled,
)
from engine.autograd.gradcheck import (
    GradcheckError as GradcheckError,
    gradcheck as gradcheck,
    gradgradcheck as gradgradcheck,
)
from engine.autograd.saved_names import SavedTensor as SavedTensor
from engine.autograd.variable import Variable as Variable
from engine.differentiation import backward as backward
from engine.function import Function as Function
from engine.grad_mode import (
    enable_grad as enable_grad,
    inference_mode as inference_mode,
    no_grad as no_grad,
    set_grad_enabled as set_grad_enabled,
)


def __getattr__(name: str) -> ModuleType:
    """autograd.torch: PyTorch's module imports its own package under that name."""
    if name == "torch":
        import engine

        return engine
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
