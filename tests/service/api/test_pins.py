"""Pins with times over HTTP."""

from pathlib import Path

from tests.service.running_service import START, Client, ManualClock, run_scenario

PAGE, HERO, LEFT = "/v1/pages/shop", "/v1/pages/shop/pins/default/hero", "/v1/pages/shop/pins/default/left"


async def hero(client: Client) -> dict[str, str]:
    return (await client.recommend())["items"][0]


def test_a_pin_with_times_is_switched_by_the_clock_and_survives_a_restart(tmp_path: Path) -> None:
    pin = {"item": "tie", "from": START + 100.0, "until": START + 200.0}

    async def first(client: Client) -> None:
        await client.page()
        view = await client.ok("PUT", HERO, pin)
        assert view["pins"] == {"default": {"hero": pin}}
        assert (await client.ok("PUT", LEFT, {"item": "hat"}))["pins"]["default"] == {"hero": pin, "left": "hat"}
        assert (await hero(client))["reason"] != "pinned"
        client.clock.now += 100
        assert await hero(client) == {"position": "hero", "item": "tie", "reason": "pinned"}
        history = (await client.ok("GET", f"{PAGE}/history"))["changes"]
        assert history[1]["after"] == {"pins": {"default": {"hero": pin}}}

    async def second(client: Client) -> None:
        assert (await client.ok("GET", PAGE))["pins"] == {"default": {"hero": pin, "left": "hat"}}
        assert (await hero(client))["item"] == "tie"
        insights = await client.ok("GET", f"{PAGE}/insights")
        assert ("hero", "tie", "pinned") in {(row["position"], row["item"], row["reason"]) for row in insights["shown"]}
        client.clock.now += 100
        assert (await hero(client))["reason"] != "pinned"
        assert (await client.ok("PUT", HERO, {"item": "tie"}))["pins"]["default"]["hero"] == "tie"
        assert (await hero(client))["reason"] == "pinned"

    clock = ManualClock()
    run_scenario(tmp_path, first, clock)
    run_scenario(tmp_path, second, clock)


def test_an_item_may_be_pinned_to_two_positions_at_different_times(tmp_path: Path) -> None:
    async def scenario(client: Client) -> None:
        await client.page()
        await client.ok("PUT", HERO, {"item": "tie", "until": 2e9})
        answers = [await client.http.put(LEFT, json={"item": "tie", "from": start}) for start in (1.9e9, 2e9)]
        assert [answer.status_code for answer in answers] == [409, 200]
        answer = await client.http.put(HERO, json={"item": "tie", "until": 2.1e9})
        assert answer.status_code == 409

    run_scenario(tmp_path, scenario)


def test_invalid_times_are_refused(tmp_path: Path) -> None:
    async def scenario(client: Client) -> None:
        await client.page()
        for body, pointer in (
            ({"item": "tie", "from": 2e9, "until": 2e9}, "/until"),
            ({"item": "tie", "from": "tomorrow"}, "/from"),
            ({"item": "tie", "until": -1}, "/until"),
            ({"item": "tie", "starts": 5}, ""),
        ):
            answer = await client.http.put(HERO, json=body)
            assert answer.status_code == 422, body
            assert pointer in {error["pointer"] for error in answer.json()["errors"]} | {""}
        assert (await client.ok("GET", PAGE))["pins"] == {}

    run_scenario(tmp_path, scenario)
