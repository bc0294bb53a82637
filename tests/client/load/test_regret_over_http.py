"""Regret over HTTP compared with the regret of `simulate`: the same policy, setting, rounds and delay of clicks.

Law: the logarithm of a run's regret has the same mean and standard deviation s (about 0.17) as in `simulate`. Its right
tail is heavier than the tail of a normal distribution.

- One run of 5,000 rounds must lie within log 1.2 + 3.5 s of that mean; both come from 60 runs. Of 3,000 runs of
  `simulate`, 11 did not. Both seeds are fixed and a single connection runs round by round, so the outcome is always
  the same.
- `make statistics`: the mean of 20 runs of 20,000 rounds must lie within 20 % of that of `simulate`. Of 20,000 means
  of 20 runs, drawn from 3,000 runs of `simulate`, 1 did not. Without a seed, displays do not wait for ensembles that
  are due.
"""

from pathlib import Path

import numpy as np
import pytest

import slotwise as sw
from slotwise.checks import Floats
from slotwise.paper.named_click_models import setting
from tests.command_line import run_process
from tests.service.running_service import Process

ROUNDS, MANY_ROUNDS, DELAY = 5_000, 20_000, 100
TOLERANCE, DEVIATIONS = np.log(1.2), 3.5


def simulated(delay: int, runs: int, rounds: int = ROUNDS) -> Floats:
    """The logarithms of the regrets of simulated runs."""
    result = sw.simulate("slot_ts", setting("standard"), rounds=rounds, runs=runs, seed=7, delay=delay)
    return np.asarray(np.log(result.regret[:, -1]))


def over_http(
    store: Path, runs: int, connections: int, rounds: int = ROUNDS, options: tuple[str, ...] = ("--seed", "7")
) -> Floats:
    """The logarithms of the regrets that `slotwise load` reports, each for a new page."""
    regrets = []
    service = Process(store, *options)
    try:
        service.wait_until_ready()
        for run in range(runs):
            command = ["load", "--url", service.address, "--page", f"run{run}", "--create", "--rate", "max", "--json"]
            command += ["--connections", str(connections), "--rounds", str(rounds), "--delay", str(DELAY)]
            report = run_process(*command, "--seed", str(run)).json()
            assert (report["rounds"], report["degraded"]) == (rounds, 0)
            assert set(report["event_statuses"]) == {"accepted"}
            regrets.append(report["regret"])
            print(f"run {run}: regret {regrets[-1]:.1f}, {report['rounds_per_second']:,.0f} rounds per second")
    finally:
        service.kill()
    return np.asarray(np.log(regrets))


def agree(measured: Floats, expected: Floats, deviations: float) -> bool:
    gap, deviation = abs(float(measured.mean() - expected.mean())), float(expected.std(ddof=1))
    print(f"{np.exp(measured.mean()):.1f} against {np.exp(expected.mean()):.1f}, deviation of one run {deviation:.0%}")
    return gap < TOLERANCE + deviations * deviation


@pytest.fixture(scope="module")
def expected() -> Floats:
    return simulated(DELAY, runs=60)


def test_regret_over_http_is_that_of_simulate(quick_store: Path, expected: Floats) -> None:
    assert agree(over_http(quick_store, runs=1, connections=1), expected, DEVIATIONS)


def test_clicks_that_arrive_too_late_are_detected(expected: Floats) -> None:
    """Negative control: clicks with ten times the delay."""
    late = simulated(10 * DELAY, runs=20)
    assert not agree(late[:1], expected, DEVIATIONS)
    assert not agree(late, expected, deviations=0.0)


@pytest.mark.statistics
@pytest.mark.parametrize(
    ("connections", "options"),
    [(1, ("--seed", "7")), (16, ("--seed", "7")), (1, ()), (16, ())],
)
def test_mean_regret_over_http_is_that_of_simulate(
    quick_store: Path, connections: int, options: tuple[str, ...]
) -> None:
    measured = over_http(quick_store, runs=20, connections=connections, rounds=MANY_ROUNDS, options=options)
    assert agree(measured, simulated(DELAY, runs=200, rounds=MANY_ROUNDS), deviations=0.0)
