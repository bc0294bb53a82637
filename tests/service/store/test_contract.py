"""The contract of every store. Add a new store to STORES."""

import asyncio
import contextlib
import sqlite3
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest

from slotwise.checks import BadInput, Floats
from slotwise.service.errors import NotFound, ServiceError, StaleVersion, StoreDown
from slotwise.service.keys.api_keys import ApiKey, revoked
from slotwise.service.maintenance.verify import verify
from slotwise.service.pages.page_definition import NO_PAGE, ItemSpec, PageSpec
from slotwise.service.preconditions import Precondition
from slotwise.service.registers import Counting, EventKind, Registers
from slotwise.service.store.interface import Store, StoreCallbacks
from slotwise.service.store.ledger import Ledger
from slotwise.service.store.postgres.postgres_store import PostgresStore
from slotwise.service.store.records import Display, DisplayEntry, Event
from slotwise.service.store.sqlite.sqlite_schema import MIGRATIONS
from slotwise.service.store.sqlite.sqlite_store import SqliteStore, path_of

STORES: dict[str, Callable[[str], Store]] = {
    "sqlite": lambda address: SqliteStore(path_of(address)),
    "postgres": PostgresStore,
}
BODY = NO_PAGE.with_spec(PageSpec(positions=["hero", "left"]))
NOW = 1000.0
Scenario = Callable[[Store], Awaitable[None]]


async def import_counts(
    store: Store, page: int, cells: Floats, displays: float, expected: Precondition | None = None
) -> None:
    number = await store.do(lambda ledger: ledger.begin_import())
    await store.do(lambda ledger: ledger.stage_counts(number, cells))
    await store.do(lambda ledger: ledger.import_counts(page, number, displays, expected))


@pytest.fixture(params=sorted(STORES))
def run(request: pytest.FixtureRequest, tmp_path: Path) -> Callable[..., None]:
    """Run scenarios on a store that is closed and reopened between them."""
    address = f"sqlite:///{tmp_path}/store.db"
    if request.param == "postgres":
        address = request.getfixturevalue("postgres").database()

    def run_all(*scenarios: Scenario) -> None:
        async def one_after_another() -> None:
            for scenario in scenarios:
                store = STORES[request.param](address)
                try:
                    await scenario(store)
                finally:
                    await store.close()

        asyncio.run(one_after_another())

    return run_all


def display(id: str = "d", counting: Counting = Counting.ISSUED, epoch: int = 0, **fields: Any) -> Display:
    entries = [DisplayEntry("hero", 0, 0, "learnt"), DisplayEntry("left", 1, 1, "learnt")]
    registers = Registers(2, counting)
    times = {"issued": NOW, "until": NOW + 100, "drop_after": NOW + 200} | fields
    return Display(id, 7, 1, "default", 0, **times, variant="learnt", epoch=epoch, registers=registers, entries=entries)


async def defined(store: Store) -> None:
    await store.do(lambda ledger: ledger.save_page("shop", BODY, None, NOW))
    await store.do(lambda ledger: ledger.save_items(1, [("hat", ItemSpec()), ("tie", ItemSpec())]))


def click(position: str = "hero", id: str | None = None, nonce: int | None = None, page: int | None = None) -> Event:
    return Event(EventKind.CLICK, "d", nonce, page, position, id)


async def statuses(store: Store, *events: Event, now: float = NOW) -> list[str]:
    recorded = await store.do(lambda ledger: ledger.record_events(list(events), now))
    return [outcome.status for outcome in recorded.outcomes]


async def cells(store: Store) -> dict[tuple[int, int], tuple[float, float]]:
    counts = await store.do(lambda ledger: ledger.counts(1))
    return {(cell.item, cell.column): (cell.clicks, cell.skips) for cell in counts.cells if cell.clicks or cell.skips}


