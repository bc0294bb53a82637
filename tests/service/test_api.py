"""The HTTP interface, call by call, on a real service in the test's own event loop."""

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from slotwise.service.verify import verify

from .serving import ITEMS, POSITIONS, Client, HandClock, client, play


def test_a_page_recommends_and_learns(tmp_path: Path) -> None:
    async def story(one: Client) -> None:
        await one.page()
        shown = await one.recommend()
        assert [row["position"] for row in shown["items"]] == POSITIONS
        assert {row["item"] for row in shown["items"]} <= set(ITEMS)
        click = {"type": "click", "token": shown["token"], "position": "hero"}
        assert await one.send(click, click) == ["accepted", "duplicate"]
        assert await one.send(click) == ["duplicate"]
        model = await one.service.model("shop")
        counts = model.counts()
        assert counts.clicks.sum() == 1.0
        assert counts.skips.sum() == 2.0

    play(tmp_path, story)
    assert verify(tmp_path / "store.db").differences == []


def test_the_same_id_gives_the_same_display_also_after_a_restart(tmp_path: Path) -> None:
    async def first(one: Client) -> None:
        await one.page()
        shown.append(await one.recommend(id="view-1"))
        shown.append(await one.recommend(id="view-1"))

    async def second(one: Client) -> None:
        shown.append(await one.recommend(id="view-1"))
        answer = await one.http.post("/v1/pages/shop/recommendations", json={"id": "view-1"})
        assert answer.status_code == 200
        await one.page("other")
        answer = await one.http.post("/v1/pages/other/recommendations", json={"id": "view-1"})
        assert answer.status_code == 409

    shown: list[dict] = []
    play(tmp_path, first)
    play(tmp_path, second)
    assert shown[0] == shown[1] == shown[2]


def test_a_late_click_is_late_and_an_unknown_display_unknown(tmp_path: Path) -> None:
    async def story(one: Client) -> None:
        await one.page(click_window=100)
        shown = await one.recommend()
        one.clock.now += 101
        click = {"type": "click", "display": shown["id"], "position": "hero"}
        assert await one.send(click, {**click, "display": "nothing"}) == ["late", "unknown"]
        one.clock.now -= 10
        assert await one.send(click) == ["accepted"]

    play(tmp_path, story, HandClock())


def run(story: Callable[[], Awaitable[None]]) -> None:
    asyncio.run(story())


@pytest.mark.parametrize("state", ["paused", "retired"])
def test_a_change_of_an_item_takes_effect_on_the_next_recommendation(tmp_path: Path, state: str) -> None:
    async def story() -> None:
        async with client(tmp_path) as one:
            await one.page(items=POSITIONS[:3])
            await one.ok("PUT", "/v1/pages/shop/items/new", {})
            assert "new" in await shown_of(one, 40)
            await one.ok("PUT", "/v1/pages/shop/items/new", {"state": state})
            assert "new" not in await shown_of(one, 40)
            await one.ok("PUT", "/v1/pages/shop/items/new", {"state": "active"})
            assert "new" in await shown_of(one, 40)

    async def shown_of(one: Client, rounds: int) -> set[str]:
        answers = [await one.recommend() for _ in range(rounds)]
        return {row["item"] for answer in answers for row in answer["items"]}

    run(story)
