"""What a page has learnt, as people see it: intervals, the best displays, click rates by variant."""

from collections import defaultdict
from typing import Any, NamedTuple

import numpy as np
from msgspec import Struct

from slotwise.arrange import EMPTY
from slotwise.checks import Floats
from slotwise.counts import Counts
from slotwise.inference.components import components
from slotwise.inference.sampling.posterior import BURN_IN, Named, Posterior, posterior
from slotwise.service.pages.page import ItemSpec
from slotwise.service.pages.page_model import PRIOR, PageModel
from slotwise.service.store.interface import Rate

DRAWS, LEAST_DRAWS = 1000, 20
ENOUGH = 400.0  # an interval is shown when its draws are worth as many independent ones
LEVEL = 0.9
_CELLS_SWEPT = 50_000_000  # of the count matrix: what one computation may cost, about a second
_MOST_SWEPT = 200_000_000  # on a page with very many counts, which then gets fewer draws; some seconds
_NUMBERS_DRAWN = 12_000_000  # thetas and kappas: 100 MB, and some copies of it; a page with more rows gets fewer draws


class Estimate(Struct):
    """A theta or kappa: its mean, and its 90 % interval, null until the draws support one."""

    mean: float
    low: float | None
    high: float | None
    ready: bool


class Theta(Estimate, kw_only=True):
    """The attractiveness of an item in a segment ("" for requests that name none)."""

    segment: str
    item: str
    state: str


class Kappa(Estimate, kw_only=True):
    """The visibility of a position of a layout; the most visible one of the page has 1."""

    layout: str
    position: str


class Chance(Struct):
    """The probability that the best display has this item at this position."""

    segment: str
    layout: str
    position: str
    item: str
    probability: float


class Cell(Struct):
    """Clicks and skips of an item at a position."""

    segment: str
    item: str
    layout: str
    position: str
    clicks: float
    skips: float


class VariantTotals(Struct):
    """What a variant showed in the last 90 days: items at positions, and clicks on them."""

    variant: str
    displays: int
    shown: int
    clicks: int
    click_rate: float | None


class Hour(Struct):
    """The same in one hour, which began at `time`, seconds since 1970."""

    time: int
    variant: str
    displays: int
    shown: int
    clicks: int


class Insights(Struct):
    """All that a page has learnt."""

    page: str
    version: int
    computed: float
    displays: float
    ready: bool
    note: str
    theta: list[Theta]
    kappa: list[Kappa]
    at_position: list[Chance]
    counts: list[Cell]
    variants: list[VariantTotals]
    hours: list[Hour]


class Seen(NamedTuple):
    """What insights are made of, copied from a page on the loop's thread, so that another one can work on it."""

    page: str
    version: int
    mode: str
    counts: Counts | None  # None: there are no items yet
    rows: list[tuple[str, str, ItemSpec]]  # (segment, item, its definition) of each row
    columns: list[tuple[str, str]]
    layouts: dict[str, list[str]]
    segments: list[str]
    now: float


def seen(model: PageModel, now: float) -> Seen:
    """A copy of all that insights need."""
    body, names = model.page.body, model.names
    rows = [(segment, name, spec) for name, spec in zip(names, model.specs, strict=True) for segment in body.segments]
    counts = model.counts() if names else None
    layouts, segments = body.spec.all_layouts(), list(model.segments)
    return Seen(
        model.page.name, model.page.version, body.spec.mode, counts, rows, list(body.columns), layouts, segments, now
    )


def insights(given: Seen, rates: list[Rate]) -> Insights:
    """Sample the posterior and put it into words; takes up to seconds."""
    variants, hours = (
        _variant_totals(rates),
        [Hour(r.hour * 3600, r.variant, r.displays, r.shown, r.clicks) for r in rates],
    )
    if given.counts is None:
        empty: list[Theta] = []
        return Insights(
            given.page, given.version, given.now, 0.0, False, "no items yet", empty, [], [], [], variants, hours
        )
    found = _sample(given, given.counts)
    thetas, kappas = _thetas(given, found), _kappas(given, given.counts, found)
    return Insights(
        given.page,
        given.version,
        given.now,
        given.counts.displays,
        all(one.ready for one in [*thetas, *kappas]),
        _note(given, found),
        thetas,
        kappas,
        _chances(given, found),
        _cells(given, given.counts),
        variants,
        hours,
    )


