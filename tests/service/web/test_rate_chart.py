"""The chart of click rates: intervals with enough data, and a scale that fits."""

from slotwise.service.insights.insights import VariantHour
from slotwise.service.web.dashboard.rate_chart import HEIGHT, LEAST_SHOWN, WIDTH, rate_chart, spark_path

HOUR = 3600


def hours(variant: str, rates: list[float], shown: int = 1000) -> list[VariantHour]:
    return [VariantHour(HOUR * k, variant, shown, shown, round(rate * shown)) for k, rate in enumerate(rates)]


def test_a_line_for_each_variant_inside_the_picture() -> None:
    chart = rate_chart(hours("learnt", [0.1, 0.2, 0.3]) + hours("holdout", [0.1, 0.1, 0.1]))
    assert chart is not None
    assert [(line.variant, round(line.last, 3)) for line in chart.lines] == [("learnt", 0.3), ("holdout", 0.1)]
    for line in chart.lines:
        points = [tuple(map(float, point.split())) for point in line.path[1:].split("L")]
        assert all(0 <= x <= WIDTH and 0 <= y <= HEIGHT for x, y in points)
        assert len(points) == 3
    rising, flat = (line.end[1] for line in chart.lines)
    assert rising < flat  # up is towards 0


def test_intervals_with_little_data_are_left_out() -> None:
    assert rate_chart(hours("learnt", [0.1, 0.2, 0.3], LEAST_SHOWN - 1)) is None
    assert rate_chart(hours("learnt", [0.1])) is None
    assert rate_chart([]) is None


def test_long_times_have_longer_intervals() -> None:
    chart = rate_chart(hours("learnt", [0.1] * 24 * 30))
    assert chart is not None
    assert chart.hours == 12


def test_the_small_line_ends_with_the_current_hour() -> None:
    assert spark_path([], 0.0) == ""
    path = spark_path([VariantHour(100 * HOUR, "learnt", 10, 10, 1)], 100.5 * HOUR)
    assert path.endswith(" 2.0")
    assert path.count("22.0") == 23
