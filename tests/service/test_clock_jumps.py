"""When the clock jumps by an hour, forward or back, nothing is lost or duplicated."""

from pathlib import Path

import pytest

from slotwise.service.maintenance.verify import verify
from tests.service.running_service import Client, ManualClock, run_scenario

HOUR = 3600.0


def clicks_and_skips(state: dict) -> tuple[float, float]:
    return sum(cell["clicks"] for cell in state["counts"]), sum(cell["skips"] for cell in state["counts"])


@pytest.mark.parametrize("jump", [HOUR, -HOUR])
@pytest.mark.parametrize("back", [False, True], ids=["stays", "comes back"])
def test_a_jump_of_an_hour_loses_nothing(tmp_path: Path, jump: float, back: bool) -> None:
    """With the default click window of a day, displays from before the jump can be clicked after it, and vice versa."""

    async def scenario(client: Client) -> None:
        await client.page()
        before = await client.recommend()
        client.clock.now += jump
        await client.service.tick()
        during = await client.recommend()
        assert await client.send({"type": "click", "token": before["token"], "position": "hero"}) == ["accepted"]
        if back:
            client.clock.now -= jump
            await client.service.tick()
        assert await client.send({"type": "click", "token": during["token"], "position": "hero"}) == ["accepted"]
        assert await client.send({"type": "click", "display": before["id"], "position": "left"}) == ["accepted"]
        assert clicks_and_skips(await client.ok("GET", "/v1/pages/shop/state")) == (3.0, 3.0)

    run_scenario(tmp_path, scenario, ManualClock())
    assert verify(tmp_path / "store.db").differences == []


@pytest.mark.parametrize("jump", [HOUR, -HOUR])
def test_clicks_that_a_wrong_clock_made_late_are_accepted_once_it_is_right(tmp_path: Path, jump: float) -> None:
    """They stay accepted after a restart, which reads the log."""

    async def scenario(client: Client) -> None:
        await client.page(click_window=600, retention=600)
        clock = client.clock.now
        shown = await client.recommend()
        click = {"type": "click", "display": shown["id"], "position": "hero", "id": "click-1"}
        client.clock.now = clock + abs(jump)
        await client.service.tick()
        assert await client.send(click) == ["late"]
        client.clock.now = clock + (jump if jump < 0 else 0.0)
        assert await client.send(click) == ["accepted"]

    async def after(client: Client) -> None:
        state = await client.ok("GET", "/v1/pages/shop/state")
        assert clicks_and_skips(state) == (1.0, 2.0)

    run_scenario(tmp_path, scenario, ManualClock())
    run_scenario(tmp_path, after, ManualClock())
    assert verify(tmp_path / "store.db").differences == []


def test_counts_do_not_fade_again_after_the_clock_goes_back(tmp_path: Path) -> None:
    async def scenario(client: Client) -> None:
        await client.page(half_life=8 * HOUR, click_window=600)
        await client.recommend()
        state = []
        for jump in (HOUR, -HOUR, -HOUR, HOUR, HOUR):
            client.clock.now += jump
            await client.service.tick()
            state.append(clicks_and_skips(await client.ok("GET", "/v1/pages/shop/state"))[1])
        assert state == [pytest.approx(3.0 * 0.5 ** (1 / 8))] * 5  # one hour is one epoch, and it passed only once

    run_scenario(tmp_path, scenario, ManualClock())


def test_a_dropped_display_stays_dropped_when_the_clock_goes_back(tmp_path: Path) -> None:
    async def scenario(client: Client) -> None:
        await client.page(click_window=600, retention=600)
        old = await client.recommend(id="view-1")
        client.clock.now += 600 + 2 * HOUR + 1
        await client.service.tick()
        client.clock.now -= 2 * HOUR
        new = await client.recommend(id="view-1")
        assert new["token"] != old["token"]
        assert await client.send({"type": "click", "token": old["token"], "position": "hero"}) == ["rejected"]
        assert await client.send({"type": "click", "token": new["token"], "position": "hero"}) == ["accepted"]
        assert clicks_and_skips(await client.ok("GET", "/v1/pages/shop/state")) == (1.0, 5.0)

    run_scenario(tmp_path, scenario, ManualClock())
    assert verify(tmp_path / "store.db").differences == []
