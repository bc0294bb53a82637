"""What the variants of a page earned on each day, by cluster of visitors."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from slotwise.checks import Floats

N_CLUSTERS = 512


class VariantDay(NamedTuple):
    """What one variant earned on one day from one cluster. `value` sums the values of the clicked items."""

    day: int
    variant: str
    cluster: int
    displays: float
    clicks: float
    value: float


class VariantDays(NamedTuple):
    """What one variant of a page earned: days x clusters."""

    displays: Floats
    clicks: Floats
    value: Floats


def days_of_variants(rows: Sequence[VariantDay]) -> dict[str, VariantDays]:
    """The rows as arrays, as {variant: days}. All variants have the same days."""
    days = {day: k for k, day in enumerate(sorted({row.day for row in rows}))}
    variants = {
        variant: VariantDays(*np.zeros((3, len(days), N_CLUSTERS))) for variant in sorted({row.variant for row in rows})
    }
    for row in rows:
        for array, earned in zip(variants[row.variant], row[3:], strict=True):
            array[days[row.day], row.cluster] += earned
    return variants
