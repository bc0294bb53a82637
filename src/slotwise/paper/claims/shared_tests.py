"""Tests on the regrets of runs that several claims share, and worlds from which the power of a test is computed.

A world multiplies the measured regrets by a factor. So the relative differences between its runs are the measured ones.
"""

import numpy as np

from slotwise.checks import Floats
from slotwise.paper.power import RunTest, World
from slotwise.paper.statistics import exponent, mean_ratio, median_ratio, row_difference

LINEAR = 0.8  # smallest growth exponent over the last factor of 10 of the rounds that counts as linear
MORE = 1.25  # the power is the probability of noticing that a policy loses this many times as much


def with_exponent(p: float) -> World:
    """A world whose mean regret grows like t^p over the last factor of 10 of the rounds."""

    def change(increments: Floats) -> Floats:
        factor = 10 ** ((p - exponent(increments)) / 2)
        return np.stack([increments[0], increments[1] * factor])

    return World(f"p = {p:g}", change)


def with_ratio(times: float, *, median: bool = False) -> World:
    """A world with two rows whose means (with `median`, whose medians) have this ratio."""
    statistic = np.median if median else np.mean

    def change(rows: Floats) -> Floats:
        return np.stack([rows[0] * (times * statistic(rows[1]) / statistic(rows[0])), rows[1]])

    return World(f"{times:g} times the regret", change)


def grows_linearly() -> RunTest:
    """Whether the exponent p of the growth of regret is at least LINEAR. The data comes from `last_decade`."""
    return RunTest(lambda rows: bool(exponent(rows) >= LINEAR), with_exponent(1.0), with_exponent(0.5))


def loses_more() -> RunTest:
    """Whether the mean of the first row exceeds that of the second by more than 2 standard errors."""
    return RunTest(lambda rows: row_difference(rows).low > 0, with_ratio(MORE), with_ratio(1.0))


def loses_at_most(times: float) -> RunTest:
    """Whether the 95 % interval of the ratio of means is below `times`."""
    return RunTest(lambda rows: mean_ratio(rows).high <= times, with_ratio(1.0), with_ratio(times))


def loses_less_in_the_median() -> RunTest:
    """Whether the 95 % interval of the ratio of medians is below 1."""
    return RunTest(
        lambda rows: median_ratio(rows).high < 1,
        with_ratio(1 / MORE, median=True),
        with_ratio(1.0, median=True),
    )


def is_similar(times: float) -> RunTest:
    """Whether the ratio of means is between 1 / `times` and `times`."""

    def holds(rows: Floats) -> bool:
        means = rows.mean(axis=1)
        return bool(means[1] <= times * means[0] and means[0] <= times * means[1])

    return RunTest(holds, with_ratio(1.0), with_ratio(1.5 * times))
