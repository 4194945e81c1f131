"""How a Function is called: arguments meet the parameters of forward; other calls are refused."""

import inspect
from functools import cache
from typing import Any

from engine.attention import warn
from engine.nodes import needs_grad

NO_FORWARD = "You must implement the forward function for custom autograd.Function."
NO_BACKWARD = (
    "You must implement either the backward or vjp method for your custom autograd.Function to "
    "use it with backward mode AD."
)
BOTH = "Implementing both 'backward' and 'vjp' for a custom Function is not allowed; {0} needs one"
LEGACY = (
    "Legacy autograd function with non-static forward method is deprecated. Please use new-style "
    "autograd function with static forward method: make forward and backward static and call "
    "{0}.apply(...)"
)


def refuse_call(function: Any, called: Any) -> None:
    """Say what to write where the class itself is called; a bare instance is only warned of."""
    if called:
        name = function.__name__
        raise TypeError(
            f"{name}(...): a Function is not called itself; write {name}.apply(...), and hand "
            f"{name}.apply to what takes a function"
        )
    warn(
        f"{function} should not be instantiated. Methods on autograd functions are all static, so "
        "you should invoke them on the class itself. Instantiating an autograd function will "
        "raise an error in a future version of PyTorch.",
        DeprecationWarning,
    )


# What a node has, and a bare instance of a Function has not.
OF_NODES = frozenset(
    "register_hook register_prehook next_functions name metadata saved_tensors needs_input_grad "
    "_register_hook_dict _input_metadata _sequence_nr _set_sequence_nr".split()
)


def refuse_attribute(instance: Any, name: str) -> None:
    """Say that a bare instance of a Function is no node."""
    if name not in OF_NODES:
        raise AttributeError(f"{type(instance).__name__!r} object has no attribute {name!r}")
    raise RuntimeError(
        f"Attribute '{name}' is invalid for this instance of {type(instance).__name__}: it is no "
        "node, or its underlying PyNode has already been deallocated; the node of a result y of "
        "apply is y.grad_fn"
    )


class Uncalled:
    """A class that is not called, nor are its instances."""

    def __new__(cls, *args: Any, **kwargs: Any) -> Any:
        refuse_call(cls, args or kwargs)
        return super().__new__(cls)

    def __getattr__(self, name: str) -> Any:
        refuse_attribute(self, name)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        raise RuntimeError(LEGACY.format(type(self).__name__))


@cache
def signature(function: Any) -> inspect.Signature:
    """The parameters of forward that `apply` fills: without ctx, in the style that has it."""
    parameters = list(inspect.signature(function.forward).parameters.values())
    return inspect.Signature(parameters if function.two_step() else parameters[1:])


def argument_name(function: Any, i: int) -> str:
    """The name of argument i of forward."""
    names = list(signature(function).parameters.values())
    if i < len(names) and names[i].kind is not inspect.Parameter.VAR_POSITIONAL:
        return names[i].name
    return f"{names[-1].name}[{i - len(names) + 1}]" if names else f"input {i}"


def bound(function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, ...]:
    """The arguments in the order of forward's parameters; a list with a gradient in it warns."""
    least, most = arity(function)
    if kwargs or not least <= len(args) <= most:
        args = bind(function, args, kwargs)
    for i, x in enumerate(args):
        if isinstance(x, (list, tuple, dict)) and hides(x):
            warn(
                f"{function.__name__}.apply: the Values or Tensors inside "
                f"{argument_name(function, i)} are not seen and get no gradient; pass them as "
                "separate arguments"
            )
    return args


def bind(function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, ...]:
    """The arguments in the order of forward's parameters, defaults filled in."""
    try:
        call = signature(function).bind(*args, **kwargs)
    except TypeError as error:
        hint = "; to pass the items of a tuple write apply(*args)" if len(args) == 1 else ""
        raise TypeError(f"{function.__name__}.apply: {error}{hint}") from None
    call.apply_defaults()
    return call.args


@cache
def arity(function: Any) -> tuple[float, float]:
    """The least and the largest number of arguments that apply takes as they stand: without
    names, and not in the two-step style, whose setup_context gets defaults too."""
    if function.two_step():
        return 1, 0
    least, most = 0, 0.0
    for p in signature(function).parameters.values():
        if p.kind is p.VAR_POSITIONAL:
            most = float("inf")
        elif p.kind is not p.VAR_KEYWORD:
            least, most = least + (p.default is p.empty), most + 1
    return least, most


def hides(x: Any) -> bool:
    """Whether the list, tuple or dict has something in it that needs a gradient."""
    return any(map(needs_grad, x.values() if isinstance(x, dict) else x))