def test_pages_and_items_survive_a_restart(run: Callable[..., None]) -> None:
    async def again(store: Store) -> None:
        page = await store.do(lambda ledger: ledger.page("shop"))
        assert page is not None
        assert (page.number, page.version, page.body) == (1, 1, BODY)
        assert await store.do(lambda ledger: ledger.items(1)) == [("hat", ItemSpec()), ("tie", ItemSpec())]
        rows = [("tie", ItemSpec(state="paused")), ("bag", ItemSpec())]
        assert await store.do(lambda ledger: ledger.save_items(1, rows)) == [(1, False), (2, True)]
        full = [("sock", ItemSpec()), ("bag", ItemSpec(state="paused")), ("hat", ItemSpec())]
        assert await store.do(lambda ledger: ledger.save_items(1, full, 3)) == [None, (2, False), (0, False)]
        kept = [("hat", ItemSpec()), ("tie", ItemSpec(state="paused")), ("bag", ItemSpec(state="paused"))]
        assert await store.do(lambda ledger: ledger.items(1)) == kept
        assert await store.read(lambda ledger: ledger.page_names()) == ["shop"]
        assert await store.do(lambda ledger: ledger.page("other")) is None

    run(defined, again)


def test_every_change_of_an_item_has_a_version_of_its_own(run: Callable[..., None]) -> None:
    async def version(store: Store, *specs: ItemSpec, item: str = "tie") -> int:
        if specs:
            await store.do(lambda ledger: ledger.save_items(1, [(item, spec) for spec in specs]))
        kept = await store.read(lambda ledger: ledger.item(1, item))
        assert kept is not None
        assert (kept.number, kept.name) == (["hat", "tie"].index(item), item)
        assert not specs or kept.spec == specs[-1]
        return kept.version

    async def first(store: Store) -> None:
        await defined(store)
        assert await version(store) == 1
        assert await version(store, ItemSpec("paused")) == 2
        assert await version(store, ItemSpec("paused")) == 2, "nothing changed"
        assert await version(store, ItemSpec()) == 3, "not 1: the definition is the first one, but was changed"

    async def second(store: Store) -> None:
        assert await version(store) == 3
        assert await version(store, ItemSpec("paused"), ItemSpec()) == 5
        assert await version(store, item="hat") == 1
        assert await store.read(lambda ledger: ledger.item(1, "sock")) is None
        assert await store.read(lambda ledger: ledger.item(2, "tie")) is None

    run(first, second)


def test_a_stale_version_is_rejected_and_the_rest_of_the_group_is_committed(run: Callable[..., None]) -> None:
    async def scenario(store: Store) -> None:
        await defined(store)
        stale = store.do(lambda ledger: ledger.save_page("shop", BODY, 9, NOW))
        good = store.do(lambda ledger: ledger.save_page("other", BODY, None, NOW))
        with pytest.raises(StaleVersion):
            await stale
        assert (await good).name == "other"

    run(scenario)


def test_a_display_counts_once_issued_and_later_events_find_it(run: Callable[..., None]) -> None:
    async def first(store: Store) -> None:
        await defined(store)
        store.add(display())
        assert await statuses(store, click()) == ["accepted"]

    async def second(store: Store) -> None:
        assert await cells(store) == {(0, 0): (1, 0), (1, 1): (0, 1)}
        assert await statuses(store, click(), click("left")) == ["duplicate", "accepted"]
        peeked = await store.find("d")
        assert peeked is not None
        assert (peeked.nonce, peeked.entries, peeked.registers.clicked) == (7, display().entries, 3)

    run(first, second)


