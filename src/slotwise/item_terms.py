"""The values and categories of items, in the form that the kernels use."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from slotwise.arrange import NO_CATEGORY, NO_LIMIT, NO_RULES, ItemRules
from slotwise.checks import BadInput, Floats, Ints, format_value, number

MOST_VALUE = 1e6


def value_of(name: str, value: Any) -> float:
    """The value of an item. It is not negative: an item that costs more than it earns is better not shown at all."""
    checked = number(f"the value of {name!r}", value)
    if not 0.0 <= checked <= MOST_VALUE:
        raise BadInput(f"the value of {name!r} = {format_value(value)} is not in [0, {MOST_VALUE:g}]")
    return checked


def category_of(name: str, category: Any) -> str | None:
    """The category of an item, or None."""
    if category is not None and (not isinstance(category, str) or not category):
        raise BadInput(f"the category of {name!r} = {format_value(category)} is not a name of at least one character")
    return category


class ItemTerms:
    """The value and category of each item of a page. Items have the value 1 and no category until `change` is called.

    Arrays are replaced rather than changed, because a background thread may be reading them.
    """

    def __init__(self, n_items: int) -> None:
        self._n_items = n_items
        self._values: Floats = NO_RULES.values
        self._categories: Ints = NO_RULES.categories
        self._names: list[str] = []  # the categories, by number
        self._numbers: dict[str, int] = {}

    def grow(self, n_items: int) -> None:
        """Make room for more items."""
        added, self._n_items = n_items - self._n_items, n_items
        if self._values.size:
            self._values = np.concatenate([self._values, np.ones(added)])
        if self._categories.size:
            self._categories = np.concatenate([self._categories, np.full(added, NO_CATEGORY)])

    def value(self, item: int) -> float:
        return float(self._values[item]) if self._values.size else 1.0

    def category(self, item: int) -> str | None:
        number = self._categories[item] if self._categories.size else NO_CATEGORY
        return None if number == NO_CATEGORY else self._names[number]

    def change(self, values: Mapping[int, float], categories: Mapping[int, str | None]) -> bool:
        """Set the values and categories of some items. Returns whether one of them was different before."""
        new_values = {item: value for item, value in values.items() if self.value(item) != value}
        new_categories = {item: category for item, category in categories.items() if self.category(item) != category}
        if new_values:
            self._values = self._values.copy() if self._values.size else np.ones(self._n_items)
            self._values[list(new_values)] = list(new_values.values())
            if (self._values == 1.0).all():
                self._values = NO_RULES.values
        if new_categories:
            self._categories = self._categories.copy() if self._categories.size else np.full(self._n_items, NO_CATEGORY)
            self._categories[list(new_categories)] = [self._number(name) for name in new_categories.values()]
        return bool(new_values or new_categories)

    def rules(self, most_per_category: int = NO_LIMIT, valued: bool = True) -> ItemRules:
        """The rules with this limit. If not `valued`, every item has the value 1."""
        return ItemRules(self._values if valued else NO_RULES.values, self._categories, most_per_category)

    def _number(self, category: str | None) -> int:
        if category is None:
            return NO_CATEGORY
        if category not in self._numbers:
            self._numbers[category] = len(self._names)
            self._names.append(category)
        return self._numbers[category]
