"""Features of items: what a page declares, what its items have, and the columns of numbers that are learnt from."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Annotated, Literal, NamedTuple

import numpy as np
from msgspec import Meta

from slotwise.checks import BadInput, Floats, Ints, format_value, one_of
from slotwise.item_features import MOST_COLUMNS, Scaling
from slotwise.service.errors import FieldError
from slotwise.service.pages.limits import ItemName, Name

FAR_SCALING = 0.1  # a change of a mean, in standard deviations, or of the logarithm of a deviation
Number = Annotated[float, Meta(ge=-1e15, le=1e15)]
Levels = Annotated[
    list[ItemName], Meta(min_length=1, max_length=MOST_COLUMNS, description="the values that a category may have")
]
Declared = Annotated[
    dict[Name, Literal["number"] | Levels],
    Meta(max_length=MOST_COLUMNS, description="features of items: `number`, or the values of a category"),
]
GivenFeatures = Annotated[
    dict[Name, Number | ItemName],
    Meta(max_length=MOST_COLUMNS, description="a number or a category for features that the page declares"),
]


class Column(NamedTuple):
    """A column of numbers: a number, or whether a category has a value."""

    feature: str
    level: str | None  # None for a number

    @property
    def name(self) -> str:
        return self.feature if self.level is None else f"{self.feature}={self.level}"


def feature_columns(declared: Declared) -> list[Column]:
    """The columns, in the order of the declaration."""
    return [
        Column(feature, level)
        for feature, kind in declared.items()
        for level in ([None] if isinstance(kind, str) else kind)
    ]


def declaration_problems(declared: Declared) -> list[FieldError]:
    """The problems in the declaration of a page."""
    problems = []
    for feature, kind in declared.items():
        repeated = [level for k, level in enumerate(kind) if level in kind[:k]] if isinstance(kind, list) else []
        if repeated:
            problems.append(FieldError(f"/features/{feature}", f"value {repeated[0]!r} is given twice"))
    n_columns = len(feature_columns(declared))
    if n_columns > MOST_COLUMNS:
        line = (
            f"the features have {n_columns} columns, {MOST_COLUMNS} are the most: a number is one column, and a "
            "category one for each of its values; merge rare values"
        )
        problems.append(FieldError("/features", line))
    return problems


def feature_problems(declared: Declared, given: GivenFeatures) -> list[FieldError]:
    """The problems in the features of an item of a page with this declaration."""
    problems = []
    for feature, value in given.items():
        if (line := _problem(declared, feature, value)) is not None:
            problems.append(FieldError(f"/features/{feature}", line))
    return problems


def _problem(declared: Declared, feature: str, value: float | str) -> str | None:
    if not declared:
        return f"the page declares no features; declare {feature!r} in `features` of the page first"
    kind = declared.get(feature)
    if kind is None:
        return _not_one_of("feature", feature, declared)
    if isinstance(kind, list):
        return None if value in kind else _not_one_of(f"value of {feature}", value, kind)
    return f"{format_value(value)} is not a number" if isinstance(value, str) else None


def _not_one_of(what: str, name: float | str, names: Iterable[str]) -> str:
    try:
        return one_of(what, name, names)
    except BadInput as error:
        return str(error)


class FeatureTable:
    """The features of all items of a page, as columns of numbers. A number that an item does not have is NaN.

    Values that do not fit the declaration count as missing: the page may have got another declaration since. The array
    is replaced rather than changed, because a background thread may be reading it.
    """

    def __init__(self, declared: Declared, items: Sequence[Mapping[str, float | str]]) -> None:
        self.columns = feature_columns(declared)
        self._declared = declared
        self._index = {column: k for k, column in enumerate(self.columns)}
        missing = [np.nan if column.level is None else 0.0 for column in self.columns]
        self._missing: Floats = np.array(missing, np.float64)
        self.values: Floats = np.empty((0, len(self.columns)))
        self.change(enumerate(items), len(items))

    def change(self, items: Iterable[tuple[int, Mapping[str, float | str]]], n_items: int) -> None:
        """Follow changes of items, identified by number. Afterwards there are `n_items`."""
        if not self.columns:
            self.values = np.empty((n_items, 0))
            return
        values = np.tile(self._missing, (n_items, 1))
        values[: len(self.values)] = self.values
        for item, features in items:
            values[item] = self._missing
            for feature, value in features.items():
                if _problem(self._declared, feature, value) is None:
                    level = value if isinstance(value, str) else None
                    values[item, self._index[Column(feature, level)]] = 1.0 if level is not None else value
        self.values = values

    @property
    def n_bytes(self) -> int:
        return self.values.nbytes


class FeatureScaling:
    """How the numbers of a table are scaled: to mean 0 and variance 1 over the items that have them."""

    def __init__(self, columns: Sequence[Column], values: Floats) -> None:
        scalings = [
            Scaling.of(values[:, k]) if column.level is None else Scaling(0.0, 1.0) for k, column in enumerate(columns)
        ]
        self.numbers: Floats = np.array(scalings, np.float64).reshape(-1, 2).T  # means, and deviations

    def is_far_from(self, other: "FeatureScaling") -> bool:
        """Whether a chain on the numbers of the other scaling may be far from the bulk of the posterior with these."""
        (mean, size), (other_mean, other_size) = self.numbers, other.numbers
        moved = np.maximum(np.abs(mean - other_mean) / other_size, np.abs(np.log(size / other_size)))
        return bool((moved > FAR_SCALING).any())

    def scaled(self, values: Floats, items: Ints | None = None) -> Floats:
        """The columns of some items, or of all. A missing number becomes the mean."""
        rows = values if items is None else values[items]
        mean, size = self.numbers
        return np.ascontiguousarray(np.where(np.isnan(rows), 0.0, (rows - mean) / size))
