"""The Values of a group, moved as one vector: thousands of single numbers cost one update."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np

from engine.quiet import quiet

Array = Any  # float64, shape (n,)
State = dict[str, Any]


class Column:
    """Values, and for each that has moved a row of numbers in every entry of the state.

    A Value that has no gradient keeps its number and its row, so each has a history of its own.
    """

    def __init__(self, values: list[Any]) -> None:
        self.values = values
        self.state: dict[str, Array] = {}
        self.moved = np.zeros(len(values), bool)

    def move(self, update: Callable[[Array, Array, State], Any]) -> None:
        """Calls update(x, g, state), which changes the vectors x and those in state in place.

        Once for those that moved before and once, with an empty state, for those that did not.
        """
        ready = np.array([value._has_grad for value in self.values], bool)
        for rows in (ready & self.moved, ready & ~self.moved):
            if rows.any():
                self._move(np.flatnonzero(rows), update)

    def _move(self, rows: Array, update: Callable[[Array, Array, State], Any]) -> None:
        values = [self.values[i] for i in rows.tolist()]
        x = np.array([value.data for value in values])
        g = np.array([value.grad for value in values])
        state = self._rows(rows) if self.moved[rows[0]] else {}
        with quiet():
            update(x, g, state)
        for value, number in zip(values, x.tolist(), strict=True):
            value.data = number
        self._keep(rows, state)

    def _rows(self, rows: Any) -> State:
        return {name: numbers[rows] for name, numbers in self.state.items()}

    def _keep(self, rows: Any, state: Mapping[str, Any]) -> None:
        self.moved[rows] = True
        for name, numbers in state.items():
            if name not in self.state:
                self.state[name] = np.zeros(len(self.values))
            self.state[name][rows] = numbers

    def saved(self) -> Iterator[tuple[Any, State]]:
        """Each Value that has moved, with its row as floats."""
        for i in np.flatnonzero(self.moved).tolist():
            yield self.values[i], {name: float(row) for name, row in self._rows(i).items()}

    def load(self, kept: Mapping[Any, State]) -> None:
        """Takes on the rows of those Values that `kept` has one for."""
        for i, value in enumerate(self.values):
            if value in kept:
                self._keep(i, kept[value])
