"""The ensemble of a page: draws of (theta, kappa) from which displays are chosen. It is replaced as a whole."""

from collections.abc import Callable, Iterable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from slotwise.arrange import EMPTY, ItemRules
from slotwise.checks import Floats, Ints
from slotwise.counts import CountArrays
from slotwise.inference.sampling.ensemble_draws import EnsembleDraws, Float32s
from slotwise.policies._ensemble_source import PlannedDisplays
from slotwise.service.ensembles.arrange_draw import DisplayPlace, Int32s, Scores
from slotwise.service.ensembles.draws_due import NO_COUNTS, CountsVersion
from slotwise.service.ensembles.largest_draws import NEARLY_NORMAL
from slotwise.service.pages.count_matrix import NO_ROW
from slotwise.service.pages.layout import Layout
from slotwise.service.pages.page_features import FeatureScaling

MOST_ADDED = 2_000  # items without counts, in each segment, of which an ensemble has draws: these take up to 512 kB
SMOOTHING = 10.0  # views by which a point estimate is drawn towards the click rate of the page
LEADERS, SMALL = 256, 1_000  # a page with more items than SMALL keeps the best of each draw and segment
_TIE_BREAK = 1e-3  # relative; without it, a new page would always show its first items
DisplayPlan = Callable[[Floats, Floats, ItemRules], PlannedDisplays | None]  # of draws of theta and kappa


class GroupPlan(NamedTuple):
    """The planned displays of one layout for one segment. Other items follow in the order of the posterior means."""

    layout: Layout  # that of the plan; a page may have got another layout of this name while the plan was made
    scores: Scores  # one draw: the means of the items of the segment and of the positions of the layout
    place: DisplayPlace  # of the layout in `scores`
    displays: Ints  # k x L
    until: list[float]  # the k cumulative probabilities
    draw_chances: list[float]  # how often a display comes from each draw although there is a plan
    most_per_category: int  # the limit for which the plan was made


class PageEnsemble(NamedTuple):
    """The draws of a page and what they were made from."""

    scores: Scores
    rows: Int32s  # segments x items: the row of each in `scores`, or a negative number
    beta: Floats  # M x 2: in each draw, the law Beta(a, b) of the theta of an item without counts
    regression: Floats  # M x (1 + d): then b depends on the item's features, scaled like this; M x 0 without features
    scaling: FeatureScaling | None
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

    def with_draws_of(self, active: NDArray[np.bool_], rng: np.random.Generator) -> "PageEnsemble":
        """The ensemble with draws of the active items that have no row, from the law of items without counts.

        Then all displays from one draw are equal. If there are more than MOST_ADDED, they are drawn for each display.
        """
        segments, items = np.nonzero((self.rows[:, : active.size] == NO_ROW) & active[: self.n_items])
        if not 0 < items.size <= MOST_ADDED:
            return self
        theta, kappa, _ = self.scores
        rows = self.rows.copy()
        rows[segments, items] = theta.shape[1] + np.arange(items.size)
        a, b = self.beta.T[:, :, None]
        theta = np.hstack([theta, rng.beta(a, b, (len(theta), items.size)).astype(np.float32)])
        return self._replace(scores=_with_leaders(theta, kappa, rows, self.rules.values), rows=rows)

    @property
    def n_items(self) -> int:
        """The number of items that the page had. Items that were added later have no scores."""
        return int(self.rows.shape[1])


class RowsAndColumns(NamedTuple):
    """Where the counts are in the count matrix that an ensemble is made from."""

    rows: Int32s  # segments x items: the row of each, or a negative number
    columns: Ints  # the column in the matrix of each column of the page, or a negative number
    keys: Ints  # of each row, in increasing order


class EnsembleGroups(NamedTuple):
    """The displays that a policy may plan: groups of (segment, layout), the items that may be shown, and the rules."""

    asked: Iterable[tuple[int, Layout]]
    active: NDArray[np.bool_]
    rules: ItemRules


def from_draws(
    draws: EnsembleDraws,
    where: RowsAndColumns,
    groups: EnsembleGroups,
    plan: DisplayPlan | None,
    made_from: CountsVersion,
    scaling: FeatureScaling | None = None,
) -> PageEnsemble:
    """An ensemble of draws, with the displays that the policy plans."""
    draws = draws._replace(kappa=_all_columns(draws.kappa, where.columns))
    plans = dict[tuple[int, str], GroupPlan]()
    for segment, layout in groups.asked:
        planned = plan and _plan(plan, draws, where.rows[segment], groups, layout)
        if planned is not None:
            plans[segment, layout.name] = planned
    scores = _with_leaders(draws.theta, draws.kappa, where.rows, groups.rules.values)
    laws = draws.beta, draws.regression, scaling
    return PageEnsemble(scores, where.rows, *laws, groups.rules, plans, made_from, warming=False)


