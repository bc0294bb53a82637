"""Concurrent operations on one event loop: visitors, page changes, client timeouts, a disk that fills up and recovers.

Afterwards memory, store and log must agree, and every event must have had the effect stated in its response.
"""

import asyncio
import random
from pathlib import Path
from typing import Any

import msgspec
import pytest

from slotwise.service.errors import Conflict, StoreDown
from slotwise.service.maintenance.verify import verify
from slotwise.service.pages.page_definition import ItemSpec, PageBody
from slotwise.service.pages.recommendation_request import RecommendationRequest
from slotwise.service.registers import EventKind
from slotwise.service.service import Service
from slotwise.service.store.records import Event, StoredPage
from tests.service.running_service import ITEMS, POSITIONS, Client, open_client, run_scenario

PLENTY = 1 << 30  # pages of the database


class TrafficRows:
    """Concurrent calls of a service, and the clicks that it accepted."""

    def __init__(self, service: Service, seed: int) -> None:
        self.service, self.rng = service, random.Random(seed)
        self.accepted: set[tuple[str, int, str]] = set()  # (display, nonce, position)
        self.over, self.refused, self.cancelled = False, 0, 0

    async def visitor(self, name: str, rounds: int) -> None:
        for k in range(rounds):
            id = self.rng.choice([None, f"{name}-{k}", f"shared-{k % 5}"])
            try:
                page = self.rng.choice(["shop", "feed"])
                _, display, _ = await self.service.recommend(page, RecommendationRequest(id))
            except (Conflict, StoreDown):
                continue  # another page has this id, or the page cannot be read now
            await asyncio.sleep(self.rng.choice([0.0, 0.0, 0.001, 0.01]))
            events = [
                Event(EventKind.CLICK, display.id, display.nonce, None, position, None)
                for position in self.rng.sample(POSITIONS, 2)
            ]
            await self.click([Event(EventKind.VIEW, display.id, display.nonce, None, None, None), *events])

    async def click(self, events: list[Event]) -> None:
        """Send until there is an answer.

        A refused batch had no effect; a batch that timed out may have had an effect.
        """
        times_out = self.rng.random() < 0.2
        for attempt in range(100):
            try:
                timeout = 0.0005 if times_out and attempt == 0 else 20.0
                answer = await asyncio.wait_for(self.service.record_events(events), timeout)
            except StoreDown:
                self.refused += 1
                await asyncio.sleep(0.02)
                continue
            except TimeoutError:
                self.cancelled += 1
                continue
            for event, status in zip(events, [outcome.status for outcome in answer.outcomes], strict=True):
                assert status in ("accepted", "duplicate", "unknown")
                if event.position is not None and event.nonce is not None and status != "unknown":
                    self.accepted.add((event.display, event.nonce, event.position))
            return
        raise AssertionError("the store never came back")

    async def page_editor(self) -> None:
        while not self.over:
            await asyncio.sleep(self.rng.choice([0.0, 0.002, 0.02]))
            try:
                name, item = self.rng.choice(["shop", "feed"]), self.rng.choice([*ITEMS, "new", "newer"])
                if self.rng.random() < 0.5:
                    await self.service.save_page(name, self._changed, None)
                else:
                    await self.service.save_items(await self.service.model(name), [(item, ItemSpec())])
                await self.service.tick()
            except StoreDown:
                continue

    def _changed(self, page: StoredPage | None) -> PageBody:
        assert page is not None
        return page.body.with_spec(msgspec.structs.replace(page.body.spec, holdout=0.25))

    async def disk_filler(self) -> None:
        """Fill the disk and free it, repeatedly."""
        while not self.over:
            await asyncio.sleep(0.15)
            await self._limit(1)
            await asyncio.sleep(0.05)
            await self._limit(PLENTY)

    async def _limit(self, pages: int) -> None:
        """SQLite raises a limit that is below the current size to that size, so existing data is safe."""

        def operation(ledger: Any) -> None:
            ledger._run(f"PRAGMA max_page_count = {pages}")

        while True:
            try:
                await self.service.store.do(operation)
            except StoreDown:
                await asyncio.sleep(0.01)
            else:
                return


