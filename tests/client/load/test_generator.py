"""The load generator on a real service: its measurements, and rounds identical to those of `simulate`."""

import asyncio
import json
import os
import signal
from collections import Counter, deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

import slotwise as sw
from slotwise.checks import BadInput
from slotwise.client import pages
from slotwise.client.address import ServiceAddress
from slotwise.client.http_client import HttpClient
from slotwise.client.load import generator
from slotwise.client.load.generator import LoadGenerator, LoadPlan
from slotwise.client.load.report import LoadReport
from slotwise.client.load.visitors import Visitors
from slotwise.service.http.access.access import DevAccess
from slotwise.service.http.app import make_app
from slotwise.service.http.server import bind
from slotwise.service.http.server import listening as serving_on
from slotwise.service.log_export import LogFilter, export_log
from slotwise.service.service import running
from tests.service.running_service import Process, open_client, process
from tests.waiting import until

MODEL = sw.PBM(theta=[0.1, 0.9, 0.5, 0.3], kappa=[0.4, 1.0])
ITEMS, POSITIONS = ["item1", "item2", "item3", "item4"], ["position1", "position2"]


def make_generator(url: str, plan: LoadPlan) -> LoadGenerator:
    """A load generator for a new page."""
    with HttpClient(url) as remote:
        pages.create_numbered_page(remote, plan.page, MODEL)
    return LoadGenerator(ServiceAddress.of(url), Visitors(MODEL, ITEMS, POSITIONS, seed=5), plan)


async def rounds_of(load: LoadGenerator, rounds: int) -> None:
    """Wait until a load has run this many rounds."""
    await until(lambda: load.curve.rounds >= rounds)


def run(load: LoadGenerator) -> LoadReport:
    asyncio.run(load.run(lambda _: None))
    return LoadReport.of(load)


@asynccontextmanager
async def listening(folder: Path) -> AsyncIterator[str]:
    """A service with a fixed seed that listens on a port, in the event loop of the test."""
    folder.mkdir()
    async with running(folder / "store.db", seed=0) as service:
        while not service.ready:
            await asyncio.sleep(0.01)
        listener = bind("127.0.0.1", 0)
        async with serving_on(make_app(service, DevAccess()), listener):
            yield f"http://127.0.0.1:{listener.getsockname()[1]}"


@pytest.mark.parametrize("delay", [0, 7])
def test_one_connection_runs_the_loop_of_simulate(quick_store: Path, delay: int) -> None:
    """Every round has the same display as a plain loop that chooses, then learns the clicks of `delay` rounds ago."""

    async def over_http() -> float:
        async with listening(quick_store.parent / "http") as url:
            plan = LoadPlan("twin", rounds=200, connections=1, delay=delay)
            load = await asyncio.to_thread(make_generator, url, plan)
            await load.run(lambda _: None)
            return load.curve.regret

    async def plain_loop(folder: Path, delay: int) -> float:
        folder.mkdir()
        visitors, waiting, lost = Visitors(MODEL, ITEMS, POSITIONS, seed=5), deque[list[dict]](), 0.0
        async with open_client(folder) as server:
            await server.ok("PUT", "/v1/pages/twin", {"positions": POSITIONS})
            await server.ok("POST", "/v1/pages/twin/items:batch", {"items": [{"item": item} for item in ITEMS]})
            for _ in range(200):
                shown = await server.recommend("twin")
                visit = visitors.visit((row["position"], row["item"]) for row in shown["items"])
                lost += visit.regret
                waiting.append([{"type": "click", "display": shown["id"], "position": at} for at in visit.clicked])
                if len(waiting) > delay and (due := waiting.popleft()):
                    await server.send(*due)
        return lost

    regret = asyncio.run(over_http())
    assert regret == asyncio.run(plain_loop(quick_store.parent / "plain", delay))
    assert regret != asyncio.run(plain_loop(quick_store.parent / "other", delay + 1))  # the delay matters


