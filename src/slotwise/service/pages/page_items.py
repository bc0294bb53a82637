"""The items of a page: their names, numbers and definitions, and what follows from the definitions."""

import sys
from collections.abc import Iterable, Sequence
from functools import lru_cache
from itertools import islice
from typing import NamedTuple

import numpy as np

from slotwise.checks import BadInput, Floats, one_of
from slotwise.item_terms import ItemTerms
from slotwise.service.errors import DoesNotFit
from slotwise.service.pages.active_items import ActiveItems
from slotwise.service.pages.page_definition import ItemSpec
from slotwise.service.pages.page_features import Declared, FeatureTable

_DEFAULT_SPEC = ItemSpec()


class ItemsChange(NamedTuple):
    """A change of items. `before` has the earlier definition of each by number, or None for a new item."""

    size_before: int
    before: dict[int, ItemSpec | None]
    new_terms: bool  # whether the value or the category of an earlier item is another one


class PageItems:
    """The items of a page in the order of their numbers."""

    def __init__(self, items: Sequence[tuple[str, ItemSpec]], declared: Declared) -> None:
        self.names, self.specs = [sys.intern(name) for name, _ in items], [_shared(spec) for _, spec in items]
        self.numbers = {name: number for number, name in enumerate(self.names)}
        self.terms = ItemTerms(len(self.specs))
        self._set_terms(range(len(self.specs)))
        self.active = ActiveItems(self.specs)
        self.features = FeatureTable(declared, [spec.features for spec in self.specs])
        self._default_scores: Floats | None = None

    def change(self, items: Iterable[tuple[int, str, ItemSpec]]) -> ItemsChange:
        """Add or change items, identified by number. New items must come in the order of their numbers."""
        size_before, before = len(self.specs), dict[int, ItemSpec | None]()
        for number, name, spec in items:
            if number == len(self.specs):
                self.names.append(sys.intern(name))
                self.numbers[self.names[number]] = number
                self.specs.append(_shared(spec))
                before[number] = None
            else:
                before.setdefault(number, self.specs[number])
                self.specs[number] = _shared(spec)
        self.active.change(((number, self.specs[number]) for number in before), len(self.specs))
        self.features.change(((number, self.specs[number].features) for number in before), len(self.specs))
        self._default_scores = None
        if len(self.specs) > size_before:
            self.terms.grow(len(self.specs))
            self._set_terms(range(size_before, len(self.specs)))
        new_terms = self._set_terms(number for number in before if number < size_before)
        return ItemsChange(size_before, before, new_terms)

    def _set_terms(self, items: Iterable[int]) -> bool:
        """Read the values and categories of items. Returns whether one of them was different before."""
        listed = list(items)
        return self.terms.change(
            {item: self.specs[item].value for item in listed}, {item: self.specs[item].category for item in listed}
        )

    def numbers_of(self, pointer: str, names: Iterable[str]) -> list[int]:
        """The numbers of items that a request names. Raises DoesNotFit if there is no such item."""
        numbers = self.numbers
        try:
            return [numbers[name] for name in names]
        except KeyError as missing:
            raise DoesNotFit.at(pointer, unknown("item", missing.args[0], numbers)) from None

    def default_scores(self, order: Sequence[str]) -> Floats:
        """The default order as scores. Items that it does not name follow in the order in which they were added."""
        if self._default_scores is None:
            scores = _scores_in_order(len(self.specs))
            if order:
                scores = scores.copy()
                for rank, name in enumerate(reversed(order)):
                    if name in self.numbers:
                        scores[self.numbers[name]] = 1.0 + rank
            self._default_scores = scores
        return self._default_scores

    def forget_default_order(self) -> None:
        """Call this when the page has got another default order."""
        self._default_scores = None


@lru_cache
def _scores_in_order(n_items: int) -> Floats:
    """Decreasing scores. Pages with equally many items share them."""
    return -np.arange(n_items, dtype=np.float64)


def unknown(what: str, name: object, names: Iterable[str]) -> str:
    """An error message of one line for an unknown name. It lists the first 20 of the known names."""
    try:
        one_of(what, name, sorted(islice(names, 20)))
    except BadInput as error:
        return str(error)
    return f"unknown {what}"


def _shared(spec: ItemSpec) -> ItemSpec:
    """Use one object for all items with default settings. This saves memory, because most items have them."""
    return _DEFAULT_SPEC if spec == _DEFAULT_SPEC else spec
