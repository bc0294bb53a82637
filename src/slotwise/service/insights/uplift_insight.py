"""What learning earns on a page: the learnt variant compared with the holdout, since the shares last changed."""

from collections.abc import Sequence

from slotwise.inference.uplift.compare_variants import compare_variants
from slotwise.inference.uplift.uplift import Uplift
from slotwise.logs.variant_days import VariantDay, days_of_variants
from slotwise.service.pages.page_definition import PageSpec
from slotwise.service.store.records import DailyRate


def page_uplift(spec: PageSpec, days: Sequence[DailyRate]) -> Uplift:
    """The uplift of a page, without `realised`. `days` are those of the current allocation: of the same time."""
    displays = sum(day.displays for day in days)
    if spec.holdout == 0.0:
        return Uplift(False, "the page has no holdout: set `holdout` above 0 to measure what learning earns", displays)
    variants = days_of_variants([VariantDay(*day) for day in days])
    missing = [variant for variant in ("learnt", "holdout") if variant not in variants]
    if missing:
        return Uplift(False, f"no displays of the variant {missing[0]} since the shares last changed", displays)
    return compare_variants(variants)