async def assert_agreement(client: Client, traffic: TrafficRows, pages: tuple[str, ...] = ("shop", "feed")) -> None:
    for name in pages:
        model = await client.service.model(name)
        number = model.page.number
        kept = await client.service.store.do(lambda ledger, number=number: ledger.counts(number))
        cells = {cell[:3]: cell[3:] for cell in kept.cells if cell.clicks or cell.skips}
        assert {cell[:3]: cell[3:] for cell in model.cells()} == cells
        assert model.counts().displays == kept.displays
    for id, nonce, position in traffic.accepted:
        display = await client.service.store.do(lambda ledger, id=id: ledger.display(id))
        assert display is not None
        assert display.nonce == nonce
        assert display.registers.clicked >> display.entry_index(position) & 1


@pytest.mark.parametrize("full", [False, True], ids=["writable", "full"])
@pytest.mark.parametrize("rounds", [60, pytest.param(5000, marks=pytest.mark.soak)])
def test_memory_store_and_log_agree_after_concurrent_operations(tmp_path: Path, full: bool, rounds: int) -> None:
    async def scenario() -> None:
        async with open_client(tmp_path, seed=None) as client:
            await client.page("shop", holdout=0.2)
            await client.page("feed", count="viewed")
            traffic = TrafficRows(client.service, seed=5)
            others = [asyncio.create_task(traffic.page_editor())]
            if full:
                others.append(asyncio.create_task(traffic.disk_filler()))
            await asyncio.gather(*[traffic.visitor(f"visitor{k}", rounds) for k in range(8)])
            traffic.over = True
            await asyncio.gather(*others)
            while client.service.degraded:
                await asyncio.sleep(0.01)
            await assert_agreement(client, traffic)
            print(f"{len(traffic.accepted)} clicks accepted, {traffic.refused} refused, {traffic.cancelled} cancelled")
            assert len(traffic.accepted) > 4 * rounds
            assert traffic.cancelled > 0
            assert (traffic.refused > 0) == full

    asyncio.run(scenario())
    assert verify(tmp_path / "store.db").differences == []


def test_every_commit_is_synchronised_to_the_disk(tmp_path: Path) -> None:
    """This checks SQLite's settings: only a power failure, not kill -9, would show whether commits reach the disk."""

    async def scenario() -> tuple[int, str]:
        async with open_client(tmp_path) as client:

            def operation(ledger: Any) -> tuple[int, str]:
                run = ledger._run
                return run("PRAGMA synchronous").fetchone()[0], run("PRAGMA journal_mode").fetchone()[0]

            return await client.service.store.do(operation)

    assert asyncio.run(scenario()) == (2, "wal")  # FULL: the write-ahead log is synchronised at every commit


def test_two_patches_that_are_invalid_together(tmp_path: Path) -> None:
    """Each patch is valid alone; the second to be committed is refused, and the page can still be read."""

    async def scenario(client: Client) -> None:
        await client.page()
        await client.ok("PATCH", "/v1/pages/shop", {"retention": 3600.0, "click_window": 3600.0})
        patches = [{"click_window": 1800.0, "retention": 1800.0}, {"click_window": 3000.0}]
        answers = await asyncio.gather(*(client.http.patch("/v1/pages/shop", json=patch) for patch in patches))
        assert sorted(answer.status_code for answer in answers) == [200, 422]
        await client.recommend()

    run_scenario(tmp_path, scenario)


@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        ("PATCH", "", {"holdout": 0.5}),
        ("PUT", "/pins/default/hero", {"item": "hat"}),
        ("DELETE", "/pins/default/hero", None),
        ("DELETE", "", None),
        ("PUT", "/items/hat", {}),
        ("PATCH", "/items/hat", {"state": "paused"}),
        ("DELETE", "/items/hat", None),
        ("POST", "/items:batch", {"items": [{"item": "hat"}]}),
    ],
)
def test_a_page_that_is_archived_concurrently_stays_archived(tmp_path: Path, method: str, path: str, body: Any) -> None:
    """Both calls find the page; the one that is committed second does not restore it."""

    async def scenario(client: Client) -> None:
        await client.page()
        other = client.http.request(method, f"/v1/pages/shop{path}", json=body)
        archived, late = await asyncio.gather(client.http.delete("/v1/pages/shop"), other)
        assert (archived.status_code, late.status_code) == (204, 404)
        assert (await client.http.get("/v1/pages/shop")).status_code == 404

    run_scenario(tmp_path, scenario)


