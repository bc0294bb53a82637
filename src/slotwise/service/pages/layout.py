"""A layout of a page, as its sampler sees it."""

from typing import NamedTuple

import numpy as np

from slotwise.arrange import EMPTY
from slotwise.checks import Floats, Ints
from slotwise.service.store.interface import StoredPage


class Layout(NamedTuple):
    """A layout's positions, and where they are in the matrix."""

    name: str
    positions: list[str]
    places: dict[str, int]
    numbers: list[int]  # the columns as the store counts them
    columns: Ints  # as the matrix has them
    no_pins: Ints
    in_order: Floats  # visibility, were positions visible in the order given
    display: Ints  # scratch

    @classmethod
    def of(cls, page: StoredPage, name: str) -> "Layout":
        """The layout of this name."""
        positions = page.body.spec.all_layouts()[name]
        numbers = [page.body.columns.index((name, position)) for position in positions]
        size = len(positions)
        index = {position: k for k, position in enumerate(positions)}
        scratch = np.empty(size, np.int64)
        columns = np.array(numbers, np.int64) + 1
        return cls(
            name, positions, index, numbers, columns, np.full(size, EMPTY, np.int64), -np.arange(float(size)), scratch
        )
