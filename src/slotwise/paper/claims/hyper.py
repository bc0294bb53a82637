"""Claims about the width of the steps and the number of sweeps."""

from slotwise.paper.claims.claim import Claim, Criterion
from slotwise.paper.experiments import SIMULATED_SETTINGS, SWEEPS, WIDTHS, hyper
from slotwise.paper.results import Results
from slotwise.paper.statistics import format_mean, paired_difference
from slotwise.simulation.result import Result

HIGH = 2.0  # a regret above this many times the smallest of the grid is high
SMALL_WIDTH = 10.0  # the middle of the grid: widths below it are small
Grid = dict[tuple[float, int], Result]


def _grid(results: Results, setting: str) -> Grid:
    return {(c, m): results.result("fig-hyper", setting, hyper(c, m).label) for c in WIDTHS for m in SWEEPS}


def _lowest(grid: Grid) -> Result:
    return min(grid.values(), key=lambda result: result.mean()[-1])


def _high(grid: Grid) -> list[tuple[float, int]]:
    limit = HIGH * _lowest(grid).mean()[-1]
    return [pair for pair, result in grid.items() if result.mean()[-1] > limit]


def _labels(pairs: list[tuple[float, int]]) -> str:
    return "; ".join(hyper(*pair).label for pair in pairs) or "none"


def _range(results: Results) -> list[Criterion]:
    criteria = []
    for setting in SIMULATED_SETTINGS:
        grid = _grid(results, setting)
        low = len(grid) - len(_high(grid))
        text = f"{low} of {len(grid)} pairs within {HIGH:g} times the smallest, {format_mean(_lowest(grid))}"
        criteria.append(Criterion(setting, 2 * low > len(grid), text))
    return criteria


def _both_small(results: Results) -> list[Criterion]:
    criteria = []
    for setting in SIMULATED_SETTINGS:
        grid = _grid(results, setting)
        smallest = grid[WIDTHS[0], SWEEPS[0]]
        high = _high(grid)
        excess = paired_difference(smallest, _lowest(grid))
        label = hyper(WIDTHS[0], SWEEPS[0]).label
        is_high = (WIDTHS[0], SWEEPS[0]) in high and excess.low > 0
        criteria.append(Criterion(f"{setting}, {label} is high", is_high, f"{excess} above the smallest"))
        others = [(c, m) for c, m in high if not (c < SMALL_WIDTH and m == SWEEPS[0])]
        criteria.append(
            Criterion(f"{setting}, no other pair is high", not others, f"other high pairs: {_labels(others)}")
        )
    return criteria


def _default(results: Results) -> list[Criterion]:
    criteria = []
    for setting in SIMULATED_SETTINGS:
        grid = _grid(results, setting)
        default, lowest = grid[100.0, 1], _lowest(grid)
        excess = paired_difference(default, lowest)
        close = excess.low <= 0.25 * float(lowest.mean()[-1])
        text = f"{format_mean(default)}; the smallest of the grid {format_mean(lowest)}"
        criteria.append(Criterion(setting, close, text))
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
