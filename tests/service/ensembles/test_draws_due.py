"""When the draws of a page are due."""

import pytest

from slotwise.service.ensembles.draws_due import MOST_LEVEL, CountsVersion, Growth

SHARE = 0.03


@pytest.mark.parametrize(
    ("displays", "clicks", "level"),
    [
        pytest.param(0.0, 0.0, -1, id="nothing changed"),
        pytest.param(29.0, 2.0, -1, id="too little"),
        pytest.param(30.0, 0.0, 0, id="3 % of the displays"),
        pytest.param(-30.0, 0.0, 0, id="3 % of the displays were discarded"),
        pytest.param(0.0, 3.0, 0, id="3 % of the clicks"),
        pytest.param(59.0, 0.0, 0, id="nearly twice as much"),
        pytest.param(60.0, 0.0, 1, id="twice as much"),
        pytest.param(30.0, 12.0, 2, id="the larger change counts"),
        pytest.param(1e9, 0.0, MOST_LEVEL, id="very much"),
    ],
)
def test_draws_are_due_after_a_change_of_displays_or_clicks(displays: float, clicks: float, level: int) -> None:
    growth = Growth(1_000.0, 100.0, SHARE)
    growth.add(displays, clicks)
    assert growth.level() == level
    growth.drawn_from = growth.now
    assert growth.level() == -1


def test_few_counts_make_draws_due_at_every_display() -> None:
    growth = Growth(0.0, 0.0, SHARE)
    growth.add(1.0, 0.0)
    assert growth.level() == 0
    growth.drawn_from = CountsVersion(20.0, 0.0, 0)
    growth.now = CountsVersion(21.0, 0.0, 0)
    assert growth.level() == 0


def test_fading_and_changed_items_make_draws_due() -> None:
    growth = Growth(1_000.0, 100.0, SHARE)
    growth.fade(0.98)
    assert growth.level() == -1
    growth.fade(0.98)
    assert growth.level() == 0
    growth.drawn_from = growth.now
    growth.change()
    assert growth.level() == 0
