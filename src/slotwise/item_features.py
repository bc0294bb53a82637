"""Features of named items, and the matrix of numbers that policies read."""

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import numpy as np

from slotwise.checks import BadInput, Floats, format_value, number, string_mapping

Feature = float | str
MOST_COLUMNS = 64  # numbers, and values of categories


def item_features(name: str, features: Any) -> dict[str, Feature]:
    """The features of one item, as {feature: number or category}, after validation."""
    found: dict[str, Feature] = {}
    for feature, value in string_mapping(f"features of item {name!r}", features).items():
        if isinstance(value, str):
            found[feature] = value
            continue
        found[feature] = number(f"feature {feature!r} of item {name!r}", value)
        if not np.isfinite(found[feature]):
            raise BadInput(f"feature {feature!r} of item {name!r} is {value}; a finite number or a text is needed")
    return found


def feature_matrix(names: Iterable[str], features: Mapping[str, Mapping[str, Feature]]) -> Floats:
    """A row of numbers per item.

    Numbers are scaled to mean 0 and variance 1 over the items that have them. A category becomes a column of 0 and 1
    for each of its values. A feature that an item does not have is 0.
    """
    items = list(names)
    columns = list(feature_columns(items, features).values())
    return np.ascontiguousarray(np.array(columns).T) if columns else np.zeros((len(items), 0))


def feature_columns(items: list[str], features: Mapping[str, Mapping[str, Feature]]) -> dict[str, Floats]:
    """The columns of the matrix. A number has the name of its feature, and a category is `feature=value`."""
    columns: dict[str, Floats] = {}
    for feature in dict.fromkeys(key for name in items for key in features.get(name, ())):
        values = [features.get(name, {}).get(feature) for name in items]
        known = [value for value in values if value is not None]
        kinds = {isinstance(value, str) for value in known}
        if len(kinds) > 1:
            text = next(value for value in known if isinstance(value, str))
            raise BadInput(f"feature {feature!r} is a number for some items and {format_value(text)} for another one")
        if kinds == {True}:
            for level in dict.fromkeys(known):
                columns[f"{feature}={level}"] = np.array([float(value == level) for value in values])
        else:
            columns[feature] = _scaled(np.array([np.nan if value is None else float(value) for value in values]))
        if len(columns) > MOST_COLUMNS:
            raise BadInput(
                f"the features make more than {MOST_COLUMNS} columns, up to {feature!r}; "
                "a number is one column, and a category is one for each of its values"
            )
    return columns


class Scaling(NamedTuple):
    """The mean and the standard deviation of a number over the items that have it."""

    mean: float
    deviation: float  # 1 if the number is the same for all of them

    @classmethod
    def of(cls, values: Floats) -> "Scaling":
        """The scaling of a column, which has NaN where an item does not have the number."""
        known = values[~np.isnan(values)]
        if not known.size:
            return cls(0.0, 1.0)
        mean, deviation = float(known.mean()), float(known.std())
        return cls(mean, deviation if deviation > 0.0 else 1.0)

    def scaled(self, values: Floats) -> Floats:
        """The column with mean 0 and variance 1, and 0 where an item does not have the number."""
        return np.where(np.isnan(values), 0.0, (values - self.mean) / self.deviation)


def _scaled(values: Floats) -> Floats:
    return Scaling.of(values).scaled(values)
