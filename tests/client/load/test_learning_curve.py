"""Learning curves in bounded memory."""

import pytest

from slotwise.client.load.learning_curve import MAX_BINS, CurvePoint, LearningCurve


def test_few_rounds_have_one_point_each() -> None:
    curve = LearningCurve()
    for regret in (0.5, 0.25, 0.0):
        curve.add(regret)
    assert curve.points() == [CurvePoint(1, 0.5), CurvePoint(2, 0.25), CurvePoint(3, 0.0)]
    assert (curve.rounds, curve.regret) == (3, 0.75)


def test_many_rounds_need_no_more_memory_and_keep_the_total() -> None:
    curve = LearningCurve()
    for k in range(100_000):
        curve.add(1.0 / (1.0 + k))
    points = curve.points()
    assert MAX_BINS // 2 <= len(points) <= MAX_BINS
    assert points[-1].round <= 100_000 < points[-1].round + points[0].round
    widths = [points[0].round] * len(points)
    total = sum(point.regret * width for point, width in zip(points, widths, strict=True))
    assert total == pytest.approx(curve.regret, abs=0.02)  # except for the unfinished bin
    assert points[0].regret > 10 * points[10].regret


def test_recent_regret_is_the_end_of_the_curve() -> None:
    curve = LearningCurve()
    assert curve.recent_regret() == 0.0
    for k in range(1000):
        curve.add(1.0 if k < 800 else 0.1)
    assert curve.recent_regret() == pytest.approx(0.1)
