"""Altered, forged and misused tokens are rejected, and nothing is learnt from them."""

import random
import string
from pathlib import Path
from typing import Any

from slotwise.service.registers import EventKind
from slotwise.service.store.interface import Event
from tests.service.running_service import Client, run_scenario

CLICK = {"type": "click", "position": "hero"}


def clicks(*tokens: str) -> list[dict[str, Any]]:
    return [{**CLICK, "token": token} for token in tokens]


async def learnt(one: Client) -> float:
    state = await one.ok("GET", "/v1/pages/shop/state")
    return float(sum(cell["clicks"] for cell in state["counts"]))


def test_no_character_of_a_token_can_be_changed_left_out_or_added(tmp_path: Path) -> None:
    async def scenario(one: Client) -> None:
        await one.page()
        token, rng = (await one.recommend())["token"], random.Random(3)
        letters = string.ascii_letters + string.digits + ".-_~ é\0"
        altered = {token[:k] + rng.choice(letters) + token[k + 1 :] for k in range(len(token))}
        altered |= {token[:k] + token[k + 1 :] for k in range(len(token))}
        altered |= {token[:k] + rng.choice(letters) + token[k:] for k in range(len(token) + 1)}
        altered |= {
            token.upper(),
            token.lower(),
            token + "=",
            token + "\n",
            " " + token,
            token[::-1],
            token * 2,
            ".....",
        }
        wrong = sorted(altered - {token})
        assert len(wrong) > 200
        assert set(await one.send(*clicks(*wrong))) == {"rejected"}
        assert await learnt(one) == 0.0
        assert await one.send(*clicks(token)) == ["accepted"]

    run_scenario(tmp_path, scenario)


def test_a_token_of_another_store_is_rejected(tmp_path: Path) -> None:
    """Even if the other store has the same pages and the same display."""
    tokens: list[str] = []

    async def first(one: Client) -> None:
        await one.page()
        tokens.append((await one.recommend(id="view-1"))["token"])

    async def second(one: Client) -> None:
        await first(one)
        assert await one.send(*clicks(*tokens)) == ["rejected", "accepted"]
        assert await learnt(one) == 1.0

    for name, scenario in (("one", first), ("other", second)):
        (tmp_path / name).mkdir()
        run_scenario(tmp_path / name, scenario)


def test_a_token_names_one_display_of_one_page(tmp_path: Path) -> None:
    async def scenario(one: Client) -> None:
        await one.page("shop")
        await one.page("other")
        mine, other = await one.recommend("shop"), await one.recommend("other")
        stolen = {**CLICK, "token": mine["token"], "display": other["id"]}
        assert await one.send(stolen) == ["rejected"]
        number = (await one.service.model("other")).page.number
        wrong_page = Event(EventKind.CLICK, mine["id"], None, number, "hero", None)
        assert [outcome.status for outcome in (await one.service.record_events([wrong_page])).outcomes] == ["rejected"]
        assert await learnt(one) == 0.0

    run_scenario(tmp_path, scenario)


def test_a_token_allows_clicks_and_views_and_no_discard(tmp_path: Path) -> None:
    async def scenario(one: Client) -> None:
        await one.page()
        shown = await one.recommend()
        discard = {"type": "discard", "token": shown["token"]}
        assert await one.send(discard, {**discard, "display": shown["id"]}) == ["rejected", "rejected"]
        assert await one.send({"type": "view", "token": shown["token"]}, *clicks(shown["token"])) == ["accepted"] * 2
        assert await learnt(one) == 1.0
        assert await one.send({"type": "discard", "display": shown["id"]}) == ["accepted"]
        assert await learnt(one) == 0.0

    run_scenario(tmp_path, scenario)


def test_a_token_ends_with_the_click_window_also_after_the_window_was_changed(tmp_path: Path) -> None:
    async def scenario(one: Client) -> None:
        await one.page(click_window=100)
        first, second = await one.recommend(), await one.recommend()
        await one.ok("PATCH", "/v1/pages/shop", {"click_window": 1000})
        one.clock.now += 99
        assert await one.send(*clicks(first["token"])) == ["accepted"]
        one.clock.now += 3
        assert await one.send(*clicks(second["token"])) == ["rejected"]
        assert await one.send({**CLICK, "display": second["id"]}) == ["late"]
        assert await learnt(one) == 1.0

    run_scenario(tmp_path, scenario)


def test_a_token_of_the_longest_window_is_good_until_its_last_second(tmp_path: Path) -> None:
    """Signed just before the secret is replaced, which the service may do ten minutes late."""

    async def scenario(one: Client) -> None:
        window = 30 * 86400.0
        await one.page(click_window=window)
        one.clock.now += 86400.0 + 599.0
        issued, shown = one.clock.now, await one.recommend()
        for days in range(1, 31):
            one.clock.now = issued + days * 86400.0 - 1.0
            await one.service.tick()
        assert await one.send(*clicks(shown["token"])) == ["accepted"]

    run_scenario(tmp_path, scenario)
