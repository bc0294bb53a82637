"""A layout of a page: its positions, and their columns in the count matrix."""

from typing import NamedTuple

import numpy as np

from slotwise.arrange import EMPTY
from slotwise.checks import Floats, Ints
from slotwise.service.store.records import DisplayEntry, StoredPage


class Layout(NamedTuple):
    """A layout's positions, and their columns in the count matrix."""

    name: str
    positions: list[str]
    index_of: dict[str, int]  # position -> its index in `positions`
    numbers: list[int]  # columns as the store numbers them
    columns: Ints  # columns as the matrix numbers them
    display: Ints  # filled for every request
    no_pins: Ints
    in_order: Floats  # decreasing scores, with which positions are filled in the order of their definition

    @classmethod
    def of(cls, page: StoredPage, name: str) -> "Layout":
        positions = page.body.spec.all_layouts()[name]
        numbers = [page.body.columns.index((name, position)) for position in positions]
        size = len(positions)
        return cls(
            name,
            positions,
            {position: k for k, position in enumerate(positions)},
            numbers,
            np.array(numbers, np.int64) + 1,
            np.empty(size, np.int64),
            np.full(size, EMPTY, np.int64),
            -np.arange(float(size)),
        )

    def left_out(self, entries: list[DisplayEntry]) -> list[str]:
        """The positions for which a display has no item."""
        shown = [entry.position for entry in entries]
        return [] if shown == self.positions else [position for position in self.positions if position not in shown]
