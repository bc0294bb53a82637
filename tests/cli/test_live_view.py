"""The live view of a running load."""

import time

import pytest
from rich.console import ConsoleDimensions

import slotwise as sw
from slotwise.cli._live_view import render
from slotwise.cli._terminal_plot import plot
from slotwise.client.address import ServiceAddress
from slotwise.client.load.generator import LoadGenerator, LoadPlan
from slotwise.client.load.visitors import Visitors

MODEL = sw.PBM(theta=[0.5, 0.1], kappa=[1.0])


def make_generator(rounds: int | None = None) -> LoadGenerator:
    visitors = Visitors(MODEL, ["a", "b"], ["hero"], seed=0)
    return LoadGenerator(ServiceAddress.of("http://127.0.0.1:9"), visitors, LoadPlan("shop", rounds))


def test_columns_are_as_high_as_values() -> None:
    assert plot([1.0, 0.5, 0.0], 0.0, 3, 2) == ["█  ", "██╌"]
    assert plot([0.0, 0.25], 1.0, 4, 4) == ["╌╌╌╌", "    ", "    ", "  ██"]
    assert plot([1.0], 0.5, 2, 2, unicode=False) == ["##", "##"]
    assert plot([1.0, 1.0, 0.5, 0.0, 0.0, 1.0], 0.0, 3, 4) == ["█  ", "█  ", "█ █", "███"]  # means of pairs
    assert plot([], 1.0, 3, 2) == ["╌╌╌", "   "]


def test_the_view_fits_the_terminal_and_has_the_numbers() -> None:
    load = make_generator(rounds=400)
    for k in range(200):
        load.curve.add(0.4 if k < 100 else 0.0)
        load.recent_latency.add(0.002, time.perf_counter())
    load.errors["503 Service Unavailable"] = 3
    view = render(load, ConsoleDimensions(80, 24))
    assert max(map(len, view.splitlines())) <= 80
    text = view.replace("\n", " ")
    assert "200 of 400 rounds" in text
    assert "2.0 ms (p50)" in text
    assert "3 errors" in text
    assert "regret 40 clicks, at random 40" in text
    assert view.splitlines()[-5].strip(" ") == "█" * 30  # half of the width: the second half has no regret


@pytest.mark.parametrize(("width", "height"), [(80, 24), (160, 50), (40, 12)])
def test_the_chart_is_as_large_as_the_terminal(width: int, height: int) -> None:
    load = make_generator()
    for _ in range(600):
        load.curve.add(0.4)
    lines = render(load, ConsoleDimensions(width, height)).splitlines()
    assert max(map(len, lines[1:-3])) == width - 2
    # below it the cursor, above it the addresses that the demo has printed, and at least eight lines
    assert len(lines) == max(height - 5, 8)


def test_latencies_are_those_of_the_last_seconds() -> None:
    load, now = make_generator(), time.perf_counter()
    load.recent_latency.add(5.0, now - 60.0)
    load.recent_latency.add(0.004, now - 1.0)
    assert "4.0 ms (p50), 4.0 ms (p99)" in render(load, ConsoleDimensions(80, 24))


def test_the_view_before_the_first_round() -> None:
    view = render(make_generator(), ConsoleDimensions(20, 5))
    assert "0 rounds" in view
    assert "- (p50)" in view
