"""No transaction of the SQLite store grows with a page: an import and a fold write a bounded number of rows.

The writer is the only thread that commits, so a large transaction would delay every event meanwhile.
"""

import asyncio
from pathlib import Path
from typing import Any

import numpy as np

from slotwise.service.maintenance.verify import verify
from slotwise.service.registers import EventKind
from slotwise.service.store.ledger import Operation, ResultT
from slotwise.service.store.records import Event
from slotwise.service.store.sqlite.sqlite_store import SqliteStore
from slotwise.service.store.tables import snapshot_table
from tests.service.store.test_contract import NOW, cells, click, defined, display, statuses

CELLS, BUCKETS = 4_000, 700
MOST = 50  # rows that one transaction may write; a fold or an import of all cells or all rates would write 700 or more


async def rows_written(store: SqliteStore, operation: Operation[ResultT]) -> int:
    def measured(ledger: object) -> int:
        connection = ledger._connection  # type: ignore[attr-defined]
        before = connection.total_changes
        operation(ledger)  # type: ignore[arg-type]
        ledger.flush()  # type: ignore[attr-defined]
        return int(connection.total_changes - before)

    return await store.do(measured)


async def import_cells(store: SqliteStore, clicks: float, n_cells: int = CELLS) -> int:
    """Import many cells. Returns how many rows the transaction wrote that switches to them."""
    number = await store.do(lambda ledger: ledger.begin_import())
    rows = np.array([[k % 2, 0, k // 2, clicks, 1.0] for k in range(n_cells)])
    await store.do(lambda ledger: ledger.stage_counts(number, rows))
    return await rows_written(store, lambda ledger: ledger.import_counts(1, number, 5.0, None))


def test_a_fold_into_a_large_snapshot_of_an_older_epoch_writes_few_rows(tmp_path: Path) -> None:
    async def scenario() -> None:
        store = SqliteStore(tmp_path / "store.db")
        await defined(store)
        await import_cells(store, 8.0)
        store.add(display(drop_after=NOW))
        await store.do(lambda ledger: ledger.begin_epoch(1, 8, NOW))  # everything before has half of its weight
        assert await rows_written(store, lambda ledger: ledger.prune(NOW + 1, 10)) < MOST
        kept = await cells(store)
        assert (kept[0, 0], kept[1, 1]) == ((4.0, 1.0), (4.0, 1.0)), "half of 8 clicks, and of 1 + 1 skips"
        assert (kept[0, 5], len(kept)) == ((4.0, 0.5), CELLS)
        await store.do(lambda ledger: ledger.begin_epoch(1, 16, NOW))
        kept = await cells(store)
        assert (kept[0, 0], kept[0, 5]) == ((2.0, 0.5), (2.0, 0.25))
        await store.close()

    asyncio.run(scenario())
    assert verify(tmp_path / "store.db").differences == []


def test_an_import_over_many_counts_and_rates_writes_few_rows(tmp_path: Path) -> None:
    """The replaced counts stay in the table until they are deleted in small steps, and nothing reads them."""
    path = tmp_path / "store.db"

    async def begin() -> None:
        store = SqliteStore(path)
        await defined(store)
        for k in range(BUCKETS):
            shown = display(f"d{k}" if k else "d")
            shown.bucket, shown.allocation, shown.segment = k, 1, k
            store.add(shown)
        assert await statuses(store, click()) == ["accepted"]
        assert len(await store.do(lambda ledger: ledger.daily_rates(1, 1))) == BUCKETS
        assert await import_cells(store, 8.0) < MOST
        assert (await cells(store))[0, 0] == (8.0, 1.0)
        assert await statuses(store, click("left")) == ["accepted"], "it changes the rates only"
        await store.close()  # the replaced counts are still in the table, as after a crash

    async def remove() -> None:
        store, steps = SqliteStore(path), 0
        (number,) = await store.do(lambda ledger: ledger.unused_snapshots())
        while await rows_written(store, lambda ledger: ledger.remove_snapshot(number)) > MOST:
            steps += 1
            await store.close()
            assert verify(path).differences == []
            store = SqliteStore(path)
        assert steps == -(-2 * BUCKETS // snapshot_table.REMOVED)
        assert len(await cells(store)) == CELLS
        (rate,) = await store.do(lambda ledger: ledger.rates(1))
        assert (rate.displays, rate.shown, rate.clicks) == (BUCKETS, 2 * BUCKETS, 2)
        await store.close()

    asyncio.run(begin())
    assert verify(path).differences == []
    asyncio.run(remove())
    assert verify(path).differences == []


async def steps_of_a_prune(path: Path, n_others: int) -> int:
    """How many instructions SQLite runs to prune one display of a page with this many other displays in its log.

    The snapshot has as many cells. The others are in cells and epochs of their own, and one of them was discarded, so
    that its counts are zero.
    """
    store, steps = SqliteStore(path), 0
    await defined(store)
    await import_cells(store, 8.0, n_others)
    for k in range(1, n_others + 1):
        shown = display(f"d{k}", epoch=k, drop_after=NOW + 1000)
        shown.segment = k
        store.add(shown)
    store.add(display(drop_after=NOW))
    await store.do(lambda ledger: ledger.flush())  # type: ignore[attr-defined]
    discard = Event(EventKind.DISCARD, "d1", None, None, None, None)
    await store.do(lambda ledger: ledger.record_events([discard], NOW))

    def count() -> int:
        nonlocal steps
        steps += 1
        return 0

    def prune(ledger: Any) -> int:
        ledger.flush()
        ledger._connection.set_progress_handler(count, 1)
        assert ledger.prune(NOW + 1, 10) == 1
        ledger._connection.set_progress_handler(None, 1)
        return n_rows(ledger)

    def n_rows(ledger: Any) -> int:
        """The rows with counts of the log."""
        return int(ledger._connection.execute("SELECT count(*) FROM counts").fetchone()[0])

    assert await store.do(prune) == 2 * n_others, "only the rows of the display that left the log are deleted"
    assert await store.do(lambda ledger: ledger.prune(NOW + 1001, n_others)) == n_others
    assert await store.do(n_rows) == 0
    await store.close()
    assert verify(path).differences == []
    return steps


def test_pruning_takes_as_long_on_a_page_with_a_large_log(tmp_path: Path) -> None:
    """A scan of the counts would take 4,000 instructions or more."""
    few, many = (asyncio.run(steps_of_a_prune(tmp_path / f"{number}.db", number)) for number in (20, 1_000))
    assert many - few < 1_000