@pytest.mark.parametrize(
    ("event", "now", "status"),
    [
        (click(), NOW + 101, "late"),
        (click("nowhere"), NOW, "rejected"),
        (click(nonce=8), NOW, "unknown"),
        (click(nonce=7, page=2), NOW, "rejected"),
        (click(nonce=7, page=1), NOW, "accepted"),
        (Event(EventKind.DISCARD, "d", None, None, None, None), NOW + 101, "accepted"),
        (Event(EventKind.CLICK, "e", None, None, "hero", None), NOW, "unknown"),
    ],
)
def test_the_status_of_an_event(run: Callable[..., None], event: Event, now: float, status: str) -> None:
    async def scenario(store: Store) -> None:
        await defined(store)
        store.add(display())
        assert await statuses(store, event, now=now) == [status]

    run(scenario)


def test_an_event_id_identifies_one_event(run: Callable[..., None]) -> None:
    async def scenario(store: Store) -> None:
        await defined(store)
        store.add(display())
        events = [click(id="e"), click(id="e"), click("left", id="e")]
        assert await statuses(store, *events) == ["accepted", "duplicate", "conflict"]
        assert await statuses(store, click("left", id="e")) == ["conflict"]

    run(scenario)


def test_fading_pruning_and_import_are_snapshots(run: Callable[..., None]) -> None:
    async def fade(store: Store) -> None:
        await defined(store)
        store.add(display())
        await statuses(store, click())
        await store.do(lambda ledger: ledger.begin_epoch(1, 8, NOW))
        store.add(display("new", epoch=8))
        assert await cells(store) == {(0, 0): (0.5, 1), (1, 1): (0, 1.5)}

    async def prune(store: Store) -> None:
        assert await store.do(lambda ledger: ledger.prune(NOW + 201, 1)) == 1
        assert await store.do(lambda ledger: ledger.prune(NOW + 201, 10)) == 1
        assert await cells(store) == {(0, 0): (0.5, 1), (1, 1): (0, 1.5)}
        assert await statuses(store, click("left")) == ["unknown"]

    async def take(store: Store) -> None:
        store.add(display("before", epoch=8))
        imported = np.array([[1, 0, 0, 2.0, 3.0]])
        revision = (await store.do(lambda ledger: ledger.counts(1))).revision
        with pytest.raises(StaleVersion):
            await import_counts(store, 1, imported, 5.0, Precondition.exactly(revision - 1))
        await import_counts(store, 1, imported, 5.0, Precondition.exactly(revision))
        store.add(display("after", epoch=8))
        assert await cells(store) == {(1, 0): (2, 3), (0, 0): (0, 1), (1, 1): (0, 1)}
        assert (await store.do(lambda ledger: ledger.counts(1))).displays == 6.0

    async def remove(store: Store) -> None:
        """The snapshot that was replaced, and the one that was refused, are deleted. Nothing else changes."""
        before = await cells(store)
        await store.do(lambda ledger: ledger.abandon_imports())
        unused = await store.do(lambda ledger: ledger.unused_snapshots())
        assert len(unused) == 2
        for number in unused:
            while await store.do(lambda ledger, number=number: ledger.remove_snapshot(number)):  # type: ignore[misc]
                pass
        assert await store.do(lambda ledger: ledger.unused_snapshots()) == []
        assert await cells(store) == before
        await store.do(lambda ledger: ledger.begin_epoch(1, 16, NOW))
        assert await store.do(lambda ledger: ledger.prune(NOW + 201, 10)) == 2
        assert await cells(store) == {(1, 0): (1, 1.5), (0, 0): (0, 0.5), (1, 1): (0, 0.5)}

    run(fade, prune, take, remove)


