"""Ensembles are made in the background: the most urgent page first, in a share of one core, only for pages in use."""

import asyncio
import shutil
import threading
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from slotwise.service.ensembles.draws_due import ITEMS_ADDED, NO_DRAWS
from slotwise.service.ensembles.ensemble_refresher import Refresher
from slotwise.service.maintenance.verify import verify
from slotwise.service.metrics import Metrics
from slotwise.service.pages.page_learner import PageLearner, RefreshJob
from slotwise.service.service import running
from tests.service.running_service import ITEMS, Client, open_client, run_scenario
from tests.waiting import HANG, until


class PageStub:
    """A page whose urgency and cost a test sets. It records when its ensembles are made."""

    def __init__(self, name: str, urgency: int, log: list[str], seconds: float = 0.0) -> None:
        self.name, self.urgency, self.log, self.seconds, self.growth = name, urgency, log, seconds, 1.0

    def begin_refresh(self) -> "PageStub":
        return self

    def run(self, _: Any) -> str:
        spin_until = time.thread_time() + self.seconds
        while time.thread_time() < spin_until:
            pass
        self.log.append(self.name)
        return "ensemble"

    def install(self, ensemble: Any) -> None:
        assert ensemble == "ensemble"
        self.urgency = -1


class JoinedPage(PageStub):
    """A page during whose look at the growth another page joins the queue, as the event loop may do on its thread."""

    queue: Any = None

    @property
    def growth(self) -> float:
        if self.queue is not None:
            self.queue.request(PageStub("joined", self.urgency, self.log))
        return 2.0

    @growth.setter
    def growth(self, _: float) -> None: ...


def refresher(seed: int | None = None, share: float = 1.0) -> Any:
    return Refresher(Metrics(), seed, share)


def test_the_most_urgent_page_comes_first() -> None:
    log: list[str] = []

    async def scenario() -> None:
        queue = refresher(seed=0)
        pages = [PageStub(f"level {k}", k, log) for k in (2, 0, ITEMS_ADDED, -1, 5, NO_DRAWS)]
        for page in pages:
            queue.request(page)
        pages[1].urgency = 7
        queue.request(pages[1])  # became more urgent while it waited
        await queue.finish()
        assert queue.idle

    asyncio.run(scenario())
    assert log == [f"level {k}" for k in (ITEMS_ADDED, NO_DRAWS, 0, 5, 2)]


def test_metrics_can_be_read_while_the_queue_changes() -> None:
    async def scenario() -> None:
        queue = refresher()
        page = JoinedPage("first", 3, [])
        queue.request(page)
        page.queue = queue
        metric = queue._metrics.registry.get_sample_value
        assert metric("slotwise_refresh_growth") == 2.0
        assert metric("slotwise_refresh_waiting") == 2.0
        await queue.close()

    asyncio.run(scenario())


def test_a_long_queue_is_served_in_batches_and_visible_in_the_metrics() -> None:
    log: list[str] = []

    async def scenario() -> None:
        queue = refresher()
        for k in range(100):
            queue.request(PageStub(str(k), 3, log))
        metric = queue._metrics.registry.get_sample_value
        assert metric("slotwise_refresh_waiting") == 100.0
        assert metric("slotwise_refresh_growth") == 1.0
        await queue.finish()
        assert (metric("slotwise_refresh_waiting"), metric("slotwise_refreshes_total")) == (0.0, 100.0)

    asyncio.run(scenario())
    assert log == [str(k) for k in range(100)]


def test_the_refresher_rests_to_keep_its_share(monkeypatch: pytest.MonkeyPatch) -> None:
    rests, log = [], list[str]()

    async def sleep(seconds: float) -> None:
        rests.append(seconds)

    async def scenario() -> None:
        monkeypatch.setattr("slotwise.service.ensembles.ensemble_refresher.asyncio.sleep", sleep)
        queue = refresher(share=0.2)
        for k in range(3):
            queue.request(PageStub(str(k), 0, log, seconds=0.02))  # longer than a batch
        await queue.finish()
        spent = queue._metrics.registry.get_sample_value("slotwise_refresh_seconds_total")
        assert spent >= 0.06
        assert sum(rests) == pytest.approx(4.0 * spent)

    asyncio.run(scenario())
    assert len(rests) == 3


def test_pages_that_wait_are_served_after_a_thread_could_not_be_started(monkeypatch: pytest.MonkeyPatch) -> None:
    log: list[str] = []

    async def no_thread(*_: Any) -> None:
        raise RuntimeError("can't start new thread")

    async def scenario() -> None:
        queue = refresher()
        *others, page = [PageStub(str(k), 3, log) for k in range(100)]  # more than a batch
        with monkeypatch.context() as patch:
            patch.setattr("slotwise.service.ensembles.ensemble_refresher.run_in_background", no_thread)
            for other in (*others, page):
                queue.request(other)
            with suppress(RuntimeError):
                await queue._task
        queue.request(page)
        await queue.finish()

    asyncio.run(scenario())
    assert "99" in log


