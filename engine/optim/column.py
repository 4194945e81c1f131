"""The Values of a group, moved as one vector: thousands of single numbers cost one update."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np

from engine import fused, value
from engine.quiet import quiet

Array = Any  # float64, shape (n,)
State = dict[str, Any]
Update = Callable[[Array, Array, State], Any]


class Column:
    """The Values of a group, and for each that has moved a row of numbers in every entry of the
    state.

    params: the list of the whole group; others: the Tensors in it, which do not move here.
    A Value that has no gradient keeps its number and its row, so each has a history of its own.
    """

    def __init__(self, params: list[Any]) -> None:
        self.params = params
        self.values, self.others = fused.split(params)
        self.state: dict[str, Array] = {}
        self.moved = np.zeros(len(self.values), bool)
        self.all_moved = False

    def move(self, update: Update) -> None:
        """Calls update(x, g, state), which changes the vectors x and those in state in place.

        Once for those that moved before and once, with an empty state, for those that did not.
        """
        n = len(self.values)
        if n:
            value.links.watch("written", self.values[0], None)
            x, g = np.empty(n), np.empty(n)
            lacking = fused.read_columns(self.values, x, g)
            if not lacking and (self.all_moved or not self.moved.any()):
                self._move_all(x, g, update)
            else:
                self._move_some(lacking, x, g, update)

    def _move_all(self, x: Array, g: Array, update: Update) -> None:
        with quiet():
            update(x, g, self.state)
        fused.write_column(self.values, x)
        if not self.all_moved:
            self.moved[:] = self.all_moved = True

    def _move_some(self, lacking: list[int], x: Array, g: Array, update: Update) -> None:
        has_grad = np.ones(len(x), bool)
        has_grad[lacking] = False
        for rows in (has_grad & self.moved, has_grad & ~self.moved):
            if rows.any():
                self._move(np.flatnonzero(rows), x, g, update)

    def _move(self, rows: Array, x: Array, g: Array, update: Update) -> None:
        x = x[rows]
        state = self._rows(rows) if self.moved[rows][0] else {}
        with quiet():
            update(x, g[rows], state)
        fused.write_column([self.values[i] for i in rows], x)
        self._keep(rows, state)

    def _column(self, name: str) -> Array:
        """An entry of the state as a vector: one number may stand there for all."""
        return np.broadcast_to(self.state.get(name, 0.0), len(self.values))

    def _rows(self, rows: Any) -> State:
        return {name: np.array(self._column(name)[rows], float) for name in self.state}

    def _keep(self, rows: Any, state: Mapping[str, Any]) -> None:
        self.moved[rows] = True
        self.all_moved = bool(self.moved.all())
        for name, numbers in state.items():
            self.state[name] = np.array(self._column(name), float)
            self.state[name][rows] = numbers

    def saved(self) -> Iterator[tuple[Any, State]]:
        """Each Value that has moved, with its row as floats."""
        for i in np.flatnonzero(self.moved).tolist():
            yield self.values[i], {name: float(row) for name, row in self._rows(i).items()}

    def load(self, kept: Mapping[Any, State]) -> None:
        """Takes on the rows of those Values that `kept` has one for."""
        for i, v in enumerate(self.values):
            if v in kept:
                self._keep(i, kept[v])
