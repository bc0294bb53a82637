"""The histogram of latencies."""

import numpy as np
import pytest

from slotwise.client.load.latency import Latency, RecentLatency


def test_quantiles_are_right_to_one_percent() -> None:
    times = np.random.default_rng(0).lognormal(-6.0, 1.5, 20_000)
    latency = Latency()
    for time in times:
        latency.add(float(time))
    for share in (0.01, 0.5, 0.9, 0.99, 0.999, 1.0):
        exact = float(np.quantile(times, share, method="inverted_cdf"))
        assert latency.quantile(share) == pytest.approx(exact, rel=0.0101)
        assert latency.quantile(share) >= exact


def test_without_requests_there_are_no_quantiles() -> None:
    assert Latency().milliseconds() == {"p50": None, "p90": None, "p99": None, "p99.9": None}


def test_times_outside_the_bins_are_counted() -> None:
    latency = Latency()
    for time in (0.0, 1e-9, 1e9):
        latency.add(time)
    assert latency.quantile(0.5) == pytest.approx(1e-6)
    assert latency.quantile(1.0) > 600.0


def test_recent_latencies_are_those_of_the_last_ten_seconds() -> None:
    recent = RecentLatency()
    for second in range(30):
        for _ in range(100):
            recent.add(0.001 * (second + 1), 100.0 + second)
    collected = recent.collect(129.5)
    assert collected.count == 1000
    assert collected.quantile(0.001) == pytest.approx(0.021, rel=0.0101)
    assert collected.quantile(1.0) == pytest.approx(0.030, rel=0.0101)
    assert recent.collect(135.0).count == 400  # nothing was answered since
    assert recent.collect(200.0).quantile(0.5) is None
