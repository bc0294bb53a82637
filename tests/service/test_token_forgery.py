"""Altered, forged and misused tokens are rejected, and nothing is learnt from them."""

import random
import string
from pathlib import Path
from typing import Any

from slotwise.service.registers import EventKind
from slotwise.service.store.records import Event
from tests.service.running_service import Client, run_scenario

CLICK = {"type": "click", "position": "hero"}


def clicks(*tokens: str) -> list[dict[str, Any]]:
    return [{**CLICK, "token": token} for token in tokens]


async def learnt(client: Client) -> float:
    state = await client.ok("GET", "/v1/pages/shop/state")
    return float(sum(cell["clicks"] for cell in state["counts"]))


def test_a_token_with_a_changed_missing_or_added_character_is_rejected(tmp_path: Path) -> None:
    async def scenario(client: Client) -> None:
        await client.page()
        token, rng = (await client.recommend())["token"], random.Random(3)
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
        assert set(await client.send(*clicks(*wrong))) == {"rejected"}
        assert await learnt(client) == 0.0
        assert await client.send(*clicks(token)) == ["accepted"]

    run_scenario(tmp_path, scenario)


def test_a_token_of_another_store_is_rejected(tmp_path: Path) -> None:
    """The token is rejected even if the other store has the same pages and the same display."""
    tokens: list[str] = []

    async def first(client: Client) -> None:
        await client.page()
        tokens.append((await client.recommend(id="view-1"))["token"])

    async def second(client: Client) -> None:
        await first(client)
        assert await client.send(*clicks(*tokens)) == ["rejected", "accepted"]
        assert await learnt(client) == 1.0

    for name, scenario in (("one", first), ("other", second)):
        (tmp_path / name).mkdir()
        run_scenario(tmp_path / name, scenario)


def test_a_token_is_valid_for_one_display_of_one_page(tmp_path: Path) -> None:
    async def scenario(client: Client) -> None:
        await client.page("shop")
        await client.page("other")
        mine, other = await client.recommend("shop"), await client.recommend("other")
        stolen = {**CLICK, "token": mine["token"], "display": other["id"]}
        assert await client.send(stolen) == ["rejected"]
        number = (await client.service.model("other")).page.number
        wrong_page = Event(EventKind.CLICK, mine["id"], None, number, "hero", None)
        assert [outcome.status for outcome in (await client.service.record_events([wrong_page])).outcomes] == [
            "rejected"
        ]
        assert await learnt(client) == 0.0

    run_scenario(tmp_path, scenario)


def test_a_token_allows_clicks_and_views_but_no_discard(tmp_path: Path) -> None:
    async def scenario(client: Client) -> None:
        await client.page()
        shown = await client.recommend()
        discard = {"type": "discard", "token": shown["token"]}
        assert await client.send(discard, {**discard, "display": shown["id"]}) == ["rejected", "rejected"]
        assert await client.send({"type": "view", "token": shown["token"]}, *clicks(shown["token"])) == ["accepted"] * 2
        assert await learnt(client) == 1.0
        assert await client.send({"type": "discard", "display": shown["id"]}) == ["accepted"]
        assert await learnt(client) == 0.0

    run_scenario(tmp_path, scenario)


def test_a_token_expires_with_the_click_window_even_if_the_window_was_changed(tmp_path: Path) -> None:
    async def scenario(client: Client) -> None:
        await client.page(click_window=100)
        first, second = await client.recommend(), await client.recommend()
        await client.ok("PATCH", "/v1/pages/shop", {"click_window": 1000})
        client.clock.now += 99
        assert await client.send(*clicks(first["token"])) == ["accepted"]
        client.clock.now += 3
        assert await client.send(*clicks(second["token"])) == ["rejected"]
        assert await client.send({**CLICK, "display": second["id"]}) == ["late"]
        assert await learnt(client) == 1.0

    run_scenario(tmp_path, scenario)


def test_a_token_of_the_longest_window_is_valid_until_its_last_second(tmp_path: Path) -> None:
    """The token is signed just before the secret is replaced, which may happen ten minutes late."""

    async def scenario(client: Client) -> None:
        window = 30 * 86400.0
        await client.page(click_window=window)
        client.clock.now += 86400.0 + 599.0
        issued, shown = client.clock.now, await client.recommend()
        for days in range(1, 31):
            client.clock.now = issued + days * 86400.0 - 1.0
            await client.service.tick()
        assert await client.send(*clicks(shown["token"])) == ["accepted"]

    run_scenario(tmp_path, scenario)