PRIOR = {"clicks": 3.0, "views": 100.0}


@pytest.mark.parametrize(
    ("requests", "wanted"),
    [
        ([("PUT", {"prior": PRIOR}), ("DELETE", None)], {"state": "retired", "prior": PRIOR}),
        ([("PUT", {"prior": PRIOR}), ("PATCH", {"state": "paused"})], {"state": "paused", "prior": PRIOR}),
        ([("PATCH", {"prior": PRIOR}), ("PATCH", {"valid_until": 5e9})], {"prior": PRIOR, "valid_until": 5e9}),
    ],
    ids=["put and retire", "put and pause", "two patches"],
)
def test_a_change_of_an_item_keeps_what_a_concurrent_one_changed(tmp_path: Path, requests: Any, wanted: Any) -> None:
    """Both calls find the definition that memory has; the second to be committed changes what the first one left."""

    async def scenario(client: Client) -> None:
        await client.page()
        path = "/v1/pages/shop/items/hat"
        await asyncio.gather(*(client.ok(method, path, body) for method, body in requests))
        plain = {"item": "hat", "state": "active", "prior": None, "value": 1.0, "category": None}
        plain |= {"valid_from": None, "valid_until": None, "features": {}}
        assert await client.ok("GET", path) == plain | wanted
        page = await client.ok("GET", "/v1/pages/shop")
        assert page["items"][0] == plain | wanted, "memory has what the store has"

    run_scenario(tmp_path, scenario)


def test_no_update_of_an_item_is_lost(tmp_path: Path) -> None:
    """Clients that read, change and write back with If-Match, and try again after 412, all have their effect."""

    async def scenario(client: Client) -> None:
        await client.page()
        path, refused = "/v1/pages/shop/items/hat", 0
        await client.ok("PUT", path, {"prior": {"clicks": 0, "views": 1000}})

        async def add_clicks(times: int) -> None:
            nonlocal refused
            while times:
                before = await client.http.get(path)
                prior = before.json()["prior"]
                method = client.http.patch if times % 2 else client.http.put
                changed = {"prior": {**prior, "clicks": prior["clicks"] + 1}}
                answer = await method(path, json=changed, headers={"if-match": before.headers["etag"]})
                assert answer.status_code in (200, 412)
                times -= answer.status_code == 200
                refused += answer.status_code == 412

        await asyncio.gather(*(add_clicks(5) for _ in range(6)))
        assert refused > 0
        assert (await client.ok("GET", path))["prior"]["clicks"] == 30

    run_scenario(tmp_path, scenario)


def test_two_patches_of_an_item_that_are_invalid_together(tmp_path: Path) -> None:
    async def scenario(client: Client) -> None:
        await client.page()
        path, patches = "/v1/pages/shop/items/hat", [{"valid_from": 2e9}, {"valid_until": 1e9}]
        answers = await asyncio.gather(*(client.http.patch(path, json=patch) for patch in patches))
        assert [answer.status_code for answer in answers] == [200, 422]
        assert answers[1].json()["errors"][0]["pointer"] == "/valid_until"
        await client.recommend()

    run_scenario(tmp_path, scenario)


def test_a_display_with_an_id_in_use_counts_nothing(tmp_path: Path) -> None:
    """The first display was evicted from memory, so only the store knows that the id is in use."""

    async def scenario(client: Client) -> None:
        await client.page()
        await client.recommend()
        _, first, _ = await client.service.recommend("shop", RecommendationRequest("view-1"))
        client.service._displays.forget_all()  # as thousands of other displays would do
        _, second, fresh = await client.service.recommend("shop", RecommendationRequest("view-1"))
        assert fresh
        assert second.nonce != first.nonce
        click = Event(EventKind.CLICK, "view-1", first.nonce, None, "hero", None)
        assert [outcome.status for outcome in (await client.service.record_events([click])).outcomes] == ["accepted"]
        await assert_agreement(client, TrafficRows(client.service, seed=0), ("shop",))
        model, again, fresh = await client.service.recommend("shop", RecommendationRequest("view-1"))
        assert (again.nonce, fresh) == (first.nonce, False)
        assert model.counts().displays == 2.0

    run_scenario(tmp_path, scenario)
    assert verify(tmp_path / "store.db").differences == []
