"""Claims about the width of the steps and the number of sweeps."""

from slotwise.paper.claims.claim import Claim, Part
from slotwise.paper.experiments import SWEEPS, THREE, WIDTHS, hyper
from slotwise.paper.results import Evidence
from slotwise.paper.statistics import gap, mean_and_error
from slotwise.simulation.result import Result

HIGH = 2.0  # times the smallest regret of the grid
SMALL_WIDTH = 10.0  # the middle of the grid: widths below it are small
Grid = dict[tuple[float, int], Result]


def _grid(evidence: Evidence, setting: str) -> Grid:
    return {(c, m): evidence.result("fig-hyper", setting, hyper(c, m).label) for c in WIDTHS for m in SWEEPS}


def _lowest(grid: Grid) -> Result:
    return min(grid.values(), key=lambda result: result.mean()[-1])


def _high(grid: Grid) -> list[tuple[float, int]]:
    limit = HIGH * _lowest(grid).mean()[-1]
    return [pair for pair, result in grid.items() if result.mean()[-1] > limit]


def _named(pairs: list[tuple[float, int]]) -> str:
    return "; ".join(hyper(*pair).label for pair in pairs) or "none"


def _range(evidence: Evidence) -> list[Part]:
    parts = []
    for setting in THREE:
        grid = _grid(evidence, setting)
        low = len(grid) - len(_high(grid))
        text = f"{low} of {len(grid)} pairs within {HIGH:g} times the smallest, {mean_and_error(_lowest(grid))}"
        parts.append(Part(setting, 2 * low > len(grid), text))
    return parts


def _both_small(evidence: Evidence) -> list[Part]:
    parts = []
    for setting in THREE:
        grid = _grid(evidence, setting)
        smallest = grid[WIDTHS[0], SWEEPS[0]]
        high = _high(grid)
        excess = gap(smallest, _lowest(grid))
        label = hyper(WIDTHS[0], SWEEPS[0]).label
        seen = (WIDTHS[0], SWEEPS[0]) in high and excess.low > 0
        parts.append(Part(f"{setting}, {label} is high", seen, f"{excess} above the smallest"))
        others = [(c, m) for c, m in high if not (c < SMALL_WIDTH and m == SWEEPS[0])]
        parts.append(Part(f"{setting}, no other is", not others, f"high elsewhere: {_named(others)}"))
    return parts


def _default(evidence: Evidence) -> list[Part]:
    parts = []
    for setting in THREE:
        grid = _grid(evidence, setting)
        usual, lowest = grid[100.0, 1], _lowest(grid)
        excess = gap(usual, lowest)
        close = excess.low <= 0.25 * float(lowest.mean()[-1])
        text = f"{mean_and_error(usual)}; the smallest of the grid {mean_and_error(lowest)}"
        parts.append(Part(setting, close, text))
    return parts


CLAIMS = (
    Claim(
        "hyper-range",
        "fig-hyper",
        "Regret is smallest over a wide range of c and m, so that they are easily tuned.",
        "On each setting: more than half of the ten pairs (c, m) have a mean regret within 2 times the smallest.",
        _range,
        "How wide a range is depends on the grid, which is ours; the paper's text gives none.",
    ),
    Claim(
        "hyper-both-small",
        "fig-hyper",
        "Regret is high only when c and m are both too small.",
        "On each setting: the pair with the smallest c and m is above 2 times the smallest regret, and above the "
        "smallest by more than 2 standard errors; and no pair with m = 10 or c of at least 10 is above 2 times it.",
        _both_small,
        "How small is too small depends on the grid, which is ours.",
    ),
    Claim(
        "hyper-default",
        "fig-hyper",
        "c = 100 with m = 1 is a good choice.",
        "On each setting: its mean regret is not above 1.25 times the smallest of the grid by more than 2 standard "
        "errors of the paired difference.",
        _default,
    ),
)