def test_a_display_from_before_an_import_changes_rates_and_not_counts(run: Callable[..., None]) -> None:
    """Neither do a discard and a click that is discarded, whether or not the store was restarted meanwhile."""
    kept = {(1, 0): (2, 3)}

    async def rates(store: Store) -> tuple[float, ...]:
        hours = await store.do(lambda ledger: ledger.rates(1))
        return tuple(sum(getattr(hour, name) for hour in hours) for name in ("displays", "shown", "clicks"))

    async def take(store: Store) -> None:
        await defined(store)
        store.add(display())
        assert await rates(store) == (1, 2, 0)
        await import_counts(store, 1, np.array([[1, 0, 0, 2.0, 3.0]]), 5.0, None)
        assert await statuses(store, click()) == ["accepted"]
        assert (await cells(store), await rates(store)) == (kept, (1, 2, 1))

    async def go_on(store: Store) -> None:
        assert await statuses(store, click(), click("left")) == ["duplicate", "accepted"]
        assert (await cells(store), await rates(store)) == (kept, (1, 2, 2))
        assert await statuses(store, Event(EventKind.DISCARD, "d", None, None, None, None)) == ["accepted"]
        assert (await cells(store), await rates(store)) == (kept, (0, 0, 0))
        assert (await store.do(lambda ledger: ledger.counts(1))).displays == 5.0
        assert await store.do(lambda ledger: ledger.prune(NOW + 201, 10)) == 1
        assert (await cells(store), await rates(store)) == (kept, (0, 0, 0))

    run(take, go_on)


def test_a_failing_write_is_reported_and_the_store_recovers(tmp_path: Path) -> None:
    """For SQLite only: `max_page_count` gives the errors of a full disk."""
    states = []

    async def scenario() -> None:
        callbacks = StoreCallbacks(failed=lambda: states.append("down"), recovered=lambda: states.append("up"))
        store = SqliteStore(tmp_path / "store.db", callbacks)
        await defined(store)
        await store.do(_limit_pages(1))
        for k in range(500):
            store.add(display(f"d{k}"))
        with pytest.raises(StoreDown):
            await statuses(store, click())
        assert states[0] == "down"  # a test write needs no new page, so the store may be up again
        await store.do(_limit_pages(1_000_000))
        assert states == ["down", "up"]
        assert await statuses(store, Event(EventKind.CLICK, "d1", None, None, "hero", None)) == ["unknown"]
        assert await cells(store) == {}
        store.add(display("d1"))
        assert await cells(store) == {(0, 0): (0, 1), (1, 1): (0, 1)}
        await store.close()

    asyncio.run(scenario())


def _limit_pages(pages: int) -> Callable[[Ledger], None]:
    def operation(ledger: Any) -> None:
        ledger._run(f"PRAGMA max_page_count = {pages}")

    return operation


@pytest.mark.skipif(not Path("/proc/self").exists(), reason="needs a folder that cannot be written")
def test_a_read_only_folder_is_rejected() -> None:
    with pytest.raises(BadInput, match="cannot open the store"):
        SqliteStore(Path("/proc/store.db"))


