"""Changes of shape in place: the tensor itself becomes another view of its memory.

`x.t_()` is `x = x.t()` for all who hold x. In the graph x is then that view of what it was.
"""

from collections.abc import Callable
from typing import Any

from engine import modes, views
from engine.nodes import needs_grad
from engine.ops.shape import as_strided, squeeze, swapaxes, swapdims, t, transpose, unsqueeze
from engine.tensors import Tensor, make


def turned(input: Tensor, name: str, take: Callable[[Tensor], Tensor]) -> Tensor:
    """Make the tensor the view of itself that `take` takes."""
    if modes.is_grad_enabled() and needs_grad(input):
        views.check_recorded(input, name)
    out = of_what_it_was(input, take)
    if input._base is None:
        if out._array.shape != input._array.shape:
            views.leave_place(input)
        input._reshaped = True
        if input._node is not None:
            input._node, input._output_nr = out._node, out._output_nr
    else:
        out._view.refusal = input._view.refusal
        out._view.version = -1  # its place in the graph is found when it is next looked at
        input._view = out._view
    input._array = out._array
    views.count_turn(input._shared_counter())
    return input


def of_what_it_was(input: Tensor, take: Callable[[Tensor], Tensor]) -> Tensor:
    """The view of a tensor that stands for this one as it is before the change."""
    old = make(input._array)
    for field in ("_node", "_output_nr", "_requires_grad", "_counter", "_base", "_view"):
        setattr(old, field, getattr(input, field))
    before = modes.set_grad(True)
    try:
        return take(old)
    finally:
        modes.set_grad(before)


def in_place(view: Callable[..., Tensor]) -> None:
    """Give Tensor the method that is this one in place."""
    name = f"{view.__name__}_"

    def method(self: Tensor, *args: Any, **kwargs: Any) -> Tensor:
        return turned(self, name, lambda x: view(x, *args, **kwargs))

    method.__name__, method.__doc__ = name, f"{view.__name__} in place."
    setattr(Tensor, name, method)


for _view in (as_strided, squeeze, swapaxes, swapdims, t, transpose, unsqueeze):
    in_place(_view)
