"""A clock that jumps by an hour, forward or back, loses and duplicates nothing."""

from pathlib import Path

import pytest

from slotwise.service.verify import verify
from tests.service.running_service import Client, ManualClock, run_scenario

HOUR = 3600.0


def clicks_and_skips(state: dict) -> tuple[float, float]:
    return sum(cell["clicks"] for cell in state["counts"]), sum(cell["skips"] for cell in state["counts"])


@pytest.mark.parametrize("jump", [HOUR, -HOUR])
@pytest.mark.parametrize("back", [False, True], ids=["stays", "comes back"])
def test_a_jump_of_an_hour_loses_nothing(tmp_path: Path, jump: float, back: bool) -> None:
    """With the default click window of a day, displays from before the jump can be clicked after it, and vice versa."""

    async def scenario(one: Client) -> None:
        await one.page()
        before = await one.recommend()
        one.clock.now += jump
        await one.service.tick()
        during = await one.recommend()
        assert await one.send({"type": "click", "token": before["token"], "position": "hero"}) == ["accepted"]
        if back:
            one.clock.now -= jump
            await one.service.tick()
        assert await one.send({"type": "click", "token": during["token"], "position": "hero"}) == ["accepted"]
        assert await one.send({"type": "click", "display": before["id"], "position": "left"}) == ["accepted"]
        assert clicks_and_skips(await one.ok("GET", "/v1/pages/shop/state")) == (3.0, 3.0)

    run_scenario(tmp_path, scenario, ManualClock())
    assert verify(tmp_path / "store.db").differences == []


@pytest.mark.parametrize("jump", [HOUR, -HOUR])
def test_what_a_wrong_clock_called_late_is_accepted_when_it_is_right_again(tmp_path: Path, jump: float) -> None:
    """It stays accepted after a restart, which reads the log."""

    async def scenario(one: Client) -> None:
        await one.page(click_window=600, retention=600)
        clock = one.clock.now
        shown = await one.recommend()
        click = {"type": "click", "display": shown["id"], "position": "hero", "id": "click-1"}
        one.clock.now = clock + abs(jump)
        await one.service.tick()
        assert await one.send(click) == ["late"]
        one.clock.now = clock + (jump if jump < 0 else 0.0)
        assert await one.send(click) == ["accepted"]

    async def after(one: Client) -> None:
        state = await one.ok("GET", "/v1/pages/shop/state")
        assert clicks_and_skips(state) == (1.0, 2.0)

    run_scenario(tmp_path, scenario, ManualClock())
    run_scenario(tmp_path, after, ManualClock())
    assert verify(tmp_path / "store.db").differences == []


def test_counts_fade_no_further_when_the_clock_goes_back(tmp_path: Path) -> None:
    async def scenario(one: Client) -> None:
        await one.page(half_life=8 * HOUR, click_window=600)
        await one.recommend()
        state = []
        for jump in (HOUR, -HOUR, -HOUR, HOUR, HOUR):
            one.clock.now += jump
            await one.service.tick()
            state.append(clicks_and_skips(await one.ok("GET", "/v1/pages/shop/state"))[1])
        assert state == [pytest.approx(3.0 * 0.5 ** (1 / 8))] * 5  # one hour is one step, and it passed once

    run_scenario(tmp_path, scenario, ManualClock())


def test_a_display_that_was_dropped_is_not_brought_back_by_a_clock_that_goes_back(tmp_path: Path) -> None:
    async def scenario(one: Client) -> None:
        await one.page(click_window=600, retention=600)
        old = await one.recommend(id="view-1")
        one.clock.now += 600 + 2 * HOUR + 1
        await one.service.tick()
        one.clock.now -= 2 * HOUR
        new = await one.recommend(id="view-1")
        assert new["token"] != old["token"]
        assert await one.send({"type": "click", "token": old["token"], "position": "hero"}) == ["rejected"]
        assert await one.send({"type": "click", "token": new["token"], "position": "hero"}) == ["accepted"]
        assert clicks_and_skips(await one.ok("GET", "/v1/pages/shop/state")) == (1.0, 5.0)

    run_scenario(tmp_path, scenario, ManualClock())
    assert verify(tmp_path / "store.db").differences == []
