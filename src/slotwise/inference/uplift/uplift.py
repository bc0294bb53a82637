"""The uplift of a variant over another: clicks and value per display, with intervals, or why there are none yet."""

import math
from typing import NamedTuple

import msgspec
import numpy as np

from slotwise.checks import Floats
from slotwise.inference.uplift.always_valid import deciding_variance, half_width, probability_positive
from slotwise.inference.uplift.jackknife import ClusterTotals, Comparison, compare

TAU = 0.1  # standard deviation of the log ratios that are expected: uplifts of about 10 %
LEVEL = 0.9
LEAST_CLICKS = 30  # of each variant: with fewer clicks, their number is far from normal
LEAST_CLUSTERS = 20  # with displays of a variant: with fewer clusters, the variance is too uncertain


class VariantResults(NamedTuple):
    """What one variant showed and earned, by cluster of visitors."""

    displays: Floats
    clicks: Floats
    value: Floats


class UpliftEstimate(msgspec.Struct, frozen=True):
    """How much more a variant earns per display: a `gain` of 0.12 is 12 % more. `low` and `high` bound the gain.

    `difference` is the difference of the rates, per display. It lies between `difference_low` and `difference_high`.
    """

    gain: float
    low: float
    high: float
    difference: float
    difference_low: float
    difference_high: float


class Uplift(msgspec.Struct, frozen=True):
    """The uplift of one variant over another. All estimates are None until the uplift is `ready`; `note` says why.

    `better` is the probability that the variant earns more clicks. `realised` is the share of the possible gain that
    the variant already earns, estimated from the posterior of a page; a log alone does not say it. `displays_needed` is
    the number of further displays after which the interval of the clicks is likely to exclude zero. It is None if the
    estimate is too close to zero.
    """

    ready: bool
    note: str
    displays: int  # of both variants
    clicks: UpliftEstimate | None = None
    value: UpliftEstimate | None = None
    better: float | None = None
    realised: float | None = None
    displays_needed: int | None = None


def estimate_uplift(variant: VariantResults, baseline: VariantResults, name: str, baseline_name: str) -> Uplift:
    """The uplift of `variant` over `baseline`. The names are used in the note."""
    displays = int(variant.displays.sum() + baseline.displays.sum())
    for results, label in ((variant, name), (baseline, baseline_name)):
        note = _why_not_ready(results, label)
        if note:
            return Uplift(False, note, displays, displays_needed=_displays_until_ready(variant, baseline))
    clicks = _compare(variant, baseline, "clicks")
    if not math.isfinite(clicks.log_ratio_variance):
        note = "all clicks of a variant come from one group of visitors"
        return Uplift(False, note, displays)
    return Uplift(
        ready=True,
        note="",
        displays=displays,
        clicks=_estimate(clicks, _rate(baseline.clicks, baseline)),
        value=_value(variant, baseline),
        better=probability_positive(clicks.log_ratio, clicks.log_ratio_variance, TAU),
        displays_needed=_displays_until_decided(clicks, displays),
    )


def _why_not_ready(results: VariantResults, name: str) -> str:
    clicks, clusters = int(results.clicks.sum()), int(np.count_nonzero(results.displays))
    if clicks < LEAST_CLICKS:
        return f"the variant {name} has {clicks} clicks, and {LEAST_CLICKS} are needed"
    if clusters < LEAST_CLUSTERS:
        return f"the variant {name} was shown to {clusters} groups of visitors, and {LEAST_CLUSTERS} are needed"
    return ""


def _displays_until_ready(variant: VariantResults, baseline: VariantResults) -> int | None:
    """How many more displays it takes until both variants have enough clicks, at the rate so far."""
    clicks = min(float(variant.clicks.sum()), float(baseline.clicks.sum()))
    displays = float(variant.displays.sum() + baseline.displays.sum())
    if clicks == 0.0 or clicks >= LEAST_CLICKS:
        return None
    return math.ceil(displays * (LEAST_CLICKS / clicks - 1.0))


def _displays_until_decided(clicks: Comparison, displays: int) -> int | None:
    """How many more displays it takes until the interval excludes zero. The variance falls as displays grow."""
    needed = deciding_variance(clicks.log_ratio, TAU, LEVEL)
    if needed == 0.0:
        return None
    return max(math.ceil(displays * (clicks.log_ratio_variance / needed - 1.0)), 0)


def _value(variant: VariantResults, baseline: VariantResults) -> UpliftEstimate | None:
    """The uplift of the value, or None if a variant earned nothing or one cluster earned all."""
    if variant.value.sum() <= 0.0 or baseline.value.sum() <= 0.0:
        return None
    compared = _compare(variant, baseline, "value")
    if not math.isfinite(compared.log_ratio_variance):
        return None
    return _estimate(compared, _rate(baseline.value, baseline))


def _compare(variant: VariantResults, baseline: VariantResults, what: str) -> Comparison:
    first, second = (ClusterTotals(results.displays, getattr(results, what)) for results in (variant, baseline))
    return compare(first, second)


def _rate(earned: Floats, results: VariantResults) -> float:
    return float(earned.sum() / results.displays.sum())


def _estimate(compared: Comparison, baseline_rate: float) -> UpliftEstimate:
    width = half_width(compared.log_ratio_variance, TAU, LEVEL)
    # a log ratio of tau is a difference of tau times the rate of the baseline
    spread = half_width(compared.difference_variance, TAU * baseline_rate, LEVEL)
    return UpliftEstimate(
        gain=math.expm1(compared.log_ratio),
        low=math.expm1(compared.log_ratio - width),
        high=math.expm1(compared.log_ratio + width),
        difference=compared.difference,
        difference_low=compared.difference - spread,
        difference_high=compared.difference + spread,
    )


def describe_uplift(uplift: Uplift, name: str, baseline: str) -> str:
    """One sentence: "learnt earns 12 % more clicks than random order, between 4 % and 21 %, after 41,000 displays"."""
    if uplift.clicks is None:
        return f"not enough data yet: {uplift.note}"
    gain, low, high = (100.0 * share for share in (uplift.clicks.gain, uplift.clicks.low, uplift.clicks.high))
    amount = f"{abs(gain):.0f} % {'more' if gain >= 0.0 else 'fewer'} clicks"
    return (
        f"{name} earns {amount} than {baseline}, between {low:.0f} % and {high:.0f} %, "
        f"after {uplift.displays:,} displays"
    )
