"""When rounds are due, while the rate changes."""

import pytest

from slotwise.client.load.round_schedule import RoundSchedule


def test_rounds_are_due_at_the_rate() -> None:
    schedule = RoundSchedule(10.0, 100.0)
    assert [schedule.due(number) for number in (0, 1, 20)] == pytest.approx([100.0, 100.1, 102.0])


def test_another_rate_applies_from_its_round_on() -> None:
    schedule = RoundSchedule(10.0, 100.0)
    schedule.change(2.0, 20, 102.0)
    assert [schedule.due(number) for number in (20, 21)] == pytest.approx([102.0, 102.5])


def test_a_pause_and_no_rate() -> None:
    schedule = RoundSchedule(None, 100.0)
    assert (schedule.due(5), schedule.paused) == (None, False)
    schedule.change(0.0, 6, 101.0)
    assert (schedule.due(6), schedule.paused) == (float("inf"), True)
