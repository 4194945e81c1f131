"""Activations made of straight lines: an element passes its whole gradient on, or nothing."""

from typing import Any

import numpy as np

from engine import modes
from engine.creation import zeros_like
from engine.tensors import Operation, Tensor, make, times


class Passing(Operation):
    """The slope, 0 where the gradient stops and 1 elsewhere; its own slope is 0, as in PyTorch."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, stops: Any) -> Tensor:
        return make(np.asarray(1 - stops.astype(x._array.dtype)))

    @staticmethod
    def backward(ctx: Any, g: Tensor) -> Any:
        return zeros_like(g), None


class Piecewise(Operation):
    """An activation that is told by its value and by where the gradient stops."""

    stops: Any = None  # of the array and the options: a bool array
    value: Any = None  # of the array, of where it stops, and of the options

    @classmethod
    def forward(cls, ctx: Any, x: Tensor, *options: Any) -> Tensor:
        ctx.save_for_backward(x)
        ctx.stops, ctx.options = cls.stops(x._array, *options), options
        return make(np.asarray(cls.value(x._array, ctx.stops, *options)))

    @staticmethod
    def backward(ctx: Any, g: Tensor) -> Any:
        (x,) = ctx.saved_tensors
        nothing = (None,) * len(ctx.options)
        if modes.is_grad_enabled():
            return times(g, Passing.apply(x, ctx.stops), True), *nothing
        return make(np.where(ctx.stops, g._array.dtype.type(0), g._array)), *nothing


class Hardtanh(Piecewise):
    """Held between two numbers; nan passes."""

    stops = staticmethod(lambda a, low, high: (a <= low) | (a >= high))
    value = staticmethod(lambda a, stops, low, high: np.clip(a, low, high))


class Softshrink(Piecewise):
    """Moved towards 0 by a number, 0 where it is within."""

    stops = staticmethod(lambda a, k: (a >= -k) & (a <= k))
    value = staticmethod(lambda a, stops, k: np.where(stops, a * 0, a - k * np.sign(a)))


class Hardshrink(Piecewise):
    """0 where it is within a number of 0."""

    stops = Softshrink.stops
    value = staticmethod(lambda a, stops, k: np.where(stops, a * 0, a))


class Threshold(Piecewise):
    """Another number where it is not above the first."""

    stops = staticmethod(lambda a, least, other: a <= least)
    value = staticmethod(lambda a, stops, least, other: np.where(stops, a.dtype.type(other), a))
