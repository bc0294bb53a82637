"""Large stores: a quick start after a crash with many events, and little memory for many pages."""

import asyncio
import re
import shutil
import time
from pathlib import Path

import httpx
import numpy as np
import psutil
import pytest

from slotwise.service.maintenance.verify import verify
from slotwise.service.pages.page_definition import NO_PAGE, ItemSpec, PageSpec
from slotwise.service.registers import Counting, EventKind, Registers
from slotwise.service.store.ledger import Ledger
from slotwise.service.store.records import Display, DisplayEntry, Event
from slotwise.service.store.sqlite.sqlite_store import SqliteStore
from tests.service.running_service import Process, process
from tests.waiting import wait_until

ITEMS = [f"item{k}" for k in range(50)]
POSITIONS = ["one", "two", "three", "four", "five"]
READY_SECONDS = 10.0  # of CPU time, in addition to that for an empty store
# Of 10,000 pages without and with ensembles. The second goal is missed: 500 pages in five runs gave 485 and 715 MB. The
# short form, whose extrapolation is less exact, notices growth by a twentieth.
GOALS, MOST_OF_FEW = (500e6, 700e6), (525e6, 750e6)
BATCH = 500


def define(ledger: Ledger, name: str, now: float) -> int:
    page = ledger.save_page(name, NO_PAGE.with_spec(PageSpec(positions=POSITIONS)), None, now)
    ledger.save_items(page.number, [(item, ItemSpec()) for item in ITEMS])
    return page.number


def a_display(k: int, page: int, now: float) -> Display:
    entries = [
        DisplayEntry(position, column, (k + column) % len(ITEMS), "learnt") for column, position in enumerate(POSITIONS)
    ]
    registers = Registers(len(entries), Counting.ISSUED)
    return Display(f"view-{k}", k, page, "default", 0, now, now + 86400.0, now + 1e6, "learnt", 0, registers, entries)


async def fill(path: Path, image: Path, events: int) -> None:
    """Two clicks for each display, in large groups; then copy the files as a crash leaves them, with a WAL."""
    now = time.time()
    store = SqliteStore(path)
    page = await store.do(lambda ledger: define(ledger, "shop", now))
    for start in range(0, events // 2, BATCH // 2):
        clicked = range(start, start + BATCH // 2)
        for k in clicked:
            store.add(a_display(k, page, now))
        batch = [
            Event(EventKind.CLICK, f"view-{k}", None, None, position, f"{k}:{position}")
            for k in clicked
            for position in ("one", "two")
        ]
        answer = store.do(lambda ledger, batch=batch: ledger.record_events(batch, now))
        if start % (4 * BATCH) == 0:
            await answer
    await answer
    for ending in ("", "-wal"):
        shutil.copy(f"{path}{ending}", f"{image}{ending}")
    await store.close()
    path.unlink()


@pytest.mark.parametrize("events", [20_000, pytest.param(1_000_000, marks=pytest.mark.soak)])
def test_it_recovers_quickly_after_a_crash(tmp_path: Path, events: int) -> None:
    """The test measures CPU time, which does not depend on the machine's load, minus the time for an empty store."""
    image = tmp_path / "image.db"
    asyncio.run(fill(tmp_path / "store.db", image, events))
    assert Path(f"{image}-wal").stat().st_size > 1e6, "a crash leaves something to recover"
    with process(tmp_path / "empty.db") as server:  # compiles the kernels, so that the next start does not
        server.kill()
    with process(tmp_path / "empty.db") as server:
        empty = cpu_seconds(server)
        server.kill()
    for crash in range(2):
        with process(image) as server:
            shown = server.http.post("/v1/pages/shop/recommendations", json={}).raise_for_status()
            recovery = cpu_seconds(server) - empty
            state = server.http.get("/v1/pages/shop/state").json()
            server.kill()
        print(f"{events:,} events, start {crash + 1}: {recovery:.1f} s of CPU time more than for an empty store")
        assert recovery < READY_SECONDS
        assert not shown.json()["degraded"]
        assert sum(cell["clicks"] for cell in state["counts"]) == events
        assert sum(cell["skips"] for cell in state["counts"]) == len(POSITIONS) * state["displays"] - events
    assert verify(image).differences == []


def cpu_seconds(server: Process) -> float:
    times = psutil.Process(server.process.pid).cpu_times()
    return float(times.user + times.system)


def define_with_counts(ledger: Ledger, name: str) -> None:
    """A page on which every item has counts, so that every item has a row in memory."""
    page, snapshot = define(ledger, name, 0.0), ledger.begin_import()
    rows = [(item, 0, item % len(POSITIONS), 1.0, 9.0) for item in range(len(ITEMS))]
    ledger.stage_counts(snapshot, np.array(rows))
    ledger.import_counts(page, snapshot, 100.0, None)


async def define_many(path: Path, pages: int) -> None:
    store = SqliteStore(path)
    await asyncio.gather(*[store.do(lambda ledger, k=k: define_with_counts(ledger, f"page{k}")) for k in range(pages)])
    await store.close()


@pytest.mark.parametrize("pages", [500, pytest.param(10_000, marks=pytest.mark.soak)])
def test_ten_thousand_pages_fit_into_memory(tmp_path: Path, pages: int) -> None:
    """The memory is extrapolated from the difference that the last four fifths of the pages make.

    So memory that does not depend on the number of pages, such as that of threads, is counted once. Pages in shadow
    mode have no ensembles. Then all pages learn, and their ensembles are made. All items of all pages have counts.
    """
    asyncio.run(define_many(tmp_path / "store.db", pages))
    most = GOALS if pages == 10_000 else MOST_OF_FEW
    with process(tmp_path / "store.db") as server:
        first = each = 0.0
        for mode, most_bytes in zip(("shadow", "learn"), most, strict=True):
            few, many = (memory_of(server, range(*part), mode) for part in ((0, pages // 5), (pages // 5, pages)))
            before, first = first, (many - few) / (pages - pages // 5)
            each = before + first  # the first mode left its memory in place
            fixed = few - each * pages // 5 - before * (pages - pages // 5)
            print(f"{pages:,} pages, {mode}: {fixed / 1e6:.0f} MB without, {each / 1e3:.1f} kB each")
            assert fixed + 10_000 * each < most_bytes
        assert first > 0.9 * 64 * (50 + 6) * 4  # bytes of the draws of one page, which the second mode has added


def metric(server: Process, name: str) -> float:
    metrics = server.http.get("/metrics").text
    found = re.search(rf"^slotwise_{name} ([0-9.e+]+)$", metrics, re.MULTILINE)
    assert found is not None, metrics
    return float(found[1])


def memory_of(server: Process, pages: range, mode: str) -> int:
    """The memory of the process after these pages have got this mode and issued a display."""
    for k in pages:
        server.http.patch(f"/v1/pages/page{k}", json={"mode": mode}).raise_for_status()
        show(server.http, k)
    made = pages.stop if mode == "learn" else 0
    wait_until(lambda: metric(server, "refresh_waiting") == 0.0 and metric(server, "refreshes_total") >= made)
    return int(psutil.Process(server.process.pid).memory_info().rss)


def show(http: httpx.Client, k: int) -> None:
    http.post(f"/v1/pages/page{k}/recommendations", json={}).raise_for_status()
