"""Learning curves of fixed size."""

import pytest

from slotwise.client.load.learning_curve import MOST_BINS, Curve, Point


def test_few_rounds_are_all_there() -> None:
    curve = Curve()
    for regret in (0.5, 0.25, 0.0):
        curve.add(regret)
    assert curve.points() == [Point(1, 0.5), Point(2, 0.25), Point(3, 0.0)]
    assert (curve.rounds, curve.regret) == (3, 0.75)


def test_many_rounds_take_no_more_room_and_lose_nothing() -> None:
    curve = Curve()
    for k in range(100_000):
        curve.add(1.0 / (1.0 + k))
    points = curve.points()
    assert MOST_BINS // 2 <= len(points) <= MOST_BINS
    assert points[-1].round <= 100_000 < points[-1].round + points[0].round
    widths = [points[0].round] * len(points)
    total = sum(point.regret * width for point, width in zip(points, widths, strict=True))
    assert total == pytest.approx(curve.regret, abs=0.02)  # but for the unfinished bin
    assert points[0].regret > 10 * points[10].regret


def test_lately_is_the_end_of_the_curve() -> None:
    curve = Curve()
    assert curve.lately() == 0.0
    for k in range(1000):
        curve.add(1.0 if k < 800 else 0.1)
    assert curve.lately() == pytest.approx(0.1)