def _sample(given: Seen, counts: Counts) -> Posterior:
    allowed = np.array([spec.shown_at(given.now) for _, _, spec in given.rows])
    names = [f"{segment}/{item}" for segment, item, _ in given.rows]
    columns = ["prior", *("/".join(pair) for pair in given.columns)]
    groups = [(allowed & _of_segment(given, segment), _columns(given, layout)) for segment, layout in _groups(given)]
    size = counts.clicks.size
    draws = min(DRAWS, max(min(_NUMBERS_DRAWN // sum(counts.clicks.shape), _MOST_SWEPT // (4 * size)), LEAST_DRAWS))
    budget = max(_CELLS_SWEPT // size, 4 * draws)
    named = Named(names, columns, allowed, tuple(groups))
    burn_in = min(BURN_IN, draws)  # a page too large for it has too few draws for intervals as well
    return posterior(counts, draws, "falling", ess=min(ENOUGH, draws / 2), budget=budget, named=named, burn_in=burn_in)


def _groups(given: Seen) -> list[tuple[str, str]]:
    return [(segment, layout) for segment in given.segments for layout in given.layouts]


def _of_segment(given: Seen, segment: str) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    return np.array([name == segment for name, _, _ in given.rows])


def _columns(given: Seen, layout: str) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    return np.array([given.columns.index((layout, position)) + 1 for position in given.layouts[layout]])


def _thetas(given: Seen, found: Posterior) -> list[Theta]:
    ends, worth = found.intervals(LEVEL).theta, found.effective
    return [
        Theta(segment=segment, item=item, state=spec.state, **_estimate(found.theta[:, k], ends[k], worth[k]))
        for k, (segment, item, spec) in enumerate(given.rows)
        if segment in given.segments
    ]


def _kappas(given: Seen, counts: Counts, found: Posterior) -> list[Kappa]:
    """Of the positions that the page has now. One that nothing links to another is 1 by convention: not known."""
    ends, worth = found.intervals(LEVEL).kappa, found.effective[len(given.rows) :]
    _, parts = components(counts.arrays())
    answers = []
    for k, (layout, position) in enumerate(given.columns, 1):
        if position in given.layouts.get(layout, []):
            linked = int((parts == parts[k]).sum()) > 1
            told = ENOUGH if np.isnan(worth[k]) and linked else worth[k]
            answers.append(Kappa(layout=layout, position=position, **_estimate(found.kappa[:, k], ends[k], told)))
    return answers


def _estimate(draws: Floats, ends: Floats, worth: float) -> dict[str, Any]:
    ready = bool(worth >= ENOUGH)
    low, high = (float(ends[0]), float(ends[1])) if ready else (None, None)
    return {"mean": float(draws.mean()), "low": low, "high": high, "ready": ready}


def _chances(given: Seen, found: Posterior) -> list[Chance]:
    answers = []
    for (segment, layout), displays in zip(_groups(given), found.among, strict=True):
        for k, position in enumerate(given.layouts[layout]):
            rows, times = np.unique(displays[:, k], return_counts=True)
            for row, share in zip(rows.tolist(), (times / len(displays)).tolist(), strict=True):
                if row != EMPTY:
                    answers.append(Chance(segment, layout, position, given.rows[row][1], share))
    return answers


def _cells(given: Seen, counts: Counts) -> list[Cell]:
    clicks, skips = counts.clicks.tolist(), counts.skips.tolist()
    return [
        Cell(*given.rows[row][:2], *given.columns[column - 1], clicks[row][column], skips[row][column])
        for row, column in np.argwhere((counts.clicks > 0.0) | (counts.skips > 0.0)).tolist()
        if column != PRIOR
    ]


def _variant_totals(rates: list[Rate]) -> list[VariantTotals]:
    sums: dict[str, list[int]] = defaultdict(lambda: [0, 0, 0])
    for rate in rates:
        for k, number in enumerate((rate.displays, rate.shown, rate.clicks)):
            sums[rate.variant][k] += number
    return [
        VariantTotals(variant, displays, shown, clicks, clicks / shown if shown else None)
        for variant, (displays, shown, clicks) in sorted(sums.items())
    ]


def _note(given: Seen, found: Posterior) -> str:
    if len(found.theta) < ENOUGH:
        size = found.theta.shape[1] * found.kappa.shape[1]
        return f"{size:,} counts are too many for intervals while the page serves: `slotwise fit` finds them in its log"
    if given.mode == "shadow":
        return "shadow mode never moves items: clicks tell products theta x kappa only, not theta and kappa apart"
    return found.note