def test_an_older_store_is_migrated_step_by_step(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def first() -> None:
        store = SqliteStore(tmp_path / "store.db")
        await defined(store)
        await store.close()

    async def second() -> None:
        store = SqliteStore(tmp_path / "store.db")
        assert await store.do(lambda ledger: ledger._run("SELECT * FROM added").fetchall()) == [(1,)]  # type: ignore[attr-defined]
        assert await store.do(lambda ledger: ledger.page_names()) == ["shop"]
        await store.close()

    asyncio.run(first())
    steps = ["CREATE TABLE added (n INTEGER); INSERT INTO added VALUES (0);", "UPDATE added SET n = n + 1;"]
    monkeypatch.setattr("slotwise.service.store.sqlite.sqlite_schema.MIGRATIONS", [*MIGRATIONS, *steps])
    asyncio.run(second())
    asyncio.run(second())


def test_a_newer_store_is_rejected(tmp_path: Path) -> None:
    async def scenario() -> None:
        store = SqliteStore(tmp_path / "store.db")
        await store.do(lambda ledger: ledger._run("PRAGMA user_version = 99"))  # type: ignore[attr-defined]
        await store.close()
        with pytest.raises(BadInput, match="version 99"):
            SqliteStore(tmp_path / "store.db")

    asyncio.run(scenario())


def test_a_file_that_is_not_a_store_is_rejected(tmp_path: Path) -> None:
    (tmp_path / "store.db").write_bytes(b"not a database, by far" * 100)

    async def scenario() -> None:
        with pytest.raises(BadInput, match="cannot open the store"):
            SqliteStore(tmp_path / "store.db")

    asyncio.run(scenario())


@pytest.mark.parametrize("refusal", [StaleVersion(), NotFound("no such page"), BadInput("not a number")])
def test_a_domain_error_reaches_the_caller_and_is_not_a_store_failure(
    tmp_path: Path, refusal: ServiceError | BadInput
) -> None:
    failures: list[str] = []

    def refuse(_: Ledger) -> None:
        raise refusal

    async def scenario() -> None:
        store = SqliteStore(tmp_path / "store.db", StoreCallbacks(failed=lambda: failures.append("down")))
        with pytest.raises(type(refusal)) as caught:
            await store.do(refuse)
        assert caught.value is refusal
        with pytest.raises(StoreDown) as failed:
            await store.do(lambda ledger: ledger._run("SELECT * FROM nothing"))  # type: ignore[attr-defined]
        assert isinstance(failed.value.__cause__, sqlite3.OperationalError)
        assert failures == ["down"], "only the second operation is a failure of the store"
        await store.close()

    asyncio.run(scenario())


def test_a_failing_operation_does_not_affect_the_others(run: Callable[..., None]) -> None:
    async def scenario(store: Store) -> None:
        await defined(store)
        store.add(display())
        first = store.do(lambda ledger: ledger.record_events([click()], NOW))
        broken = store.do(lambda _: 1 // 0)
        second = store.do(lambda ledger: ledger.record_events([click("left")], NOW))
        with pytest.raises(ZeroDivisionError):
            await broken
        assert [(await clicked).outcomes[0].status for clicked in (first, second)] == ["accepted", "accepted"]
        assert await cells(store) == {(0, 0): (1.0, 0.0), (1, 1): (1.0, 0.0)}

    run(scenario)


def test_an_id_belongs_to_its_first_display(run: Callable[..., None]) -> None:
    async def scenario(store: Store) -> None:
        await defined(store)
        store.add(display())
        store.add(display(issued=NOW + 1.0))
        store.add(display("other"))
        assert await statuses(store, click()) == ["accepted"]
        kept = await store.do(lambda ledger: ledger.display("d"))
        assert kept is not None
        assert kept.issued == NOW
        assert await cells(store) == {(0, 0): (1.0, 1.0), (1, 1): (0.0, 2.0)}

    run(scenario)


def view(id: str | None = None) -> Event:
    return Event(EventKind.VIEW, "d", None, None, None, id)


def test_the_id_of_a_duplicate_or_late_event_identifies_it_too(run: Callable[..., None]) -> None:
    async def first(store: Store) -> None:
        await defined(store)
        store.add(display())
        store.add(display("other"))
        assert await statuses(store, click(), click(id="again")) == ["accepted", "duplicate"]
        assert await statuses(store, click("left", id="late"), now=NOW + 101) == ["late"]

    async def second(store: Store) -> None:
        elsewhere = Event(EventKind.CLICK, "other", None, None, "hero", "again")
        for reused in (click("left", id="again"), view("again"), elsewhere, click(id="late"), view("late")):
            assert await statuses(store, reused) == ["conflict"]
        assert await statuses(store, click(id="again")) == ["duplicate"]
        assert await statuses(store, click("left", id="late"), now=NOW + 101) == ["late"]
        assert await statuses(store, click("left", id="late")) == [
            "accepted"
        ]  # the clock was set back: the click is no longer late
        assert await statuses(store, click("left", id="late")) == ["duplicate"]
        assert await cells(store) == {(0, 0): (1, 1), (1, 1): (1, 1)}

    run(first, second)


def test_a_batch_may_mix_new_events_with_some_that_are_in_the_log_as_late(tmp_path: Path) -> None:
    async def scenario() -> None:
        store = SqliteStore(tmp_path / "store.db")
        await defined(store)
        store.add(display())
        store.add(display("other"))
        assert await statuses(store, click("left"), now=NOW + 101) == ["late"]
        other = Event(EventKind.CLICK, "other", None, None, "hero", None)
        assert await statuses(store, other, click("left"), click("left"), now=NOW + 101) == ["late"] * 3
        assert await statuses(store, click(), click("left"), other) == ["accepted"] * 3  # the clock was set back
        assert await cells(store) == {(0, 0): (2, 0), (1, 1): (1, 1)}
        await store.close()

    asyncio.run(scenario())
    assert verify(tmp_path / "store.db").differences == []


def test_an_id_can_be_reused_after_its_display_is_dropped(run: Callable[..., None]) -> None:
    async def scenario(store: Store) -> None:
        await defined(store)
        store.add(display())
        store.add(display("other", drop_after=NOW + 999))
        assert await statuses(store, click(), click(id="e")) == ["accepted", "duplicate"]
        assert await store.do(lambda ledger: ledger.prune(NOW + 201, 10)) == 1
        assert await statuses(store, Event(EventKind.CLICK, "other", None, None, "hero", "e")) == ["accepted"]

    run(scenario)


@pytest.mark.parametrize("at_once", [False, True])
def test_too_many_ids_are_rejected_and_nothing_else_is(run: Callable[..., None], at_once: bool) -> None:
    """A display of two entries has four possible events, each with at most four ids. Accepted events always count."""

    async def scenario(store: Store) -> None:
        await defined(store)
        store.add(display())
        store.add(display("other"))
        events = [click(id=f"e{k}") for k in range(40)] + [
            click(id="e3"),
            click(id="e39"),
            click(),
            click("left", id="l"),
        ]
        events += [view("v"), view("w"), Event(EventKind.CLICK, "other", None, None, "hero", "e39"), click(id="e39")]
        wanted = (
            ["accepted"] + ["duplicate"] * 15 + ["rejected"] * 24 + ["duplicate", "rejected", "duplicate", "accepted"]
        )
        wanted += ["accepted", "rejected", "accepted", "conflict"]
        if at_once:
            assert await statuses(store, *events) == wanted
        else:
            assert [(await statuses(store, event))[0] for event in events] == wanted
        recorded = await store.do(lambda ledger: ledger.record_events([view("w")], NOW))
        assert "too many event ids" in recorded.outcomes[0].detail
        assert await cells(store) == {(0, 0): (2, 0), (1, 1): (1, 1)}

    run(scenario)


def test_a_database_of_another_program_is_rejected_and_not_changed(tmp_path: Path) -> None:
    path = tmp_path / "other.db"
    with contextlib.closing(sqlite3.connect(path)) as other, other:
        other.execute("CREATE TABLE pages (title TEXT)")
    before = path.read_bytes()

    async def scenario() -> None:
        with pytest.raises(BadInput, match="not a slotwise store"):
            SqliteStore(path)

    asyncio.run(scenario())
    with pytest.raises(BadInput, match="not a slotwise store"):
        verify(path)
    assert path.read_bytes() == before
    assert not Path(f"{path}-wal").exists()


def test_keys_survive_a_restart_with_every_field(run: Callable[..., None]) -> None:
    full = ApiKey("k1", b"\x00\xff" * 16, "web", ("browser",), ("shop",), ("https://shop.example",), 5.5, NOW, NOW + 9)
    plain = ApiKey("k0", b"\x01" * 32, "job", ("serve", "feedback"), None, (), None, NOW + 1)

    async def save(store: Store) -> None:
        assert await store.read(lambda ledger: (ledger.keys_version(), ledger.keys())) == (0, [])
        for key in (plain, full):
            await store.do(lambda ledger, key=key: ledger.save_key(key))

    async def change(store: Store) -> None:
        assert await store.read(lambda ledger: (ledger.keys_version(), ledger.keys())) == (2, [full, plain])
        await store.do(lambda ledger: ledger.save_key(revoked(plain, NOW + 5)))
        await store.do(lambda ledger: ledger.mark_keys_used([("k1", 7200.0), ("gone", 1.0)]))
        await store.do(lambda ledger: ledger.mark_keys_used([("k1", 3600.0)]))

    async def compare(store: Store) -> None:
        version, first, second = await store.read(
            lambda ledger: (ledger.keys_version(), ledger.key("k1"), ledger.key("k0"))
        )
        assert version == 3  # marking a key as used is no change
        assert first is not None
        assert second is not None
        assert (first.last_used, first.revoked, second.last_used, second.revoked) == (7200.0, None, None, NOW + 5)
        assert await store.read(lambda ledger: ledger.key("gone")) is None

    run(save, change, compare)


def test_the_pages_of_a_template_come_by_displays_and_archived_ones_not_at_all(run: Callable[..., None]) -> None:
    body = NO_PAGE.with_spec(PageSpec(positions=["hero", "left"], template="grid"))

    async def define(store: Store) -> None:
        await defined(store)
        for name in ("few", "many", "archived"):
            await store.do(lambda ledger, name=name: ledger.save_page(name, body, None, NOW))  # type: ignore[misc]
        await import_counts(store, 3, np.empty((0, 5)), 50.0)
        for number, id in enumerate("abc"):
            store.add(msgspec.structs.replace(display(id), page=2 if number else 3))
        await store.do(lambda ledger: ledger.save_page("archived", body, 1, NOW, archived=True))
        await store.do(lambda ledger: ledger.begin_epoch(3, 8, NOW))

    async def check(store: Store) -> None:
        pages = await store.read(lambda ledger: ledger.template_pages("grid"))
        assert [(page.name, displays) for page, displays in pages] == [("many", pytest.approx(25.5)), ("few", 2.0)]
        assert await asyncio.to_thread(store.read_here, lambda ledger: ledger.template_pages("other")) == []
        other = await store.read(lambda ledger: ledger.template_page("grid", other_than="few"))
        assert other is not None
        assert other.name == "many"

    run(define, check)


def test_a_reader_sees_what_was_added_before_it_and_nothing_later(run: Callable[..., None]) -> None:
    """The data do not change while it reads, commits do not wait for it, and it opens in the order of the commits."""

    async def scenario(store: Store) -> None:
        await defined(store)
        delivered: list[str] = []
        shown = {"before": "hero", "after": "left"}
        clicks = [Event(EventKind.CLICK, id, None, None, position, None) for id, position in shown.items()]
        store.add(display("before"))
        first = store.do(lambda ledger: ledger.record_events([clicks[0]], NOW))
        opening = store.begin_read()
        store.add(display("after"))
        second = store.do(lambda ledger: ledger.record_events([clicks[1]], NOW))
        for name, future in (("first", first), ("reader", opening), ("second", second)):
            future.add_done_callback(lambda _, name=name: delivered.append(name))  # type: ignore[misc]
        reader = await opening
        await second
        await asyncio.sleep(0)  # a future that is done calls its callbacks in the next iteration of the loop
        assert delivered == ["first", "reader", "second"]
        assert [outcome.status for outcome in (await second).outcomes] == ["accepted"]
        seen = await asyncio.to_thread(reader.read, lambda ledger: ledger.counts(1))
        assert {cell[2:] for cell in seen.cells} == {(0, 1.0, 0.0), (1, 0.0, 1.0)}
        assert await cells(store) == {(0, 0): (1.0, 1.0), (1, 1): (1.0, 1.0)}
        unused, cancelled = await store.begin_read(), store.begin_read()
        unused.close()
        cancelled.cancel()
        store.add(display("last"))
        assert await store.do(lambda ledger: ledger.display("last")) is not None

    run(scenario)
