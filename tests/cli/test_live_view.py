"""The live view of a running load."""

import slotwise as sw
from slotwise.cli._live_view import render
from slotwise.cli._plot import plot
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
        load.latency.add(0.002)
    load.errors["503 Service Unavailable"] = 3
    view = render(load, width=80)
    assert max(map(len, view.splitlines())) <= 80
    text = view.replace("\n", " ")
    assert "200 of 400 rounds" in text
    assert "2.0 ms (p50)" in text
    assert "3 errors" in text
    assert "regret 40 clicks, at random 40" in text
    assert view.splitlines()[-5].strip(" ") == "█" * 30  # half of the width: the second half has no regret


def test_the_view_before_the_first_round() -> None:
    assert "0 rounds" in render(make_generator(), width=20)