def test_a_refresher_that_is_closed_before_it_began_is_idle() -> None:
    async def scenario() -> None:
        queue = refresher()
        queue.request(PageStub("page", 3, []))
        await queue.close()
        assert queue._task is None

    asyncio.run(scenario())


def test_a_page_that_was_evicted_meanwhile_is_left_alone() -> None:
    log: list[str] = []

    async def scenario() -> None:
        queue, started, go_on = refresher(seed=0), threading.Event(), threading.Event()

        class Slow(PageStub):
            def run(self, rng: Any) -> str:
                started.set()
                assert go_on.wait(HANG)
                return super().run(rng)

        running, waiting = Slow("running", 1, log), PageStub("waiting", 0, log)
        queue.request(running)
        await asyncio.to_thread(started.wait, HANG)
        queue.request(waiting)
        queue.forget(waiting)
        queue.forget(running)
        go_on.set()
        await queue.finish()
        assert running.urgency == 1, "its ensemble was not installed"

    asyncio.run(scenario())
    assert log == ["running"]


def test_displays_come_from_point_estimates_until_there_are_draws(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Meanwhile, the page is served and learns; the draws are then made from these counts too."""
    go_on, made = threading.Event(), []
    run = RefreshJob.run

    def slowly(job: RefreshJob, rng: Any) -> Any:
        assert go_on.wait(HANG)
        made.append(run(job, rng))
        return made[-1]

    async def scenario() -> None:
        async with open_client(tmp_path, seed=None) as client:
            await client.page()
            monkeypatch.setattr(RefreshJob, "run", slowly)
            first = [await client.recommend() for _ in range(20)]
            assert all(shown["warming"] for shown in first)
            click = {"type": "click", "display": first[0]["id"], "position": "hero"}
            assert await client.send(click) == ["accepted"]
            go_on.set()
            await client.service.refresher.finish()
            assert not (await client.recommend())["warming"]
            model = await client.service.model("shop")
            assert (model.counts().displays, model.counts().clicks.sum()) == (21.0, 1.0)
            text = (await client.http.get("/metrics")).text
            assert "slotwise_warming_displays_total 20.0" in text

    asyncio.run(scenario())
    assert made[0] is not None


def test_pages_that_need_no_draws_make_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without requests, in shadow mode, and with a policy that does not learn; their counts are still applied."""
    made = []
    monkeypatch.setattr("slotwise.service.pages.page_learner.MOST_PENDING", 10)

    async def scenario(client: Client) -> None:
        monkeypatch.setattr("slotwise.service.pages.page_learner.from_draws", lambda *arguments: made.append(arguments))
        await client.page("unused")
        await client.page("shadow", mode="shadow")
        await client.page("random", policy="uniform")
        for _ in range(25):
            assert not (await client.recommend("shadow"))["warming"]
            assert not (await client.recommend("random"))["warming"]
        await client.service.refresher.finish()
        for name in ("shadow", "random"):
            model = await client.service.model(name)
            assert model._learner.matrix.n_pending < 25
            assert model.counts().displays == 25.0

    run_scenario(tmp_path, scenario)
    assert made == []


def test_housekeeping_applies_changes_that_wait(tmp_path: Path) -> None:
    async def scenario(client: Client) -> None:
        await client.page(mode="shadow")
        for _ in range(5):
            await client.recommend()
        model = await client.service.model("shop")
        matrix = model._learner.matrix
        with matrix.locked():
            await client.recommend()
            await client.service.tick()  # does not wait for another thread that uses the counts
            assert matrix.n_pending == 1
        await client.recommend()
        await client.service.tick()
        await until(lambda: matrix.n_pending == 0)  # the periodic tick may be applying the changes now
        assert model.counts().displays == 7.0

    run_scenario(tmp_path, scenario)


def test_a_changed_definition_keeps_the_ensemble_until_there_is_a_new_one(tmp_path: Path) -> None:
    async def scenario(client: Client) -> None:
        await client.page()
        await client.recommend()
        assert not (await client.recommend())["warming"]
        await client.ok("PATCH", "/v1/pages/shop", {"holdout": 0.0, "click_window": 100.0})
        assert not (await client.recommend())["warming"]
        await client.ok("PATCH", "/v1/pages/shop", {"positions": ["hero", "new"]})
        assert (await client.recommend())["warming"], "the ensemble does not know the new position"
        assert not (await client.recommend())["warming"]
        state = await client.ok("GET", "/v1/pages/shop/state")
        await client.ok("PUT", "/v1/pages/shop/state", state)
        assert (await client.recommend())["warming"], "imported counts may differ in any way"

    run_scenario(tmp_path, scenario)


def test_a_failure_keeps_the_page_as_it_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def scenario(client: Client) -> None:
        await client.page()
        await client.recommend()
        await client.service.refresher.finish()
        with monkeypatch.context() as broken:
            broken.setattr(RefreshJob, "run", lambda *_: 1 // 0)
            for _ in range(3):
                assert not (await client.recommend())["warming"]
            text = (await client.http.get("/metrics")).text
            assert "slotwise_refresh_failures_total 0.0" not in text
        await client.recommend()
        await client.service.refresher.finish()
        model = await client.service.model("shop")
        assert model.urgency < 0

    run_scenario(tmp_path, scenario)


def test_a_new_item_takes_part_before_the_next_ensemble(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It has draws from its prior: with a strong prior it is shown at once, without one sometimes."""

    async def scenario(client: Client) -> None:
        await client.page()
        for _ in range(3):
            await client.recommend()
        await client.service.refresher.finish()
        monkeypatch.setattr(PageLearner, "urgency", lambda _: -1)  # no new ensemble from now on
        rows = [{"item": "good", "prior": {"clicks": 990, "views": 1000}}, {"item": "plain"}, {"item": "bad"}]
        rows[2]["prior"] = {"clicks": 0, "views": 1000}
        await client.ok("POST", "/v1/pages/shop/items:batch", {"items": rows})
        shown = [{row["item"] for row in (await client.recommend())["items"]} for _ in range(300)]
        times = {name: sum(name in items for items in shown) for name in ("good", "plain", "bad", *ITEMS)}
        assert times["good"] > 250
        assert 20 < times["plain"] < 280
        assert times["bad"] < 50

    run_scenario(tmp_path, scenario)


def test_a_page_with_new_items_goes_ahead_of_all_others(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Unless the new items share their prior with others: then their draws are made for every request."""

    async def scenario(client: Client) -> None:
        await client.page()
        for _ in range(3):
            await client.recommend()
        await client.service.refresher.finish()
        monkeypatch.setattr(Refresher, "request", lambda *_: None)  # no new ensemble from now on
        model = await client.service.model("shop")
        await client.ok("PUT", "/v1/pages/shop/items/plain", {})
        assert 0 <= model.urgency < NO_DRAWS
        await client.ok("PUT", "/v1/pages/shop/items/own", {"prior": {"clicks": 1, "views": 10}})
        assert model.urgency == ITEMS_ADDED

    run_scenario(tmp_path, scenario)


@pytest.mark.parametrize("moment", ["before", "after"])
def test_a_crash_during_a_refresh_loses_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, moment: str) -> None:
    """A copy of the files, as a crash leaves them, before the draws are made or before they are used."""
    reached, go_on, run = threading.Event(), threading.Event(), RefreshJob.run
    image = tmp_path / "image.db"

    def stop(job: RefreshJob, rng: Any) -> Any:
        made = run(job, rng) if moment == "after" else None
        reached.set()
        assert go_on.wait(HANG)
        return run(job, rng) if moment == "before" else made

    async def learn(client: Client, n_displays: int, n_clicks: int) -> None:
        shown = [await client.recommend() for _ in range(n_displays)]
        clicks = [{"type": "click", "display": one["id"], "position": "hero"} for one in shown[:n_clicks]]
        assert await client.send(*clicks) == ["accepted"] * n_clicks

    async def scenario() -> None:
        async with open_client(tmp_path, seed=None) as client:
            await client.page()
            await learn(client, 20, 5)
            await client.service.refresher.finish()
            monkeypatch.setattr(RefreshJob, "run", stop)
            await learn(client, 20, 7)
            assert await asyncio.to_thread(reached.wait, HANG)
            await learn(client, 10, 3)
            for ending in ("", "-wal"):
                shutil.copy(tmp_path / f"store.db{ending}", f"{image}{ending}")
            go_on.set()

    asyncio.run(scenario())
    monkeypatch.setattr(RefreshJob, "run", run)
    assert verify(image).differences == []

    async def check() -> None:
        async with running(image) as service:
            await service.compiled.wait()
            counts = (await service.model("shop")).counts()
            assert (counts.displays, counts.clicks.sum(), counts.skips.sum()) == (50.0, 15.0, 3 * 50.0 - 15.0)

    asyncio.run(check())
