"""Units through the whole service: a visitor keeps a variant, and nothing that is stored says who the visitor was."""

import asyncio
import hashlib
import json
from pathlib import Path
from typing import Any

import pytest

from slotwise.service.maintenance.verify import verify
from slotwise.service.pages.units import SECRET_BYTES
from slotwise.service.store.records import DailyRate
from tests.service.running_service import Client, open_client, run_scenario

UNIT = "visitor-4711@example.org"
VISITORS = [f"{k}-{UNIT}" for k in range(150)]


async def days(client: Client, name: str = "shop") -> list[DailyRate]:
    """The daily rates of the page's current allocation."""
    page = (await client.service.model(name)).page
    return await client.service.store.do(lambda ledger: ledger.daily_rates(page.number, page.allocation))


async def log(client: Client, name: str = "shop") -> list[Any]:
    await client.service.store.do(lambda ledger: ledger.page_names())  # the displays are committed before it
    return [json.loads(line) for line in (await client.http.get(f"/v1/pages/{name}/log")).text.splitlines()]


def test_a_unit_keeps_its_variant_and_bucket(tmp_path: Path) -> None:
    async def scenario(client: Client) -> None:
        await client.page(holdout=0.3, learnt_share=0.5)
        first = [(await client.recommend(unit=unit))["variant"] for unit in VISITORS]
        again = [(await client.recommend(unit=unit))["variant"] for unit in VISITORS]
        assert first == again
        assert set(first) == {"holdout", "learnt", "default"}
        lines = [line for line in await log(client) if line["position"] == "hero"]
        assert [line["bucket"] for line in lines[:150]] == [line["bucket"] for line in lines[150:]]
        assert {line["variant"] for line in lines} == set(first)
        drawn = {(await client.recommend())["variant"] for _ in range(60)}
        assert drawn == set(first), "without a unit, every display draws its variant"

    run_scenario(tmp_path, scenario)
    assert verify(tmp_path / "store.db").differences == []


def test_a_restart_and_a_new_definition_keep_units_in_place(tmp_path: Path) -> None:
    seen: list[list[str]] = []

    async def visit(client: Client) -> None:
        seen.append([(await client.recommend(unit=unit))["variant"] for unit in VISITORS])

    async def first(client: Client) -> None:
        await client.page(holdout=0.3)
        await visit(client)
        await client.ok("DELETE", "/v1/pages/shop")
        await client.page(holdout=0.3, click_window=3600)
        await visit(client)

    run_scenario(tmp_path, first)
    run_scenario(tmp_path, visit)
    assert seen[0] == seen[1] == seen[2]


@pytest.mark.parametrize("unit", ["", "x" * 129, 7])
def test_an_invalid_unit_is_refused(tmp_path: Path, unit: Any) -> None:
    async def scenario(client: Client) -> None:
        await client.page()
        refused = await client.http.post("/v1/pages/shop/recommendations", json={"unit": unit})
        assert (refused.status_code, refused.json()["errors"][0]["pointer"]) == (422, "/unit")
        await client.recommend(unit="ü" * 128)

    run_scenario(tmp_path, scenario)


def test_nothing_that_is_stored_or_shown_has_the_unit(tmp_path: Path) -> None:
    """The unit is nowhere in the files of the store, the log and the metrics, neither as text nor as a plain hash."""
    shown: list[str] = []

    async def scenario(client: Client) -> None:
        await client.page(holdout=0.3)
        for _ in range(3):
            display = await client.recommend(unit=UNIT)
            await client.send({"type": "click", "token": display["token"], "position": "hero"})
            shown.append(json.dumps(display))
        shown.append(json.dumps(await log(client)))
        shown.append((await client.http.get("/metrics")).text)
        shown.append((await client.http.get("/v1/pages/shop/insights")).text)
        secret = (await client.service.model("shop")).page.unit_secret
        assert len(secret) == SECRET_BYTES
        assert secret.hex() not in "".join(shown)
        stored.extend(path.read_bytes() for path in tmp_path.iterdir())  # with the write-ahead log

    stored: list[bytes] = []
    run_scenario(tmp_path, scenario)
    everything = b"".join([*stored, *(text.encode() for text in shown)])
    assert b"hero" in everything
    assert b"visitor-4711" not in everything
    for algorithm in sorted(hashlib.algorithms_guaranteed - {"shake_128", "shake_256"}):
        digest = hashlib.new(algorithm, UNIT.encode()).digest()
        assert digest[:8] not in everything
        assert digest[:8].hex().encode() not in everything


def test_two_stores_give_unrelated_buckets(tmp_path: Path) -> None:
    """The same page and the same visitors in two stores. 150 visitors share a bucket by chance 0.3 times on average.

    Six or more equal buckets have probability 1e-6.
    """

    async def buckets(folder: Path) -> list[int]:
        folder.mkdir()
        async with open_client(folder) as client:
            await client.page()
            for unit in VISITORS:
                await client.recommend(unit=unit)
            return [line["bucket"] for line in await log(client) if line["position"] == "hero"]

    ours, theirs = (asyncio.run(buckets(tmp_path / name)) for name in ("ours", "theirs"))
    assert sum(one == two for one, two in zip(ours, theirs, strict=True)) < 6
    assert len(set(ours)) > 100


def test_a_change_of_a_share_begins_a_new_allocation(tmp_path: Path) -> None:
    async def scenario(client: Client) -> None:
        await client.page(learnt_share=0.5)
        for unit in VISITORS[:40]:
            await client.recommend(unit=unit)
        assert sum(day.displays for day in await days(client)) == 40
        await client.ok("PATCH", "/v1/pages/shop", {"half_life": 86400})
        await client.ok("PATCH", "/v1/pages/shop", {"learnt_share": 0.5})
        assert sum(day.displays for day in await days(client)) == 40, "nothing that variants depend on has changed"
        early = await client.recommend(unit=UNIT)
        await client.ok("PATCH", "/v1/pages/shop", {"holdout": 0.2})
        assert await days(client) == []
        assert await client.send({"type": "click", "token": early["token"], "position": "hero"}) == ["accepted"]
        assert await days(client) == [], "the click belongs to a display from before the change"
        late = await client.recommend(unit=UNIT)
        await client.send({"type": "click", "token": late["token"], "position": "hero"})
        ((_, variant, _, *earned),) = await days(client)
        assert (variant, earned) == (late["variant"], [1, 1, 1.0])
        assert (await client.ok("GET", "/v1/pages/shop"))["learnt_share"] == 0.5

    run_scenario(tmp_path, scenario)
    assert verify(tmp_path / "store.db").differences == []
