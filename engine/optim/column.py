"""The Values of a group, moved as one vector: thousands of single numbers cost one update."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np

from engine import fused, value
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
        n = len(self.values)
        if n:
            value.links.watch("written", self.values[0], None)
            x, g, ready = np.empty(n), np.empty(n), np.empty(n, np.uint8)
            fused.read_columns(self.values, x, g, ready)
            has_grad = ready.view(bool)
            for rows in (has_grad & self.moved, has_grad & ~self.moved):
                if rows.any():
                    self._move(slice(None) if rows.all() else np.flatnonzero(rows), x, g, update)

    def _move(
        self, rows: Any, x: Array, g: Array, update: Callable[[Array, Array, State], Any]
    ) -> None:
        x, everything = x[rows], isinstance(rows, slice)
        state = self._rows(rows) if self.moved[rows][0] else {}
        with quiet():
            update(x, g[rows], state)
        values = self.values if everything else [self.values[i] for i in rows]
        fused.write_column(values, x)
        self._keep(rows, state)

    def _rows(self, rows: Any) -> State:
        return {name: np.array(numbers[rows]) for name, numbers in self.state.items()}

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
        for i, v in enumerate(self.values):
            if v in kept:
                self._keep(i, kept[v])
