"""The ensemble of a page: draws of (theta, kappa) from which displays are chosen. It is replaced as a whole."""

from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from slotwise.arrange import EMPTY, ItemRules
from slotwise.checks import Floats, Ints
from slotwise.counts import CountArrays
from slotwise.inference.sampling.ensemble_draws import EnsembleDraws, Float32s
from slotwise.policies._ensemble_source import Planner
from slotwise.service.pages.arrange_draw import Scores
from slotwise.service.pages.draws_due import NO_COUNTS, CountsVersion
from slotwise.service.pages.layout import Layout

SMOOTHING = 10.0  # views by which a point estimate is drawn towards the click rate of the page
LEADERS, SMALL = 256, 1_000  # a page with more items than SMALL keeps the best of each draw and segment
_TIE_BREAK = 1e-3  # relative; without it, a new page would always show its first items


class GroupPlan(NamedTuple):
    """The planned displays of one layout for one segment. Other items follow in the order of the posterior means."""

    layout: Layout  # that of the plan; a page may have got another layout of this name while the plan was made
    scores: Scores  # one draw: the means of the items of the segment and of the positions of the layout
    columns: Ints  # the positions, as columns of `scores`
    displays: Ints  # k x L
    until: list[float]  # the k cumulative probabilities
    draw_chances: list[float]  # how often a display comes from each draw although there is a plan
    most_per_category: int  # the limit for which the plan was made


class PageEnsemble(NamedTuple):
    """The draws of a page and what they were made from."""

    scores: Scores
    beta: Floats  # M x 2: in each draw, the law Beta(a, b) of the theta of an item without counts
    n_items: int  # items that were added later have no scores
    rules: ItemRules  # those by which the leaders were found and the plans made
    plans: dict[tuple[int, str], GroupPlan]  # by segment and layout
    made_from: CountsVersion
    warming: bool  # point estimates, until the first draws are made

    def with_rules(self, rules: ItemRules) -> "PageEnsemble":
        """The ensemble for these rules. If they are others, there are no leaders and no plans, until they are made."""
        values, categories, most = self.rules
        if values is rules.values and categories is rules.categories and most == rules.most_per_category:
            return self
        scores = self.scores._replace(leaders=np.ascontiguousarray(self.scores.leaders[:, :, :0]))
        return self._replace(scores=scores, plans={}, rules=rules)


class EnsembleGroups(NamedTuple):
    """The displays that a policy may plan: groups of (segment, layout), the items that may be shown, and the rules."""

    n_segments: int
    asked: Iterable[tuple[int, Layout]]
    active: NDArray[np.bool_]
    rules: ItemRules


def from_draws(
    draws: EnsembleDraws, planner: Planner | None, params: Any, groups: EnsembleGroups, made_from: CountsVersion
) -> PageEnsemble:
    """An ensemble of draws, with the displays that the policy plans."""
    n_items, plans = draws.theta.shape[1] // groups.n_segments, dict[tuple[int, str], GroupPlan]()
    for segment, layout in groups.asked:
        plan = planner and _plan(planner, params, draws, groups, segment, layout)
        if plan is not None:
            plans[segment, layout.name] = plan
    scores = _with_leaders(draws.theta, draws.kappa, groups.n_segments, groups.rules.values)
    return PageEnsemble(scores, draws.beta, n_items, groups.rules, plans, made_from, warming=False)


def _with_leaders(theta: Float32s, kappa: Float32s, n_segments: int, values: Floats) -> Scores:
    """Scores with the best items of each draw and segment, by value x theta. A small page does not need them."""
    draws, n_items = len(theta), theta.shape[1] // n_segments
    leaders = np.empty((draws, n_segments, LEADERS if n_items > SMALL else 0), np.int32)
    if leaders.size:
        for draw in range(draws):
            for segment in range(n_segments):
                scores = -_valued(theta[draw, segment::n_segments], values)
                best = np.argpartition(scores, LEADERS)[:LEADERS]
                leaders[draw, segment] = best[np.argsort(scores[best], kind="stable")]
    return Scores(theta, kappa, leaders)


def _valued(theta: Float32s, values: Floats) -> Floats | Float32s:
    """Value x theta. Items that were added while the draws were made count with the value 1."""
    if not values.size:
        return theta
    scores = theta.astype(np.float64)
    scores[: values.size] *= values[: scores.size]
    return scores


def _plan(
    planner: Planner, params: Any, draws: EnsembleDraws, groups: EnsembleGroups, segment: int, layout: Layout
) -> GroupPlan | None:
    items = np.flatnonzero(groups.active)
    if items.size < len(layout.positions):
        return None
    theta = np.ascontiguousarray(draws.theta[:, items * groups.n_segments + segment], np.float64)
    kappa = np.ascontiguousarray(draws.kappa[:, layout.columns], np.float64)
    rules = _rules_of(groups.rules, items)
    planned = planner(params, theta, kappa, rules)
    if planned is None:
        return None
    means = np.zeros((1, draws.theta.shape[1] // groups.n_segments), np.float32)
    means[0, items] = (theta * kappa.sum(axis=1, keepdims=True)).mean(axis=0)
    visibility = (kappa / kappa.sum(axis=1, keepdims=True)).mean(axis=0, keepdims=True).astype(np.float32)
    displays = np.where(planned.displays == EMPTY, EMPTY, items[planned.displays])
    return GroupPlan(
        layout,
        _with_leaders(means, visibility, 1, groups.rules.values),
        np.arange(len(layout.positions)),
        displays,
        np.cumsum(planned.chances).tolist(),
        planned.draw_chances.tolist(),
        rules.most_per_category,
    )


def _rules_of(rules: ItemRules, items: Ints) -> ItemRules:
    """The rules of some items."""
    values, categories, most = rules
    return ItemRules(
        values[items] if values.size else values, categories[items] if categories.size else categories, most
    )


def from_point_estimates(
    counts: CountArrays, n_segments: int, rules: ItemRules, rng: np.random.Generator
) -> PageEnsemble:
    """An ensemble of one draw: smoothed click rates of rows and of columns. This takes a pass over the counts."""
    clicks, views = counts.clicks, counts.clicks + counts.skips
    rate = (clicks.sum() + 1.0) / (views.sum() + SMOOTHING)
    theta, kappa = ((clicks.sum(axis=axis) + rate * SMOOTHING) / (views.sum(axis=axis) + SMOOTHING) for axis in (1, 0))
    theta, kappa = ((s * (1.0 + _TIE_BREAK * rng.random(s.size))).astype(np.float32)[None] for s in (theta, kappa))
    n_items, scores = theta.size // n_segments, _with_leaders(theta, kappa, n_segments, rules.values)
    return PageEnsemble(scores, np.ones((1, 2)), n_items, rules, {}, NO_COUNTS, warming=True)
