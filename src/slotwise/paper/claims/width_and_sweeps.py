"""Claims about the width of the steps and the number of sweeps."""

from collections.abc import Sequence

import numpy as np

from slotwise.checks import Floats
from slotwise.paper.claims.claim import Claim, Criterion, decided_by_runs
from slotwise.paper.experiments import SIMULATED_SETTINGS, SWEEPS, WIDTHS, hyper
from slotwise.paper.power import RunTest, World
from slotwise.paper.results import Results
from slotwise.paper.statistics import final_regret, format_mean, row_difference
from slotwise.simulation.result import Result

HIGH = 2.0  # a regret above this many times the smallest of the grid is high
SMALL_WIDTH = 10.0  # the middle of the grid: widths below it are small
PAIRS = [(c, m) for c in WIDTHS for m in SWEEPS]
SMALLEST, DEFAULT = PAIRS.index((WIDTHS[0], SWEEPS[0])), PAIRS.index((100.0, 1))
# the pairs whose c and m are not both small
OTHERS = [k for k, (c, m) in enumerate(PAIRS) if not (c < SMALL_WIDTH and m == SWEEPS[0])]


def _grid(results: Results, setting: str) -> list[Result]:
    """The result of each pair in PAIRS. The rows of the tests below are the final regrets of these results."""
    return [results.result("fig-hyper", setting, hyper(*pair).label) for pair in PAIRS]


def _high(rows: Floats) -> list[int]:
    """The pairs with a high regret."""
    means = rows.mean(axis=1)
    return np.flatnonzero(means > HIGH * means.min()).tolist()


def _above_lowest(rows: Floats, pair: int) -> tuple[float, float]:
    """The lower confidence limit of a pair's regret minus the smallest regret, and the smallest regret itself."""
    lowest = int(rows.mean(axis=1).argmin())
    return row_difference(rows[[pair, lowest]]).low, float(rows[lowest].mean())


def _equal_but(pairs: Sequence[int], times: float, description: str) -> World:
    """A world where all pairs have the same mean regret, except `pairs`, whose mean regret is `times` as large."""

    def change(rows: Floats) -> Floats:
        equal = rows / rows.mean(axis=1, keepdims=True)
        equal[list(pairs)] *= times
        return np.asarray(equal)

    return World(description, change)


ALL_EQUAL = _equal_but([], 1.0, "all pairs equal")
WIDE_RANGE = RunTest(
    lambda rows: 2 * len(_high(rows)) < len(rows),
    ALL_EQUAL,
    _equal_but(range(6), 1.5 * HIGH, "6 of 10 pairs 3 times the rest"),
)
SMALLEST_IS_HIGH = RunTest(
    lambda rows: SMALLEST in _high(rows) and _above_lowest(rows, SMALLEST)[0] > 0,
    _equal_but([SMALLEST], 1.5 * HIGH, "this pair 3 times the rest"),
    ALL_EQUAL,
)
NO_OTHER_IS_HIGH = RunTest(
    lambda rows: not set(_high(rows)) & set(OTHERS),
    ALL_EQUAL,
    _equal_but(OTHERS[:1], 1.5 * HIGH, "one other pair 3 times the rest"),
)


def _is_close(rows: Floats) -> bool:
    above, smallest = _above_lowest(rows, DEFAULT)
    return above <= 0.25 * smallest


GOOD_DEFAULT = RunTest(_is_close, ALL_EQUAL, _equal_but([DEFAULT], 1.5, "this pair 1.5 times the rest"))


def _range(results: Results) -> list[Criterion]:
    criteria = []
    for setting in SIMULATED_SETTINGS:
        grid = _grid(results, setting)
        rows = final_regret(*grid)
        low, lowest = len(grid) - len(_high(rows)), grid[int(rows.mean(axis=1).argmin())]
        text = f"{low} of {len(grid)} pairs within {HIGH:g} times the smallest, {format_mean(lowest)}"
        criteria.append(decided_by_runs(setting, WIDE_RANGE, rows, text))
    return criteria


def _both_small(results: Results) -> list[Criterion]:
    criteria = []
    for setting in SIMULATED_SETTINGS:
        rows = final_regret(*_grid(results, setting))
        excess = row_difference(rows[[SMALLEST, int(rows.mean(axis=1).argmin())]])
        others = "; ".join(hyper(*PAIRS[k]).label for k in _high(rows) if k in OTHERS) or "none"
        label = hyper(*PAIRS[SMALLEST]).label
        criteria += [
            decided_by_runs(f"{setting}, {label} is high", SMALLEST_IS_HIGH, rows, f"{excess} above the smallest"),
            decided_by_runs(f"{setting}, no other pair is high", NO_OTHER_IS_HIGH, rows, f"other high pairs: {others}"),
        ]
    return criteria


def _default(results: Results) -> list[Criterion]:
    criteria = []
    for setting in SIMULATED_SETTINGS:
        grid = _grid(results, setting)
        rows = final_regret(*grid)
        lowest = grid[int(rows.mean(axis=1).argmin())]
        text = f"{format_mean(grid[DEFAULT])}; the smallest of the grid {format_mean(lowest)}"
        criteria.append(decided_by_runs(setting, GOOD_DEFAULT, rows, text))
    return criteria


CLAIMS = (
    Claim(
        "hyper-range",
        "fig-hyper",
        "Regret is smallest over a wide range of c and m, so they are easy to tune.",
        "On each setting: more than half of the ten pairs (c, m) have a mean regret within 2 times the smallest.",
        _range,
        "The width of the range depends on the grid, which is ours; the paper's text gives none.",
    ),
    Claim(
        "hyper-both-small",
        "fig-hyper",
        "Regret is high only when c and m are both too small.",
        "On each setting: the regret of the pair with the smallest c and m is above 2 times the smallest regret, and "
        "above it by more than 2 standard errors; no pair with m = 10 or c of at least 10 is above 2 times it.",
        _both_small,
        "What counts as too small depends on the grid, which is ours.",
    ),
    Claim(
        "hyper-default",
        "fig-hyper",
        "c = 100 with m = 1 is a good choice.",
        "On each setting: its mean regret does not exceed 1.25 times the smallest of the grid by more than 2 standard "
        "errors of the paired difference.",
        _default,
    ),
)
