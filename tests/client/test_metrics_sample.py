"""Samples of metrics: what was added between two of them, and quantiles of histograms."""

import pytest
from prometheus_client import CollectorRegistry, Counter, Histogram
from prometheus_client.exposition import generate_latest

from slotwise.client.metrics_sample import MetricsSample, parse_metrics


class Source:
    """Metrics as the service makes them."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self.displays = Counter("displays", "About.", ["page", "variant"], registry=self.registry)
        self.seconds = Histogram("seconds", "About.", ["route"], buckets=(0.1, 0.2, 0.4), registry=self.registry)

    def sample(self, time: float) -> MetricsSample:
        return parse_metrics(generate_latest(self.registry).decode(), time)


def test_labels_with_special_characters_are_read() -> None:
    source, names = Source(), ['a "quoted" name', "back\\slash", "two\nlines", "brace } and , comma", "ünï"]
    for k, name in enumerate(names):
        source.displays.labels(name, "learnt").inc(k + 1)
    source.displays.labels(names[0], "holdout").inc(10)
    sample = source.sample(0.0)
    assert sample.by("displays_total", "page") == {(names[0],): 11.0, **{(n,): k + 1 for k, n in enumerate(names) if k}}
    assert sample.value("displays_total") == 25.0
    assert sample.value("unknown") == 0.0


def test_only_what_was_added_counts() -> None:
    source = Source()
    source.displays.labels("shop", "learnt").inc(100)
    before = source.sample(10.0)
    source.displays.labels("shop", "learnt").inc(7)
    source.displays.labels("new", "learnt").inc(2)
    added = source.sample(12.0).since(before)
    assert added.time == 2.0
    assert added.by("displays_total", "page") == {("shop",): 7.0, ("new",): 2.0}
    restarted = Source()
    restarted.displays.labels("shop", "learnt").inc(5)
    assert restarted.sample(13.0).since(before).value("displays_total") == 5.0


def test_quantiles_are_linear_within_a_bucket() -> None:
    source = Source()
    assert source.sample(0.0).quantile("seconds", 0.5) is None
    for value in [0.05] * 50 + [0.15] * 40 + [9.0] * 10:
        source.seconds.labels("recommend").observe(value)
    source.seconds.labels("events").observe(0.3)
    sample = source.sample(0.0)
    assert sample.quantile("seconds", 0.25, route="recommend") == pytest.approx(0.05)
    assert sample.quantile("seconds", 0.5, route="recommend") == pytest.approx(0.1)
    assert sample.quantile("seconds", 0.7, route="recommend") == pytest.approx(0.15)
    assert sample.quantile("seconds", 0.99, route="recommend") == pytest.approx(0.4)  # at least the last limit
    assert sample.quantile("seconds", 0.5, route="unknown") is None
