"""Copies and pickles of tensors by PyTorch's rules, and save and load.

A pickle holds the numbers, requires_grad and the user's attributes, neither graph nor `.grad` nor
hooks; a file of one build opens in the other. copy.copy shares memory. copy.deepcopy is for
leaves, and copies `.grad` too.
"""

import copy
import io
import pickle
import warnings
from pathlib import Path
from typing import Any

from engine.habits import Value, value
from engine.memory import owner, seen_in
from engine.nodes import TensorBase
from engine.tensors import Tensor, make


def rebuild(kind: Any, array: Any, requires_grad: bool, attributes: dict[str, Any]) -> Tensor:
    """The tensor that a pickle describes; kind is its class, None for Tensor itself."""
    t = make(array) if kind is None else make(array).as_subclass(kind)
    t.__dict__.update(attributes)
    return t.requires_grad_() if requires_grad else t


def reduced(t: Any, protocol: Any = None) -> tuple[Any, ...]:
    """What pickle and copy.copy keep of a tensor."""
    if t.is_leaf and t._hooks is not None and any(t._hooks.outputs.values()):
        warnings.warn(
            "pickling a tensor: its backward hooks will not be serialized; register them again "
            "on the loaded one",
            UserWarning,
            stacklevel=2,
        )
    kind = None if type(t) is Tensor else type(t)
    return rebuild, (kind, t._array, t.requires_grad, t.__dict__)


def deepcopied_array(array: Any, memo: dict[int, Any]) -> Any:
    """A copy of the array; two that share memory share it in their copies too."""
    whole = owner(array)
    if whole is array or not (whole.flags.c_contiguous or whole.flags.f_contiguous):
        return copy.deepcopy(array, memo)
    return seen_in(copy.deepcopy(whole, memo), whole, array)


def deepcopied(t: Any, memo: dict[int, Any]) -> Any:
    """copy.deepcopy of a leaf: numbers, `.grad`, requires_grad and the user's attributes."""
    if not t.is_leaf:
        raise RuntimeError(
            "deepcopy: Only Tensors created explicitly by the user (graph leaves) support the "
            f"deepcopy protocol; this one is the result of {t.grad_fn.name()}: use "
            "t.detach().clone()"
        )
    if id(t) not in memo:
        kind = None if type(t) is Tensor else type(t)
        new = rebuild(kind, deepcopied_array(t._array, memo), t.requires_grad, {})
        memo[id(t)] = new
        new._grad = copy.deepcopy(t._grad, memo)
        new.__dict__.update(copy.deepcopy(t.__dict__, memo))
    return memo[id(t)]


TensorBase.__reduce_ex__ = reduced  # type: ignore[method-assign]
TensorBase.__deepcopy__ = deepcopied  # type: ignore[attr-defined]


def save(obj: Any, f: Any, pickle_protocol: int = 4) -> None:
    """Write tensors, or dicts and lists of them such as a state_dict, to a file.

    f: a path, or a file opened for writing bytes. The format is Python's pickle.
    """
    data = pickle.dumps(obj, pickle_protocol)
    if hasattr(f, "write"):
        f.write(data)
    else:
        Path(f).write_bytes(data)


def load(f: Any, map_location: Any = None, *, weights_only: bool = True) -> Any:
    """Read what save wrote.

    weights_only: refuse everything but tensors, numbers, texts and containers, since a pickle of
    unknown origin may run any code. Raises pickle.UnpicklingError then, naming what it met.
    """
    data = f.read() if hasattr(f, "read") else Path(f).read_bytes()
    return Weights(io.BytesIO(data)).load() if weights_only else pickle.loads(data)


class Weights(pickle.Unpickler):
    """Reads a pickle of tensors and containers, and refuses everything else."""

    allowed = frozenset(
        (
            "engine.saving.rebuild",
            "engine.nn.parameter._rebuild",
            "engine.nn.parameter.Parameter",
            "engine.saving.rebuild_value",
            "engine.tensors.Size",
            "engine.dtypes.of",
            "engine.devices.device",
            "collections.OrderedDict",
            "collections.defaultdict",
            "builtins.set",
            "numpy.dtype",
            "numpy.ndarray",
            "numpy._core.multiarray._reconstruct",
            "numpy._core.multiarray.scalar",
            "numpy._core.numeric._frombuffer",
            "_codecs.encode",
        )
    )

    def find_class(self, module: str, name: str) -> Any:
        if f"{module}.{name}".replace("numpy.core.", "numpy._core.") not in self.allowed:
            raise pickle.UnpicklingError(
                f"load: the file holds {module}.{name}, which is neither a tensor nor a container "
                "of them; if you trust where it comes from, use load(f, weights_only=False)"
            )
        return super().find_class(module, name)


# Values


def saved_value(v: Any) -> tuple[Any, ...]:
    """What a pickle or a copy of a leaf holds; a result of operations has a graph, and none."""
    if not v.is_leaf:
        raise RuntimeError(
            "copying or pickling a Value needs one made by the program; this one is the result "
            f"of {v._op!r}: use v.detach(), which has no graph"
        )
    attributes = dict(getattr(v, "__dict__", {}))
    if isinstance(v._extra, value.Extra):
        attributes |= v._extra.attributes or {}
    kind = None if type(v) is Value else type(v)
    return kind, v.data, v.grad if v._has_grad else None, v.requires_grad, attributes


def rebuild_value(
    kind: Any, data: float, grad: float | None, requires_grad: bool, names: Any
) -> Any:
    """The Value that `saved_value` describes, in the build that runs."""
    kind = kind or Value
    v = kind.__new__(kind)
    Value.__init__(v, data, requires_grad=requires_grad)
    v.grad = grad
    for name, x in names.items():
        setattr(v, name, x)
    return v
