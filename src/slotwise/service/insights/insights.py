"""The insights of a page: estimates with intervals, the best displays, counts, and the click rates of variants."""

from collections import defaultdict

import msgspec
import numpy as np
from msgspec import Struct

from slotwise.counts import Counts
from slotwise.inference.components import components
from slotwise.inference.sampling.posterior import BURN_IN, Labels, Posterior, posterior
from slotwise.inference.uplift.uplift import Uplift
from slotwise.policies._policy_module import find, learns
from slotwise.service.insights.display_shares import (
    PositionProbability,
    ShownItem,
    best_items,
    display_groups,
    label_group,
    row_rules,
    shown_items,
)
from slotwise.service.insights.insight_inputs import InsightInputs
from slotwise.service.insights.interval_estimate import LEAST_ESS, LEVEL, IntervalEstimate, estimate_fields
from slotwise.service.insights.realised_gain import realised_gain
from slotwise.service.insights.shadow_insight import ONLY_PRODUCTS, ShadowInsight, shadow_insight
from slotwise.service.insights.uplift_insight import page_uplift
from slotwise.service.pages.count_matrix import PRIOR
from slotwise.service.store.records import DailyRate, HourlyRate
from slotwise.service.templates.template_insight import TemplateInsight, template_insight, with_other_pages

DRAWS, LEAST_DRAWS = 1000, 20
_CELLS_SWEPT = 50_000_000  # cells of the count matrix x sweeps: the budget of one computation, about a second
_MOST_SWEPT = 200_000_000  # the limit for pages with very many counts, a few seconds; they get fewer draws
_NUMBERS_DRAWN = 12_000_000  # thetas and kappas in all draws, 100 MB and a few copies; large pages get fewer draws


class ThetaEstimate(IntervalEstimate, kw_only=True):
    """The attractiveness of an item in a segment ("" for requests without a segment)."""

    segment: str
    item: str
    state: str


class KappaEstimate(IntervalEstimate, kw_only=True):
    """The visibility of a position of a layout, relative to the most visible position of the page."""

    layout: str
    position: str


class InsightCell(Struct):
    """Clicks and skips of an item at a position."""

    segment: str
    item: str
    layout: str
    position: str
    clicks: float
    skips: float


class VariantTotals(Struct):
    """What a variant showed in the last 90 days: displays, items in them, and clicks on those."""

    variant: str
    displays: int
    shown: int
    clicks: int
    click_rate: float | None


class VariantHour(Struct):
    """What a variant showed in the hour that began at `time`, in seconds since 1970."""

    time: int
    variant: str
    displays: int
    shown: int
    clicks: int


class Insights(Struct):
    """Everything that a page has learnt. `template` is null if the page has none, and `shadow` in the other modes."""

    page: str
    version: int
    computed: float
    displays: float
    ready: bool
    note: str
    sampling: str
    theta: list[ThetaEstimate]
    kappa: list[KappaEstimate]
    at_position: list[PositionProbability]
    shown: list[ShownItem]
    counts: list[InsightCell]
    variants: list[VariantTotals]
    hours: list[VariantHour]
    uplift: Uplift
    template: TemplateInsight | None
    shadow: ShadowInsight | None = None


def compute_insights(inputs: InsightInputs, rates: list[HourlyRate], days: list[DailyRate]) -> Insights:
    """Sample the posterior and summarise it. This can take several seconds."""
    result = Insights(
        inputs.page.name,
        inputs.page.version,
        inputs.now,
        displays=0.0,
        ready=False,
        note="no items yet",
        sampling="",
        theta=[],
        kappa=[],
        at_position=[],
        shown=[],
        counts=[],
        variants=variant_totals(rates),
        hours=[VariantHour(rate.hour * 3600, *rate[1:]) for rate in rates],
        uplift=page_uplift(inputs.spec, days),
        template=_template(inputs),
    )
    if inputs.counts is None:
        return result
    joint = _joint_counts(inputs, inputs.counts)
    draws = _sample(inputs, joint)
    thetas, kappas = _thetas(inputs, draws), _kappas(inputs, joint, draws)
    return msgspec.structs.replace(
        result,
        displays=inputs.counts.displays,
        ready=all(estimate.ready for estimate in [*thetas, *kappas]),
        note=_note(inputs, draws),
        sampling=draws.note,
        theta=thetas,
        kappa=kappas,
        at_position=best_items(inputs, draws.group_displays),
        shown=shown_items(inputs, draws.group_displays),
        counts=_cells(inputs, inputs.counts),
        uplift=_with_realised(result.uplift, inputs, draws),
        shadow=shadow_insight(inputs, joint, draws) if inputs.spec.mode == "shadow" else None,
    )


def _with_realised(uplift: Uplift, inputs: InsightInputs, draws: Posterior) -> Uplift:
    return msgspec.structs.replace(uplift, realised=realised_gain(inputs, draws)) if uplift.ready else uplift


