"""Elementwise operations with options, and PyTorch's other names for some.

All other rules are functions of `engine` as they stand: `engine.exp` is the rule itself.
"""

from typing import Any

from engine import dtypes, nodes, value
from engine.promotion import refuse_bools
from engine.registry import RULES
from engine.tensors import Tensor, apply_rule, checked_operand, put_in_place, put_rule


def pow(input: Any, exponent: Any) -> Any:
    """input ** exponent, elementwise: Values, Tensors or numbers; both are differentiable."""
    rule = RULES["pow_number" if value.is_number(exponent) else "pow"]
    if isinstance(input, nodes.TensorBase):
        return apply_rule(rule, (input, checked_operand(exponent)))
    return rule(input, exponent)


def pow_(input: Tensor, exponent: Any) -> Tensor:
    """pow in place."""
    rule = RULES["pow_number" if value.is_number(exponent) else "pow"]
    return put_rule(input, rule, (exponent,))


def leaky_relu(input: Any, negative_slope: float = 0.01) -> Any:
    """input where it is above 0, negative_slope * input elsewhere; the slope at 0 is that below."""
    return RULES["leaky_relu"](input, negative_slope)


def elu(input: Any, alpha: float = 1.0) -> Any:
    """input where it is above 0, alpha * (e ** input - 1) elsewhere. Source: arXiv:1511.07289."""
    return RULES["elu"](input, alpha)


def clamp_min(input: Any, min: Any) -> Any:
    """input, but no less than min: a number, or for Tensors a Tensor, which gets the gradient where
    input is below it."""
    if isinstance(min, nodes.TensorBase):
        return ((input < min) | (min != min)).where_else(min, input)
    if isinstance(input, nodes.TensorBase):
        return apply_rule(RULES["clamp_min"], (input, checked_operand(min)))
    return RULES["clamp_min"](input, min)


def clamp_max(input: Any, max: Any) -> Any:
    """input, but no more than max: a number, or for Tensors a Tensor, which gets the gradient where
    input is above it."""
    if isinstance(max, nodes.TensorBase):
        return ((input > max) | (max != max)).where_else(max, input)
    if isinstance(input, nodes.TensorBase):
        return apply_rule(RULES["clamp_max"], (input, checked_operand(max)))
    return RULES["clamp_max"](input, max)


def clamp(input: Any, min: Any = None, max: Any = None) -> Any:
    """input held between min and max; its gradient passes where min <= input <= max.

    min, max: numbers, or for Tensors Tensors that broadcast with input; one may be None.
    """
    if min is None and max is None:
        raise RuntimeError("clamp: at least one of 'min' or 'max' must not be None")
    at_least = input if min is None else clamp_min(input, min)
    return at_least if max is None else clamp_max(at_least, max)


def clamp_(input: Tensor, min: Any = None, max: Any = None) -> Tensor:
    """clamp in place."""
    if min is None and max is None:
        raise RuntimeError("clamp_: at least one of 'min' or 'max' must not be None")
    if min is not None:
        clamp_min_(input, min)
    return input if max is None else clamp_max_(input, max)


def clamp_min_(input: Tensor, min: Any) -> Tensor:
    """clamp_min in place."""
    if isinstance(min, Tensor):
        return put_in_place(input, clamp_min(input.clone(), min), "clamp_min_")
    return put_rule(input, RULES["clamp_min"], (min,))


def clamp_max_(input: Tensor, max: Any) -> Tensor:
    """clamp_max in place."""
    if isinstance(max, Tensor):
        return put_in_place(input, clamp_max(input.clone(), max), "clamp_max_")
    return put_rule(input, RULES["clamp_max"], (max,))


def scaled(name: str, input: Any, other: Any, alpha: float) -> Any:
    """alpha * other, in the dtype of its sum with input; of integers alpha is an integer too."""
    if alpha == 1:
        return other
    if not isinstance(input, Tensor) and not isinstance(other, Tensor):
        return alpha * other
    wanted = dtypes.result_type(input, other)
    if name.startswith("sub"):
        refuse_bools([dtypes.result_type(x, x).numpy for x in (input, other)])
    if not wanted.is_floating_point and isinstance(alpha, float):
        raise RuntimeError(
            f"{name}: For integral input tensors, argument alpha must not be a floating point "
            f"number; got {alpha}: convert them with .float()"
        )
    if not isinstance(other, Tensor):
        return alpha * other
    return other.to(wanted) * alpha


def add(input: Any, other: Any, *, alpha: float = 1, out: Any = None) -> Any:
    """input + alpha * other, elementwise; written into the tensor `out` where one is given."""
    return RULES["add"](input, scaled("add", input, other, alpha), out=out)


def sub(input: Any, other: Any, *, alpha: float = 1, out: Any = None) -> Any:
    """input - alpha * other, elementwise; written into the tensor `out` where one is given."""
    return RULES["sub"](input, scaled("sub", input, other, alpha), out=out)


def add_(input: Tensor, other: Any, *, alpha: float = 1) -> Tensor:
    """Add alpha * other in place."""
    return put_rule(input, RULES["add"], (scaled("add_", input, other, alpha),))


def sub_(input: Tensor, other: Any, *, alpha: float = 1) -> Tensor:
    """Take alpha * other away in place."""
    return put_rule(input, RULES["sub"], (scaled("sub_", input, other, alpha),))


multiply = mul = RULES["mul"]
divide = true_divide = div = RULES["div"]
negative = neg = RULES["neg"]
absolute = RULES["abs"]
subtract = sub
clip = clamp

for _f in (
    pow,
    pow_,
    leaky_relu,
    elu,
    clamp_min,
    clamp_max,
    clamp,
    clamp_,
    clamp_min_,
    clamp_max_,
    add,
    add_,
    sub,
    sub_,
):
    setattr(Tensor, _f.__name__, _f)
for _name, _old in (
    ("multiply", "mul"),
    ("divide", "div"),
    ("true_divide", "div"),
    ("subtract", "sub"),
    ("negative", "neg"),
    ("absolute", "abs"),
    ("clip", "clamp"),
):
    setattr(Tensor, _name, getattr(Tensor, _old))
