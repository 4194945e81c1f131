"""What all optimizers share: groups of parameters, their state, and the loop of a step.

A parameter is a leaf Tensor or a leaf Value. The text of an update serves both: it sees one
Tensor, or the numbers of all Values of a group as one NumPy vector.
"""

from __future__ import annotations

import copy
import functools
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np

import engine
from engine import fused, views
from engine.attention import warn
from engine.habits import Value
from engine.optim.column import Column, State
from engine.tensors import Tensor

Param = Any  # a Tensor or a Value: Value is compiled, and untyped for mypy
Group = dict[str, Any]


class Optimizer:
    """Moves parameters against their gradients; the base of SGD, Adam and others.

    params: an iterable of leaf Tensors or Values; or of dicts, each with such an iterable under
        "params" and options of its own. The dicts are copied, never written into.
    defaults: the options of groups that do not give their own.
    param_groups: the groups as dicts, open to change; state: what is kept for each Tensor (that of
        Values is in state_dict()).
    Raises TypeError for what is no parameter, ValueError for none at all, for one in two groups
    or one that is no leaf. One listed twice in one group counts once, with a warning.

    A subclass writes `update`, or a `step` of its own.
    """

    def __init__(self, params: Any, defaults: Group) -> None:
        self.defaults = defaults
        self.state: defaultdict[Tensor, State] = defaultdict(dict)
        self.columns: list[Column] = []
        self.param_groups: list[Group] = []
        self.steps_taken = 0
        for group in self._groups(params):
            self.add_param_group(group)

    def _groups(self, params: Any) -> list[Group]:
        if isinstance(params, Tensor | Value) or not isinstance(params, Iterable):
            raise TypeError(
                f"{type(self).__name__}: params must be an iterable of Tensors, Values or dicts; "
                f"got {type(params).__name__}: {_cure(params)}"
            )
        listed = list(_ordered(type(self).__name__, params))
        if not listed:
            raise ValueError(
                f"{type(self).__name__}: optimizer got an empty parameter list"
                + (SPENT if isinstance(params, Iterator) else "")
            )
        return listed if isinstance(listed[0], dict) else [{"params": listed}]

    def add_param_group(self, param_group: Group) -> None:
        """Adds a dict of "params" and options; the caller's dict stays as it is."""
        name = type(self).__name__
        if not isinstance(param_group, dict):
            raise TypeError(f"{name}: a group must be a dict; got {type(param_group).__name__}")
        if "params" not in param_group:
            raise KeyError(f"{name}: a group needs 'params'; got {sorted(param_group)}")
        params = param_group["params"]
        listed = [params] if isinstance(params, Tensor | Value) else list(_ordered(name, params))
        for param in listed:
            _check_param(name, param)
        elsewhere = {id(p) for group in self.param_groups for p in group["params"]}
        if any(id(param) in elsewhere for param in listed):
            raise ValueError(f"{name}: some parameters appear in more than one parameter group")
        group = {**self.defaults, **param_group, "params": _unique(name, listed)}
        self.check(group)
        self.param_groups.append(group)

    def check(self, group: Group) -> None:
        """Raises ValueError for options that make no sense; a subclass writes its own."""

    def at_least_0(self, group: Group, *options: str) -> None:
        """Raises ValueError unless these options of the group are numbers from 0 up."""
        for option in options:
            if not group[option] >= 0:
                raise ValueError(
                    f"{type(self).__name__}: {option} must be at least 0; got {group[option]}"
                )

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Forgets the gradients of all parameters; with set_to_none=False fills them with 0."""
        for i in range(len(self.param_groups)):
            column = self._column(i)
            fused.clear_grads(column.values, set_to_none)
            for param in column.others:
                if set_to_none:
                    param.grad = None
                elif param.grad is not None:
                    param.grad = param.grad.detach().zero_()

    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Moves every parameter that has a gradient, once.

        closure: computes the loss anew, with gradients, and returns it; so does step.
        """
        loss = None
        if closure is not None:
            with engine.enable_grad():
                loss = closure()
        with engine.no_grad():
            for i, group in enumerate(self.param_groups):
                column = self._column(i)
                for param in column.others:
                    if param.grad is not None:
                        self._update(param, param.grad, self.state[param], group)
                column.move(functools.partial(self._update, group=group))
        self.steps_taken += 1
        return loss

    def _update(self, x: Any, g: Any, state: State, group: Group) -> None:
        self.update(x, -g if group.get("maximize") else g, state, group)

    def update(self, x: Any, g: Any, state: State, group: Group) -> None:
        """Moves x against the gradient g, in place; g must not be changed.

        x and g are a Tensor and its gradient, or float64 vectors: the numbers of the group's
        Values. state is empty at first, and keeps what is put into it for the next step.
        """
        raise NotImplementedError(f"{type(self).__name__} must have an update or a step")

    def _column(self, i: int) -> Column:
        """The parameters of group i as they stand there now, with what is kept for its Values."""
        params = self.param_groups[i]["params"]
        params = params if type(params) is list else list(params)
        self.columns += [Column([]) for _ in self.param_groups[len(self.columns) :]]
        if not fused.same(self.columns[i].params, params):
            kept = dict(self.columns[i].saved())
            self.columns[i] = Column(list(params))
            self.columns[i].load(kept)
        return self.columns[i]

    def state_dict(self) -> dict[str, Any]:
        """State and options as plain dicts, parameters standing as their numbers 0, 1, ..."""
        numbers = {id(p): i for i, p in enumerate(self._params())}
        groups = [
            {**group, "params": [numbers[id(p)] for p in group["params"]]}
            for group in self.param_groups
        ]
        kept = dict(self.state)
        for column in map(self._column, range(len(groups))):
            kept.update(column.saved())
        state = {numbers[id(p)]: entry for p, entry in kept.items() if id(p) in numbers}
        return {"state": state, "param_groups": groups}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Takes on the state and options of `state_dict`, copied; tensors take our dtypes.

        Raises ValueError, and changes nothing, unless it has as many groups and parameters.
        """
        groups = copy.deepcopy(state_dict["param_groups"])
        ours, theirs = (
            [len(group["params"]) for group in part] for part in (self.param_groups, groups)
        )
        if ours != theirs:
            raise ValueError(
                f"{type(self).__name__}: the state dict must have groups of {ours} parameters; "
                f"got {theirs}"
            )
        params = dict(zip((n for g in groups for n in g["params"]), self._params(), strict=True))
        for group, loaded in zip(self.param_groups, groups, strict=True):
            group.update({**loaded, "params": group["params"]})
        kept = {params[number]: entry for number, entry in state_dict["state"].items()}
        tensors = {p: _adapted(p, entry) for p, entry in kept.items() if isinstance(p, Tensor)}
        self.state = defaultdict(dict, tensors)
        self.columns.clear()
        for column in map(self._column, range(len(groups))):
            column.load(kept)

    def _params(self) -> list[Param]:
        return [param for group in self.param_groups for param in group["params"]]

    def __repr__(self) -> str:
        lines = []
        for i, group in enumerate(self.param_groups):
            lines.append(f"Parameter Group {i}")
            lines += [f"    {key}: {group[key]}" for key in sorted(group) if key != "params"]
        return "\n".join([f"{type(self).__name__} (", *lines, ")"])


SPENT = (
    ": what was passed, such as model.parameters(), can be read only once; pass a list, or call "
    "it again"
)


def zeros_like(x: Any) -> Any:
    """0 of the kind of x: a Tensor, or a NumPy vector, of its shape and dtype."""
    return engine.zeros_like(x) if isinstance(x, Tensor) else np.zeros_like(x)


def changed(x: Any) -> Any:
    """The array of x, to be changed in place: a Tensor counts it, and gets memory of its own."""
    if not isinstance(x, Tensor):
        return x
    views.check(x, "step", False)
    x._shared_counter()[0] += 1
    return x._array


def array_of(x: Any) -> Any:
    """The array of a Tensor; a NumPy vector as it is."""
    return x._array if isinstance(x, Tensor) else x


def one_of(numbers: Any) -> Any:
    """The number that all in a vector are, if they are one; else the vector. Or a number itself."""
    if not isinstance(numbers, np.ndarray):
        return numbers
    first = float(numbers[0])
    return first if (numbers == first).all() else numbers


def _ordered(name: str, params: Any) -> Iterable[Any]:
    if isinstance(params, set | frozenset):
        raise TypeError(f"{name}: parameters must have an order, which a set has not; pass a list")
    return params


def _cure(params: Any) -> str:
    if isinstance(params, Tensor | Value):
        return "put it into a list"
    return "write model.parameters()" if hasattr(params, "parameters") else "pass a list"


def _check_param(name: str, param: Any) -> None:
    if not isinstance(param, Tensor | Value):
        pair = isinstance(param, tuple) and len(param) == 2
        raise TypeError(
            f"{name}: optimizer can only optimize Tensors and Values, but one of the params is "
            + type(param).__name__
            + (": write model.parameters(), not named_parameters()" if pair else "")
        )
    if not param.is_leaf:
        raise ValueError(
            f"{name}: can't optimize a non-leaf {type(param).__name__}, one that was computed; "
            "call .detach().requires_grad_() on it first, and compute with that"
        )


def _unique(name: str, params: list[Param]) -> list[Param]:
    unique = list({id(param): param for param in params}.values())
    if len(unique) < len(params):
        warn(f"{name}: a parameter is listed twice in one group; it is taken once")
    return unique


def _adapted(param: Tensor, entry: State) -> State:
    """A copy of the state of a parameter, its floating tensors in the parameter's dtype."""
    return {
        key: item.to(param.dtype)
        if isinstance(item, Tensor) and item.is_floating_point() and key != "step"
        else item
        for key, item in copy.deepcopy(entry).items()
    }
