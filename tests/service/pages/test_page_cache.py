"""Pages are built on a background thread. What is committed meanwhile counts once, in the order of the commits."""

import asyncio
import threading
import time
import weakref
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from slotwise.service.maintenance.verify import verify
from slotwise.service.pages import page_cache
from slotwise.service.pages.page_definition import ItemSpec
from slotwise.service.pages.recommendation_request import RecommendationRequest
from slotwise.service.registers import EventKind
from slotwise.service.store.records import Event
from tests.service.running_service import ITEMS, POSITIONS, START, Client, run_scenario
from tests.waiting import HANG


class SlowBuild:
    """Makes pages build on a background thread that waits until the test lets it go on."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        from slotwise.service.pages import page_cache, page_content

        self.started, self.go_on, self.built = threading.Event(), threading.Event(), 0
        build = page_cache.PageModel

        def slowly(*arguments: Any) -> Any:
            self.started.set()
            assert self.go_on.wait(HANG)
            self.built += 1
            return build(*arguments)

        monkeypatch.setattr(page_content, "BUILT_AT_ONCE", -1)
        monkeypatch.setattr(page_cache, "PageModel", slowly)

    async def begin(self, client: Client) -> "asyncio.Task[Any]":
        """Ask for a page that is not in memory, and return when it is being built."""
        client.service._pages.evict("shop")
        asking = asyncio.create_task(client.service.recommend("shop", RecommendationRequest()))
        assert await asyncio.to_thread(self.started.wait, HANG)
        return asking


async def assert_memory_is_the_store(client: Client) -> None:
    model = await client.service.model("shop")
    kept, items = await client.service.store.do(
        lambda ledger: (ledger.counts(model.page.number), ledger.items(model.page.number))
    )
    wanted = {cell[:3]: pytest.approx(cell[3:]) for cell in kept.cells if cell.clicks or cell.skips}
    assert {cell[:3]: cell[3:] for cell in model.cells()} == wanted
    assert model.counts().displays == pytest.approx(kept.displays)
    assert dict(zip(model.names, model.specs, strict=True)) == dict(items)


def test_changes_committed_while_a_page_is_built_count_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def scenario(client: Client) -> None:
        await client.page(half_life=8 * 3600.0)
        shown = [await client.recommend() for _ in range(20)]
        model, slow = await client.service.model("shop"), SlowBuild(monkeypatch)
        asking = await slow.begin(client)
        for display in shown[:10]:
            click = Event(EventKind.CLICK, display["id"], None, None, "hero", None)
            assert (await client.service.record_events([click])).outcomes[0].status == "accepted"
        await client.service.save_items(model, [("new", ItemSpec()), ("hat", ItemSpec("paused"))])
        client.clock.now = START + 2.5 * 3600.0
        await client.service._pages.begin_due_epoch(model, client.clock.now)
        click = Event(EventKind.CLICK, shown[10]["id"], None, None, "left", None)
        assert (await client.service.record_events([click])).outcomes[0].status == "accepted"
        assert not asking.done()
        slow.go_on.set()
        built, *_ = await asking
        assert (slow.built, built.page.epoch) == (1, 2)
        await assert_memory_is_the_store(client)

    run_scenario(tmp_path, scenario)
    assert verify(tmp_path / "store.db").differences == []


@pytest.mark.parametrize("change", ["definition", "import", "recovery"])
def test_a_page_that_changes_while_it_is_built_is_read_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, change: str
) -> None:
    async def scenario(client: Client) -> None:
        await client.page()
        await client.recommend()
        model, slow = await client.service.model("shop"), SlowBuild(monkeypatch)
        asking = await slow.begin(client)
        if change == "definition":
            body = model.page.body
            await client.service.save_page("shop", lambda _: body.with_spec(body.spec), None)
        elif change == "import":
            await client.service.import_counts(model, np.empty((0, 5)), 7.0, None)
        else:
            client.service._pages.clear()
        slow.go_on.set()
        built, *_ = await asking
        assert slow.built == 2
        assert built is await client.service.model("shop")
        await assert_memory_is_the_store(client)

    run_scenario(tmp_path, scenario)


def test_other_pages_are_served_while_a_page_is_built(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def scenario(client: Client) -> None:
        await client.page()
        await client.page("other")
        await client.recommend("other")
        slow = SlowBuild(monkeypatch)
        asking = await slow.begin(client)
        second = asyncio.create_task(client.service.recommend("shop", RecommendationRequest()))
        for _ in range(5):
            assert (await client.recommend("other"))["items"]
        assert (await client.http.get("/readyz")).status_code == 200
        assert not asking.done()
        slow.go_on.set()
        assert (await asking).model is (await second).model
        assert slow.built == 1

    run_scenario(tmp_path, scenario)


def test_pages_that_were_not_used_for_longest_leave_the_memory(tmp_path: Path) -> None:
    """The budget is that of two pages. What a page has learnt is loaded again with it."""

    async def scenario(client: Client) -> None:
        pages = client.service._pages
        for name in ("a", "b", "c"):
            await client.page(name, items=ITEMS[: len(POSITIONS)])  # so every item is shown, and has a row
            await client.recommend(name)
        await pages.apply_pending()
        pages._most_bytes = 2 * pages._n_bytes // 3 + 1
        shown = await client.recommend("a")
        await client.page("d", items=ITEMS[: len(POSITIONS)])
        await client.recommend("d")
        await pages.apply_pending()
        assert [model.page.name for model in pages.loaded()] == ["a", "d"]
        assert pages._n_bytes == sum(model.n_bytes for model in pages.loaded())
        click = {"type": "click", "display": shown["id"], "position": "hero"}
        await client.recommend("b")
        assert [model.page.name for model in pages.loaded()] == ["d", "b"]
        assert await client.send(click) == ["accepted"]
        model = await client.service.model("a")
        assert (model.counts().displays, model.counts().clicks.sum()) == (2.0, 1.0)
        text = (await client.http.get("/metrics")).text
        assert "slotwise_evicted_pages_total 4.0" in text

    run_scenario(tmp_path, scenario)


def test_a_change_of_settings_keeps_the_page_in_memory(tmp_path: Path) -> None:
    async def scenario(client: Client) -> None:
        await client.page(segments=["new"])
        await client.recommend(segment="new")
        model = await client.service.model("shop")
        await client.ok("PATCH", "/v1/pages/shop", {"positions": ["right", "hero"], "segments": [], "holdout": 0.5})
        await client.ok("PUT", "/v1/pages/shop/pins/default/hero", {"item": "tie"})
        assert await client.service.model("shop") is model
        shown = await client.recommend()
        assert [row["position"] for row in shown["items"]] == ["right", "hero"]
        assert shown["items"][1]["item"] == "tie"
        refused = await client.http.post("/v1/pages/shop/recommendations", json={"segment": "new"})
        assert refused.status_code == 422
        await client.ok("PATCH", "/v1/pages/shop", {"mode": "off"})
        await client.recommend()
        assert await client.service.model("shop") is model
        assert model.counts().displays == 2.0
        for change in ({"segments": ["other"]}, {"policy": "uniform"}, {"positions": ["below"]}):
            await client.ok("PATCH", "/v1/pages/shop", change)
            assert await client.service.model("shop") is not model
            model = await client.service.model("shop")

    run_scenario(tmp_path, scenario)
    assert verify(tmp_path / "store.db").differences == []


def test_a_large_page_is_freed_on_a_background_thread(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(page_cache, "LARGE_PAGE", 3)
    threads: list[int] = []

    async def scenario(client: Client) -> None:
        await client.page()
        await client.recommend()
        model = await client.service.model("shop")
        weakref.finalize(model, lambda: threads.append(threading.get_ident()))
        client.service._pages.evict("shop")
        await client.service.tick()  # a request in progress may still use the page: this is one
        await asyncio.sleep(0)
        assert not threads
        assert model.names == [*ITEMS]
        del model
        deadline = time.monotonic() + HANG
        while not threads and time.monotonic() < deadline:
            await client.service.tick()
            await asyncio.sleep(0.01)
        assert threads
        assert threads != [threading.get_ident()]

    run_scenario(tmp_path, scenario)
