"""Compare two variants of a page: the one way from what they earned each day to the uplift, for logs and for pages."""

from collections.abc import Mapping

from slotwise.inference.uplift.same_days import on_same_days
from slotwise.inference.uplift.uplift import Uplift, estimate_uplift
from slotwise.logs.variant_days import VariantDays


def compare_variants(variants: Mapping[str, VariantDays], variant: str = "learnt", baseline: str = "holdout") -> Uplift:
    """The uplift of a variant over another one, both of which must be among the variants."""
    compared = on_same_days(variants[variant], variants[baseline])
    return estimate_uplift(compared.variant, compared.baseline, variant, baseline)
