"""What claims are judged by: numbers with their uncertainty, from runs."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from slotwise.checks import Floats
from slotwise.simulation.result import Result

RESAMPLES = 2000
Statistic = Callable[[Floats], Floats]


class Measure(NamedTuple):
    """A number and the interval that holds the truth about 95 times in 100."""

    value: float
    low: float
    high: float

    def __str__(self) -> str:
        return f"{_short(self.value)} [{_short(self.low)}, {_short(self.high)}]"


def gap(one: Result, other: Result) -> Measure:
    """Mean regret of `one` minus that of `other` at the last round, run by run, plus or minus 2 standard errors."""
    found = one.difference(other)
    mean, error = float(found.mean[-1]), float(found.standard_error[-1])
    return Measure(mean, mean - 2 * error, mean + 2 * error)


def ratio(one: Result, other: Result, *, middle: bool = False) -> Measure:
    """Mean (or median) regret of `one` at the last round divided by that of `other`; runs are resampled in pairs."""
    statistic = np.median if middle else np.mean
    return _resampled(
        np.stack([one.regret[:, -1], other.regret[:, -1]]),
        lambda rows: np.asarray(statistic(rows[0], axis=-1) / statistic(rows[1], axis=-1)),
    )


def slope(result: Result) -> Measure:
    """The p of a mean regret that grows like a + b t^p in the last decade: 1 when it is linear, 0 when logarithmic.

    What was lost before (a) does not count: t^p grows by the same factor from one half of the decade to the next.
    """
    last = result.rounds[-1]
    ends = [int(np.searchsorted(result.rounds, last / 10**part)) for part in (1.0, 0.5, 0.0)]
    lost = np.diff(result.regret[:, ends], axis=1).T
    return _resampled(lost, lambda rows: 2 * np.log10(rows[1].mean(axis=-1) / rows[0].mean(axis=-1)))


def still_losing(result: Result) -> NDArray[np.bool_]:
    """For each run, whether its regret grew faster than the square root of t in the last decade.

    That of a run that loses C log t clicks grows 1.25 times in the last of five decades, that of a linear one 10 times.
    """
    start = decade_start(result)
    growth = np.sqrt(result.rounds[-1] / result.rounds[start])
    return np.asarray(result.regret[:, -1] > growth * result.regret[:, start])


def diverges(one: Result, other: Result) -> int | None:
    """The round from which on the mean regret of `one` stays above that of `other` by more than 2 standard errors."""
    found = one.difference(other)
    above = found.mean > 2 * found.standard_error
    if not above[-1]:
        return None
    below = np.flatnonzero(~above)
    return int(found.rounds[below[-1] + 1 if below.size else 0])


def decade_start(result: Result) -> int:
    """The checkpoint where the last decade begins."""
    return int(np.searchsorted(result.rounds, result.rounds[-1] / 10))


def mean_and_error(result: Result) -> str:
    """Mean regret at the last round, with its standard error."""
    return f"{_short(float(result.mean()[-1]))} ± {_short(float(result.standard_error()[-1]))}"


def _resampled(rows: Floats, statistic: Statistic) -> Measure:
    """A statistic of runs and its 95 % interval from resampling them; the same runs always give the same interval."""
    runs = rows.shape[1]
    picks = np.random.default_rng(0).integers(0, runs, (RESAMPLES, runs))
    with np.errstate(divide="ignore", invalid="ignore"):
        low, high = np.nanquantile(statistic(rows[:, picks]), [0.025, 0.975])
        value = statistic(rows)
    return Measure(float(value), float(low), float(high))


def _short(value: float) -> str:
    if abs(value) >= 1000:
        return f"{value:,.0f}"
    return f"{value:.0f}" if abs(value) >= 100 else f"{value:.3g}"
