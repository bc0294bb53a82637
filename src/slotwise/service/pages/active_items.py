"""Which items of a page may be shown at a given time."""

import math
from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from slotwise.checks import Floats
from slotwise.service.pages.page_definition import ItemSpec


class ActiveItems:
    """The states and validities of the items, as arrays: a page may have very many items.

    Most pages have no item with a validity, and there may be very many pages: they keep no validities.
    """

    def __init__(self, specs: Iterable[ItemSpec]) -> None:
        listed = list(specs)
        self._is_active = np.array([spec.state == "active" for spec in listed], np.bool_)
        self._validity: tuple[Floats, Floats] | None = None  # from, until; None stands for "always"
        self._follow_validities(enumerate(listed))
        self.computed_at, self.changes_at = 0.0, -math.inf
        self.last = self._is_active  # the items that might be shown at the time of the last call of `at`

    def at(self, now: float) -> NDArray[np.bool_]:
        """Which items may be shown now. This is computed again only when the validity of an item begins or ends."""
        if not self.computed_at <= now < self.changes_at:
            self.last, self.changes_at = self._is_active, math.inf
            if self._validity is not None:
                start, end = self._validity
                self.last = self._is_active & (start <= now) & (now < end)
                self.changes_at = min(_first_after(start, now), _first_after(end, now))
            self.computed_at = now
        return self.last

    def change(self, changed: Iterable[tuple[int, ItemSpec]], n_items: int) -> None:
        """Follow changes of items, identified by number. Afterwards there are `n_items`."""
        listed = list(changed)
        is_active = np.zeros(n_items, np.bool_)  # a copy: a background thread may be reading the last result
        is_active[: self._is_active.size] = self._is_active
        for number, spec in listed:
            is_active[number] = spec.state == "active"
        self._is_active = is_active
        if self._validity is not None:
            self._grown_validity()
        self._follow_validities(listed)
        self.changes_at = -math.inf

    def _follow_validities(self, changed: Iterable[tuple[int, ItemSpec]]) -> None:
        for number, spec in changed:
            if self._validity is None and spec.valid_from is None and spec.valid_until is None:
                continue
            start, end = self._grown_validity()
            start[number], end[number] = _start(spec), _end(spec)

    def _grown_validity(self) -> tuple[Floats, Floats]:
        """The validities of all items, with "always" for those that had none so far."""
        n_items = self._is_active.size
        if self._validity is None:
            self._validity = np.full(n_items, -math.inf), np.full(n_items, math.inf)
        start, end = self._validity
        if (added := n_items - start.size) > 0:
            start = np.concatenate([start, np.full(added, -math.inf)])
            end = np.concatenate([end, np.full(added, math.inf)])
            self._validity = start, end
        return self._validity


def _start(spec: ItemSpec) -> float:
    return -math.inf if spec.valid_from is None else spec.valid_from


def _end(spec: ItemSpec) -> float:
    return math.inf if spec.valid_until is None else spec.valid_until


def _first_after(times: Floats, now: float) -> float:
    return float(np.min(times, where=times > now, initial=math.inf))