def _all_columns(kappa: Float32s, columns: Ints) -> Float32s:
    """The kappas of all columns of the page. Those that the matrix does not have are never used."""
    if kappa.shape[1] == columns.size:
        return kappa
    known, result = columns >= 0, np.zeros((len(kappa), columns.size), np.float32)
    result[:, known] = kappa[:, columns[known]]
    return result


def _with_leaders(theta: Float32s, kappa: Float32s, rows: Int32s, values: Floats) -> Scores:
    """Scores with the best items of each draw and segment, by value x theta. A small page does not need them.

    If fewer items have a row, the rest of the leaders is EMPTY.
    """
    draws, (n_segments, n_items) = len(theta), rows.shape
    leaders = np.full((draws, n_segments, LEADERS if n_items > SMALL else 0), EMPTY, np.int32)
    if leaders.size:
        for segment in range(n_segments):
            items = np.flatnonzero(rows[segment] >= 0)
            for draw in range(draws):
                scores = -_valued(theta[draw, rows[segment, items]], items, values)
                best = np.argpartition(scores, LEADERS)[:LEADERS] if items.size > LEADERS else np.arange(items.size)
                leaders[draw, segment, : best.size] = items[best[np.argsort(scores[best], kind="stable")]]
    return Scores(theta, kappa, leaders)


def _valued(theta: Float32s, items: Ints, values: Floats) -> Floats | Float32s:
    """Value x theta of items. Those that were added while the draws were made count with the value 1."""
    if not values.size:
        return theta
    n_valued = int(np.searchsorted(items, values.size))
    scores: Floats = theta * np.concatenate([values[items[:n_valued]], np.ones(items.size - n_valued)])
    return scores


def _plan(
    plan: DisplayPlan,
    draws: EnsembleDraws,
    rows: Int32s,
    groups: EnsembleGroups,
    layout: Layout,
) -> GroupPlan | None:
    items = np.flatnonzero(groups.active & (rows[: groups.active.size] >= 0))
    if items.size < len(layout.positions):
        return None
    theta = np.ascontiguousarray(draws.theta[:, rows[items]], np.float64)
    kappa = np.ascontiguousarray(draws.kappa[:, layout.columns], np.float64)
    planned = plan(theta, kappa, _rules_of(groups.rules, items))
    if planned is None:
        return None
    means, itself = np.zeros((1, rows.size), np.float32), np.arange(rows.size, dtype=np.int32)[None]
    means[0, items] = (theta * kappa.sum(axis=1, keepdims=True)).mean(axis=0)
    visibility = (kappa / kappa.sum(axis=1, keepdims=True)).mean(axis=0, keepdims=True).astype(np.float32)
    displays = np.where(planned.displays == EMPTY, EMPTY, items[planned.displays])
    return GroupPlan(
        layout,
        _with_leaders(means, visibility, itself, groups.rules.values),
        DisplayPlace(0, itself, np.arange(len(layout.positions))),
        displays,
        np.cumsum(planned.chances).tolist(),
        planned.draw_chances.tolist(),
        groups.rules.most_per_category,
    )


def _rules_of(rules: ItemRules, items: Ints) -> ItemRules:
    """The rules of some items."""
    values, categories, most = rules
    return ItemRules(
        values[items] if values.size else values, categories[items] if categories.size else categories, most
    )


def from_point_estimates(
    counts: CountArrays, where: RowsAndColumns, rules: ItemRules, rng: np.random.Generator
) -> PageEnsemble:
    """An ensemble of one draw: smoothed click rates of rows and of columns. This takes a pass over the counts."""
    clicks, views = counts.clicks, counts.clicks + counts.skips
    rate = (clicks.sum() + 1.0) / (views.sum() + SMOOTHING)
    theta, kappa = ((clicks.sum(axis=axis) + rate * SMOOTHING) / (views.sum(axis=axis) + SMOOTHING) for axis in (1, 0))
    theta, kappa = ((s * (1.0 + _TIE_BREAK * rng.random(s.size))).astype(np.float32)[None] for s in (theta, kappa))
    scores = _with_leaders(theta, _all_columns(kappa, where.columns), where.rows, rules.values)
    views_of_rate = max(1.0 / _TIE_BREAK**2, 2.0 * NEARLY_NORMAL / min(rate, 1.0 - rate))
    near_rate = np.array([[rate, 1.0 - rate]]) * views_of_rate  # a Beta law with about the same spread, or less
    return PageEnsemble(scores, where.rows, near_rate, np.empty((1, 0)), None, rules, {}, NO_COUNTS, warming=True)
