"""Compare two variants on the same days, although their shares of the displays change."""

from typing import NamedTuple

import numpy as np

from slotwise.inference.uplift.uplift import VariantResults
from slotwise.logs.variant_days import VariantDays


class ComparedDays(NamedTuple):
    """Two variants on the days that have displays of both, summed over these days."""

    variant: VariantResults
    baseline: VariantResults
    n_days: int


def on_same_days(variant: VariantDays, baseline: VariantDays) -> ComparedDays:
    """Sum both variants over the days on which both have displays.

    Click rates change from day to day. If a variant has a larger share on good days, it looks better than it is. So the
    days of `variant` are weighted such that its displays are spread over the days as those of `baseline` are. The
    weights leave its number of displays as it is.
    """
    shown, base = variant.displays.sum(axis=1), baseline.displays.sum(axis=1)
    used = (shown > 0.0) & (base > 0.0)
    if not used.any():
        nothing = VariantResults(*np.zeros((3, variant.displays.shape[1])))
        return ComparedDays(nothing, nothing, 0)
    weights = np.zeros_like(shown)
    weights[used] = base[used] / shown[used] * shown[used].sum() / base[used].sum()
    return ComparedDays(
        VariantResults(*(weights @ array for array in variant)),
        VariantResults(*(used.astype(float) @ array for array in baseline)),
        int(used.sum()),
    )
