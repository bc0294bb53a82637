"""Which items of a page may be shown at a given time."""

import math
from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from slotwise.checks import Floats
from slotwise.service.pages.page_definition import ItemSpec


class ActiveItems:
    """The states and validities of the items, as arrays: a page may have very many items."""

    def __init__(self, specs: Iterable[ItemSpec]) -> None:
        listed = list(specs)
        self._is_active = np.array([spec.state == "active" for spec in listed], np.bool_)
        self._valid_from = np.array([_start(spec) for spec in listed], np.float64)
        self._valid_until = np.array([_end(spec) for spec in listed], np.float64)
        self._computed_at, self._changes_at = 0.0, -math.inf
        self.last = self._is_active  # the items that might be shown at the time of the last call of `at`

    def at(self, now: float) -> NDArray[np.bool_]:
        """Which items may be shown now. This is computed again only when the validity of an item begins or ends."""
        if not self._computed_at <= now < self._changes_at:
            self.last = self._is_active & (self._valid_from <= now) & (now < self._valid_until)
            self._computed_at = now
            self._changes_at = min(_first_after(self._valid_from, now), _first_after(self._valid_until, now))
        return self.last

    def change(self, changed: Iterable[tuple[int, ItemSpec]], n_items: int) -> None:
        """Follow changes of items, identified by number. Afterwards there are `n_items`."""
        added = n_items - self._is_active.size
        if added > 0:
            self._is_active = np.concatenate([self._is_active, np.zeros(added, np.bool_)])
            self._valid_from = np.concatenate([self._valid_from, np.zeros(added)])
            self._valid_until = np.concatenate([self._valid_until, np.zeros(added)])
        else:
            self._is_active = self._is_active.copy()  # a background thread may be reading the last result
        for number, spec in changed:
            self._is_active[number] = spec.state == "active"
            self._valid_from[number], self._valid_until[number] = _start(spec), _end(spec)
        self._changes_at = -math.inf


def _start(spec: ItemSpec) -> float:
    return -math.inf if spec.valid_from is None else spec.valid_from


def _end(spec: ItemSpec) -> float:
    return math.inf if spec.valid_until is None else spec.valid_until


def _first_after(times: Floats, now: float) -> float:
    return float(np.min(times, where=times > now, initial=math.inf))