def _template(inputs: InsightInputs) -> TemplateInsight | None:
    name = inputs.spec.template
    return (
        None if name is None or inputs.shared is None else template_insight(name, inputs.uses_template, inputs.shared)
    )


def _joint_counts(inputs: InsightInputs, counts: Counts) -> Counts:
    """The counts of the page. If it uses a template, rows and columns of the other pages follow."""
    if inputs.shared is None or not inputs.uses_template:
        return counts
    return with_other_pages(inputs.page.number, inputs.columns, counts, inputs.shared)


def _sample(inputs: InsightInputs, counts: Counts) -> Posterior:
    """Draws given the counts, in which rows and columns of other pages may follow those of the page."""
    active = np.array([spec.is_active(inputs.now) for _, _, spec in inputs.rows])
    names = [f"{segment}/{item}" for segment, item, _ in inputs.rows]
    columns = ["prior", *("/".join(pair) for pair in inputs.columns)]
    groups = [label_group(inputs, active, group) for group in display_groups(inputs)]
    others = np.zeros(len(counts.clicks) - active.size, np.bool_)
    active, names = np.concatenate([active, others]), names + [f"another page, row {k}" for k in range(others.size)]
    groups = [group._replace(allowed=np.concatenate([group.allowed, others])) for group in groups]
    columns += [f"another page, column {k}" for k in range(len(columns), counts.clicks.shape[1])]
    size = counts.clicks.size
    draws = min(DRAWS, max(min(_NUMBERS_DRAWN // sum(counts.clicks.shape), _MOST_SWEPT // (4 * size)), LEAST_DRAWS))
    budget = max(_CELLS_SWEPT // size, 4 * draws)
    labels = Labels(names, columns, active, tuple(groups), row_rules(inputs, active.size))
    burn_in = min(BURN_IN, draws)  # only a page so large that it has no intervals anyway has a shorter one
    ess = min(LEAST_ESS, draws / 2)
    return posterior(counts, draws, "falling", ess=ess, budget=budget, labels=labels, burn_in=burn_in)


def _thetas(inputs: InsightInputs, draws: Posterior) -> list[ThetaEstimate]:
    intervals, ess = draws.intervals(LEVEL).theta, draws.effective_sample_sizes
    return [
        ThetaEstimate(
            segment=segment, item=item, state=spec.state, **estimate_fields(draws.theta[:, k], intervals[k], ess[k])
        )
        for k, (segment, item, spec) in enumerate(inputs.rows)
        if segment in inputs.segments
    ]


def _kappas(inputs: InsightInputs, counts: Counts, draws: Posterior) -> list[KappaEstimate]:
    """The estimates of the positions that the page has now.

    An effective sample size of NaN means that kappa is 1 by convention, for one of two reasons. If the position is the
    most visible one of its component, 1 is an estimate like any other. If no count links the position to another
    position, nothing is known about its visibility.
    """
    intervals, all_ess = draws.intervals(LEVEL).kappa, draws.effective_sample_sizes[draws.theta.shape[1] :]
    _, component = components(counts.arrays())
    estimates = []
    for k, (layout, position) in enumerate(inputs.columns, 1):
        if position in inputs.layouts.get(layout, []):
            linked = int((component == component[k]).sum()) > 1
            ess = LEAST_ESS if np.isnan(all_ess[k]) and linked else all_ess[k]
            fields = estimate_fields(draws.kappa[:, k], intervals[k], ess)
            estimates.append(KappaEstimate(layout=layout, position=position, **fields))
    return estimates


def _cells(inputs: InsightInputs, counts: Counts) -> list[InsightCell]:
    clicks, skips = counts.clicks.tolist(), counts.skips.tolist()
    return [
        InsightCell(*inputs.rows[row][:2], *inputs.columns[column - 1], clicks[row][column], skips[row][column])
        for row, column in np.argwhere((counts.clicks > 0.0) | (counts.skips > 0.0)).tolist()
        if column != PRIOR
    ]


def variant_totals(rates: list[HourlyRate]) -> list[VariantTotals]:
    """The totals of each variant over these hours."""
    sums: dict[str, list[int]] = defaultdict(lambda: [0, 0, 0])
    for rate in rates:
        for k, number in enumerate((rate.displays, rate.shown, rate.clicks)):
            sums[rate.variant][k] += number
    return [
        VariantTotals(variant, displays, shown, clicks, clicks / shown if shown else None)
        for variant, (displays, shown, clicks) in sorted(sums.items())
    ]


def _note(inputs: InsightInputs, draws: Posterior) -> str:
    if len(draws.theta) < LEAST_ESS:
        size = draws.theta.shape[1] * draws.kappa.shape[1]
        return f"{size:,} counts are too many for intervals while the page serves; run `slotwise fit` on its log"
    if inputs.spec.mode == "shadow":
        return ONLY_PRODUCTS
    if inputs.spec.mode == "learn" and not learns(find(inputs.spec.policy)):
        return f"the policy {inputs.spec.policy} does not learn: it shows every item equally often at every position"
    return ""