def test_the_report_agrees_with_the_service(service: Process, page: str) -> None:
    report = run(make_generator(service.address, LoadPlan(page, rounds=300, connections=4, delay=20)))
    assert (report.rounds, report.recommendations.answered, report.stopped) == (300, 300, "")
    assert report.problems() == []
    assert report.clicks == report.events.answered == report.event_statuses["accepted"]
    learnt = service.http.get(f"/v1/pages/{page}/state").json()
    assert learnt["displays"] == 300
    assert sum(cell["clicks"] for cell in learnt["counts"]) == report.clicks
    times = report.recommendations.milliseconds
    assert 0.0 < times["p50"] <= times["p90"] <= times["p99"] <= times["p99.9"]
    assert report.regret < 0.7 * report.regret_at_random


def test_at_a_rate_latency_counts_from_the_scheduled_time(tmp_path: Path) -> None:
    """A stall of 0.6 s at 100 rounds per second delays sixty visitors, although only one connection waits."""
    with process(tmp_path / "store.db") as server:
        load = make_generator(server.address, LoadPlan("stall", rounds=150, rate=100.0, connections=1))

        async def run_with_stall() -> None:
            running_load = asyncio.create_task(load.run(lambda _: None))
            await rounds_of(load, 30)
            os.kill(server.process.pid, signal.SIGSTOP)
            await asyncio.sleep(0.6)
            os.kill(server.process.pid, signal.SIGCONT)
            await running_load

        asyncio.run(run_with_stall())
    report = LoadReport.of(load)
    assert report.rounds == 150
    assert load.latency.quantile(0.8) > 0.2  # more than thirty rounds waited for at least 0.2 s
    assert report.seconds >= 1.49  # no round was early


def test_the_load_ends_when_the_service_is_killed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with process(tmp_path / "store.db") as server:
        load = make_generator(server.address, LoadPlan("gone", rate=100.0))

        async def run_until_killed() -> None:
            running_load = asyncio.create_task(load.run(lambda _: None))
            await rounds_of(load, 20)
            monkeypatch.setattr(
                generator, "RESPONSE_TIMEOUT", 1.0
            )  # only from here on: the earlier rounds may be slow on a busy machine
            server.kill()
            await running_load

        asyncio.run(run_until_killed())
    report = LoadReport.of(load)
    assert "1 second" in report.stopped
    assert report.rounds >= 20
    assert any("recommendations" in line for line in report.problems())


def test_errors_are_counted(service: Process, page: str) -> None:
    load = make_generator(service.address, LoadPlan(page, rounds=5, connections=1))
    assert service.http.delete(f"/v1/pages/{page}").status_code == 204
    report = run(load)
    assert report.rounds == 0
    assert report.recommendations.errors == {"404 Not Found": 5}
    assert len(report.problems()) == 1


def test_an_item_missing_in_the_click_model_ends_the_load(service: Process, page: str) -> None:
    load = make_generator(service.address, LoadPlan(page, rounds=500))
    service.http.put(f"/v1/pages/{page}/items/new", json={})
    with pytest.raises(BadInput, match="'new'"):
        run(load)


def test_visitors_return_and_keep_their_variant(tmp_path: Path) -> None:
    """The log has a bucket and a variant for each visitor. 1,500 rounds: 1,000 visitors, and 500 of them again."""
    units = [generator.unit_of(number) for number in range(2 * generator.VISITORS * generator.VISITS)]
    assert set(Counter(units).values()) == {generator.VISITS}
    assert len(set(units)) == 2 * generator.VISITORS

    async def scenario() -> None:
        async with listening(tmp_path / "service") as url:
            load = await asyncio.to_thread(make_generator, url, LoadPlan("returning", rounds=1_500, connections=1))
            with HttpClient(url) as remote:
                await asyncio.to_thread(remote.call, "PATCH", "/v1/pages/returning", {"holdout": 0.5})
            await load.run(lambda _: None)
            assert not load.errors

    asyncio.run(scenario())
    export_log(tmp_path / "service" / "store.db", tmp_path / "log.ndjson", LogFilter())
    lines = [json.loads(line) for line in (tmp_path / "log.ndjson").read_text().splitlines()]
    shown = [(line["bucket"], line["variant"]) for line in lines if line["position"] == POSITIONS[0]]
    assert shown[:500] == shown[generator.VISITORS :]
    assert {variant for _, variant in shown} == {"learnt", "holdout"}
