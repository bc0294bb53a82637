"""The statistics by which claims are judged: estimates over runs, with their uncertainty."""

from collections.abc import Callable
from functools import cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from slotwise.checks import Floats, Ints
from slotwise.simulation.result import Result

RESAMPLES = 2000
Statistic = Callable[[Floats], Floats]


class Measurement(NamedTuple):
    """An estimate with an interval of about 95 % coverage."""

    value: float
    low: float
    high: float

    def __str__(self) -> str:
        return f"{_format_number(self.value)} ({_format_number(self.low)} to {_format_number(self.high)})"


def final_regret(*results: Result) -> Floats:
    """The regret at the last round. Each result is a row, and each run is a column."""
    return np.stack([result.regret[:, -1] for result in results])


def paired_difference(result: Result, other: Result) -> Measurement:
    """The mean regret of `result` minus the mean regret of `other` at the last round. Runs are paired.

    The interval extends 2 standard errors in each direction.
    """
    difference = result.difference(other)
    return _with_two_errors(float(difference.mean[-1]), float(difference.standard_error[-1]))


def row_difference(rows: Floats) -> Measurement:
    """The mean of the first row minus the mean of the second. Columns are paired.

    The interval extends 2 standard errors in each direction.
    """
    gaps = rows[0] - rows[1]
    return _with_two_errors(float(gaps.mean()), float(gaps.std(ddof=1)) / np.sqrt(gaps.size))


def ratio(result: Result, other: Result, *, median: bool = False) -> Measurement:
    """The mean or median regret of `result` at the last round divided by that of `other`.

    Runs are resampled in pairs.
    """
    rows = final_regret(result, other)
    return median_ratio(rows) if median else mean_ratio(rows)


def mean_ratio(rows: Floats) -> Measurement:
    """The mean of the first row divided by that of the second. Columns are resampled."""
    return _of_means(rows, lambda means: means[0] / means[1])


def median_ratio(rows: Floats) -> Measurement:
    """The median of the first row divided by that of the second. Columns are resampled."""
    medians = np.median(rows[:, _picks(rows.shape[1])], axis=-1)
    value = np.median(rows[0]) / np.median(rows[1])
    return _with_quantiles(float(value), medians[0] / medians[1])


def growth_exponent(result: Result) -> Measurement:
    """The p for which mean regret grows like a + b t^p over the last factor of 10 of the rounds.

    1 means linear growth, and 0 means logarithmic growth.
    """
    return _of_means(last_decade(result), _exponent)


def exponent(increments: Floats) -> float:
    """The p of a + b t^p from the increments of `last_decade`."""
    return float(_exponent(increments.mean(axis=1)))


def _exponent(means: Floats) -> Floats:
    """The p of a + b t^p. The constant a cancels out: increments of t^p in the two halves have the ratio 10^(p/2)."""
    return np.asarray(2 * np.log10(means[1] / means[0]))


def last_decade(result: Result) -> Floats:
    """How much regret grows in each half of the last factor of 10 of the rounds, as an array of 2 x runs.

    The two halves are equally long on a logarithmic axis.
    """
    last = result.rounds[-1]
    ends = [int(np.searchsorted(result.rounds, last / 10**decades)) for decades in (1.0, 0.5, 0.0)]
    return np.diff(result.regret[:, ends], axis=1).T


def unlucky_runs(result: Result) -> NDArray[np.bool_]:
    """For each run: whether its regret grew faster than the square root of t over the last factor of 10 of the rounds.

    From round 10,000 to round 100,000, a regret of C log t grows by a factor of 1.25, and a linear regret by 10.
    """
    start = decade_start(result)
    growth = np.sqrt(result.rounds[-1] / result.rounds[start])
    return np.asarray(result.regret[:, -1] > growth * result.regret[:, start])


def divergence_round(rounds: Ints, gaps: Floats) -> int | None:
    """The round from which the mean of `gaps` stays more than 2 standard errors above 0.

    `gaps` are differences of regret. They have a row for each of the `rounds` and a column for each run.
    """
    above = gaps.mean(axis=1) > 2 * gaps.std(axis=1, ddof=1) / np.sqrt(gaps.shape[1])
    if not above[-1]:
        return None
    below = np.flatnonzero(~above)
    return int(rounds[below[-1] + 1 if below.size else 0])


def decade_start(result: Result) -> int:
    """The index of the checkpoint where the last factor of 10 of the rounds begins."""
    return int(np.searchsorted(result.rounds, result.rounds[-1] / 10))


def format_mean(result: Result) -> str:
    """The mean regret at the last round and its standard error, as text."""
    return f"{_format_number(float(result.mean()[-1]))} ± {_format_number(float(result.standard_error()[-1]))}"


def _with_two_errors(value: float, error: float) -> Measurement:
    return Measurement(value, value - 2 * error, value + 2 * error)


def _of_means(rows: Floats, statistic: Statistic) -> Measurement:
    """A statistic of the mean of each row, with its 95 % bootstrap interval over columns."""
    with np.errstate(divide="ignore", invalid="ignore"):
        resampled = statistic(rows @ _weights(rows.shape[1]).T)
        return _with_quantiles(float(statistic(rows.mean(axis=1))), resampled)


def _with_quantiles(value: float, resampled: Floats) -> Measurement:
    low, high = np.nanquantile(resampled, [0.025, 0.975])
    return Measurement(value, float(low), float(high))


@cache
def _picks(runs: int) -> Ints:
    """The runs of each resample. The seed is fixed."""
    return np.random.default_rng(0).integers(0, runs, (RESAMPLES, runs))


@cache
def _weights(runs: int) -> Floats:
    """The share of each run in each resample. Multiplying by these shares is faster than gathering the runs."""
    return np.stack([np.bincount(picks, minlength=runs) / runs for picks in _picks(runs)])


def _format_number(value: float) -> str:
    if abs(value) >= 1000:
        return f"{value:,.0f}"
    return f"{value:.0f}" if abs(value) >= 100 else f"{value:.3g}"
