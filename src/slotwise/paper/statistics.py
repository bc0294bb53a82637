"""The statistics that the claims are judged by: estimates over runs, with their uncertainty."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from slotwise.checks import Floats
from slotwise.simulation.result import Result

RESAMPLES = 2000
Statistic = Callable[[Floats], Floats]


class Measurement(NamedTuple):
    """An estimate with an interval of about 95 % coverage."""

    value: float
    low: float
    high: float

    def __str__(self) -> str:
        return f"{_format_number(self.value)} [{_format_number(self.low)}, {_format_number(self.high)}]"


def paired_difference(result: Result, other: Result) -> Measurement:
    """The mean regret of `result` minus the mean regret of `other` at the last round, paired by run.

    The interval is 2 standard errors.
    """
    difference = result.difference(other)
    mean, error = float(difference.mean[-1]), float(difference.standard_error[-1])
    return Measurement(mean, mean - 2 * error, mean + 2 * error)


def ratio(result: Result, other: Result, *, median: bool = False) -> Measurement:
    """The mean (or median) regret of `result` divided by that of `other`, at the last round.

    Runs are resampled in pairs.
    """
    statistic = np.median if median else np.mean
    return _resampled(
        np.stack([result.regret[:, -1], other.regret[:, -1]]),
        lambda rows: np.asarray(statistic(rows[0], axis=-1) / statistic(rows[1], axis=-1)),
    )


def growth_exponent(result: Result) -> Measurement:
    """The p for which mean regret grows like a + b t^p in the last decade: 1 is linear, 0 is logarithmic.

    The regret before the last decade (a) cancels out, because the increments of t^p in the two halves of the decade
    have the ratio 10^(p/2).
    """
    last = result.rounds[-1]
    ends = [int(np.searchsorted(result.rounds, last / 10**decades)) for decades in (1.0, 0.5, 0.0)]
    increments = np.diff(result.regret[:, ends], axis=1).T
    return _resampled(increments, lambda rows: 2 * np.log10(rows[1].mean(axis=-1) / rows[0].mean(axis=-1)))


def unlucky_runs(result: Result) -> NDArray[np.bool_]:
    """For each run, whether its regret grew faster than the square root of t in the last decade.

    In the last of five decades, a regret of C log t grows by a factor of 1.25, and a linear one by a factor of 10.
    """
    start = decade_start(result)
    growth = np.sqrt(result.rounds[-1] / result.rounds[start])
    return np.asarray(result.regret[:, -1] > growth * result.regret[:, start])


def divergence_round(result: Result, other: Result) -> int | None:
    """The round from which the mean regret of `result` stays above that of `other` by more than 2 standard errors."""
    difference = result.difference(other)
    above = difference.mean > 2 * difference.standard_error
    if not above[-1]:
        return None
    below = np.flatnonzero(~above)
    return int(difference.rounds[below[-1] + 1 if below.size else 0])


def decade_start(result: Result) -> int:
    """The index of the checkpoint where the last decade begins."""
    return int(np.searchsorted(result.rounds, result.rounds[-1] / 10))


def format_mean(result: Result) -> str:
    """The mean regret at the last round and its standard error, as text."""
    return f"{_format_number(float(result.mean()[-1]))} ± {_format_number(float(result.standard_error()[-1]))}"


def _resampled(rows: Floats, statistic: Statistic) -> Measurement:
    """A statistic of runs with its 95 % bootstrap interval. The resampling seed is fixed."""
    runs = rows.shape[1]
    picks = np.random.default_rng(0).integers(0, runs, (RESAMPLES, runs))
    with np.errstate(divide="ignore", invalid="ignore"):
        low, high = np.nanquantile(statistic(rows[:, picks]), [0.025, 0.975])
        value = statistic(rows)
    return Measurement(float(value), float(low), float(high))


def _format_number(value: float) -> str:
    if abs(value) >= 1000:
        return f"{value:,.0f}"
    return f"{value:.0f}" if abs(value) >= 100 else f"{value:.3g}"
