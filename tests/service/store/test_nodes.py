"""Several nodes over one PostgreSQL database: they show, count and forget the same."""

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator
from typing import Any
from urllib.parse import parse_qs, urlsplit

import numpy as np
import psycopg
import pytest

from slotwise.service.errors import NotFound, StoreDown
from slotwise.service.maintenance.verify import verify
from slotwise.service.pages.page_definition import NO_PAGE, ItemSpec, PageBody, PageSpec
from slotwise.service.pages.recommendation_request import RecommendationRequest
from slotwise.service.registers import EventKind
from slotwise.service.service import Service, running
from slotwise.service.store.ledger import Ledger
from slotwise.service.store.postgres.postgres_ledger import ENDED_SECONDS, JOURNAL_SECONDS
from slotwise.service.store.postgres.postgres_store import MOST_READERS, PostgresStore
from slotwise.service.store.postgres.postgres_transactions import PostgresTransactions
from slotwise.service.store.records import CellCounts, Display, Event
from tests.postgres_server import PostgresServer
from tests.tcp_proxy import Fault, TcpProxy
from tests.waiting import HANG

BODY = NO_PAGE.with_spec(PageSpec(positions=["hero", "left"]))
ANY = RecommendationRequest()
TRANSACTIONS = "slotwise.service.store.postgres.postgres_transactions.PostgresTransactions"


@contextlib.asynccontextmanager
async def nodes(*addresses: str) -> AsyncIterator[list[Service]]:
    async with contextlib.AsyncExitStack() as stack:
        started = [await stack.enter_async_context(running(address)) for address in addresses]
        for node in started:
            await asyncio.wait_for(node.compiled.wait(), HANG)
        yield started


async def define(node: Service, page: str = "shop", body: PageBody = BODY) -> None:
    await node.save_page(page, lambda _: body, None)
    await node.save_items(await node.model(page), [(name, ItemSpec()) for name in ("hat", "tie", "bag")])


async def until(condition: Callable[[], Awaitable[bool]]) -> None:
    deadline = time.monotonic() + HANG
    while not await condition():
        assert time.monotonic() < deadline, "the nodes do not agree"
        await asyncio.sleep(0.05)


def click(shown: Display, position: str = "hero", id: str | None = None) -> Event:
    return Event(EventKind.CLICK, shown.id, shown.nonce, None, position, id)


async def statuses(node: Service, *events: Event) -> list[str]:
    return [outcome.status for outcome in (await node.record_events(list(events))).outcomes]


async def in_memory(node: Service, page: str = "shop") -> tuple[Any, float]:
    model = await node.model(page)
    counts = model.counts()
    return rounded(model.cells()), round(counts.displays, 9)


async def in_store(node: Service, page: str = "shop") -> tuple[Any, float]:
    model = await node.model(page)
    counts = await node.store.read(lambda ledger: ledger.counts(model.page.number))
    return rounded(counts.cells), round(counts.displays, 9)


def rounded(cells: Iterable[CellCounts]) -> list[CellCounts]:
    """Cells that are not zero. Sums that fade are added up in another order in memory than in the store."""
    found = [cell._replace(clicks=round(cell.clicks, 9), skips=round(cell.skips, 9)) for cell in cells]
    return sorted(cell for cell in found if cell.clicks or cell.skips)


async def agree(*all_nodes: Service) -> None:
    """Wait until every node has in memory what the store has."""

    async def same() -> bool:
        wanted = await in_store(all_nodes[0])
        return all([await in_memory(node) == wanted for node in all_nodes])

    await until(same)


def test_nodes_share_definitions_displays_and_counts(postgres: PostgresServer) -> None:
    address = postgres.database()

    async def scenario() -> None:
        async with nodes(address, address, address) as (first, second, third):
            await define(first)
            await until(lambda: has_items(second, 3))
            assert await has_items(third, 3)
            shown = [(await node.recommend("shop", ANY)).display for node in (first, second, third) * 20]
            found = [await statuses((second, third, first)[k % 3], click(one)) for k, one in enumerate(shown)]
            assert found == [["accepted"]] * 60
            assert await statuses(first, *map(click, shown)) == ["duplicate"] * 60
            await agree(first, second, third)
            cells, displays = await in_memory(third)
            assert (displays, sum(cell.clicks for cell in cells), sum(cell.skips for cell in cells)) == (60, 60, 60)
            await second.change_item(await second.model("shop"), "hat", lambda _: ItemSpec("paused"), None)
            await second.save_items(await second.model("shop"), [("new", ItemSpec())])
            await until(lambda: has_items(first, 4))
            assert (await first.model("shop")).specs[0].state == "paused"
            await third.import_counts(await third.model("shop"), np.array([[1, 0, 0, 2.0, 3.0]]), 5.0, None)
            await agree(first, second, third)
            assert (await in_memory(first))[1] == 5.0
            assert await statuses(first, click(shown[0], "left")) == ["accepted"], "it changes the rates only"
            await agree(first, second, third)
            await first.purge_page("shop", None)
            await until(lambda: is_gone(third))

    asyncio.run(scenario())
    assert verify(address).differences == []


async def has_items(node: Service, number: int) -> bool:
    with contextlib.suppress(NotFound):
        return len((await node.model("shop")).names) == number
    return False


async def is_gone(node: Service) -> bool:
    try:
        await node.model("shop")
    except NotFound:
        return True
    return False


def test_an_id_gives_the_same_display_on_every_node(postgres: PostgresServer) -> None:
    """1,000 ids, each asked for on two nodes at the same moment. The display is one of four."""
    address = postgres.database()

    async def scenario() -> None:
        async with nodes(address, address) as both:
            await define(both[0])
            await until(lambda: has_items(both[1], 3))
            for first in range(0, 1000, 100):
                requests = [RecommendationRequest(id=f"id-{k}") for k in range(first, first + 100)]
                asked = [node.recommend("shop", request) for request in requests for node in both]
                shown = [issued.display for issued in await asyncio.gather(*asked)]
                for one, other in zip(shown[::2], shown[1::2], strict=True):
                    assert (one.id, one.nonce, one.entries) == (other.id, other.nonce, other.entries)
            await agree(*both)
            assert (await in_memory(both[0]))[1] == 1000.0

    asyncio.run(scenario())
    assert verify(address).differences == []


def test_an_event_that_two_nodes_get_counts_once(postgres: PostgresServer) -> None:
    address = postgres.database()

    async def scenario() -> None:
        async with nodes(address, address) as both:
            await define(both[0])
            await until(lambda: has_items(both[1], 3))
            shown = [(await both[0].recommend("shop", ANY)).display for _ in range(100)]
            await both[0].store.do(lambda ledger: ledger.page_names())  # after the displays are committed
            sent = [statuses(node, click(one, id=f"event-{one.id}")) for one in shown for node in both]
            found = [status for (status,) in await asyncio.gather(*sent)]
            assert [sorted(pair) for pair in zip(found[::2], found[1::2], strict=True)] == [
                ["accepted", "duplicate"]
            ] * 100
            await agree(*both)

    asyncio.run(scenario())
    assert verify(address).differences == []


# nodes that are late, or have ended


@pytest.fixture
def no_polling(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nodes read what others have committed only with groups of their own."""
    monkeypatch.setattr(
        "slotwise.service.store.postgres.postgres_transactions.PostgresTransactions.refresh_seconds", HANG
    )


async def commit(node: Service) -> None:
    """Commit a group, so that the node follows the others."""
    await node.store.do(lambda ledger: ledger.page_names())


@pytest.mark.usefixtures("no_polling")
def test_a_node_that_reads_an_event_before_its_display_loses_no_count(postgres: PostgresServer) -> None:
    """The first node discards what the second has shown. The third reads both at once."""
    address = postgres.database()

    async def scenario() -> None:
        async with nodes(address, address, address) as (first, second, third):
            await define(first)
            for node in (second, third):
                await commit(node)
                assert await has_items(node, 3)
            shown = [(await second.recommend("shop", ANY)).display for _ in range(10)]
            await commit(second)
            discards = [Event(EventKind.DISCARD, one.id, one.nonce, None, None, None) for one in shown[:9]]
            assert await statuses(first, *discards, click(shown[9])) == ["accepted"] * 10
            await commit(third)
            assert await in_memory(third) == await in_store(third)
            cells, displays = await in_memory(third)
            assert (displays, sum(cell.clicks for cell in cells), sum(cell.skips for cell in cells)) == (1, 1, 1)

    asyncio.run(scenario())
    assert verify(address).differences == []


def test_rows_of_a_node_that_has_ended_are_folded(postgres: PostgresServer) -> None:
    """The counts, rates and revision of the page stay the same, and rows that cancel out are deleted."""
    address = postgres.database()

    async def contents(node: Service) -> tuple[Any, ...]:
        def read(ledger: Ledger) -> tuple[Any, ...]:
            rates = sorted(ledger.rates(1)), sorted(ledger.daily_rates(1, 1))
            return sorted(ledger.counts(1).cells), ledger.counts(1).displays, ledger.counts(1).revision, rates

        cells, *others = await node.store.read(read)
        return [cell for cell in cells if cell.clicks or cell.skips], *others

    async def scenario() -> None:
        async with nodes(address) as (first,):
            await define(first)
            async with nodes(address) as (second,):
                assert await has_items(second, 3)
                shown = [
                    (await second.recommend("shop", RecommendationRequest(unit=f"{k}"))).display for k in range(20)
                ]
                await commit(second)
                discards = [Event(EventKind.DISCARD, one.id, one.nonce, None, None, None) for one in shown[:10]]
                assert await statuses(first, *discards, *map(click, shown[10:])) == ["accepted"] * 20
            await agree(first)
            before = await contents(first)
            assert rows_of(address, 2) == {"node_counts", "node_epochs", "node_rates", "node_daily_rates"}
            assert await first.store.do(lambda ledger: ledger.fold_nodes(first.store.clock(), 10)) == 0, (
                "it has just ended"
            )
            later = first.store.clock() + 2 * ENDED_SECONDS
            assert await first.store.do(lambda ledger: ledger.fold_nodes(later, 10)) == 1
            assert rows_of(address, 2) == rows_of(address, 1) == set()
            assert await contents(first) == before
            assert await statuses(first, *map(click, shown[10:])) == ["duplicate"] * 10
            assert await statuses(first, click(shown[10], "left")) == ["accepted"]
            await agree(first)

    asyncio.run(scenario())
    assert verify(address).differences == []


def rows_of(address: str, node: int) -> set[str]:
    """The tables that have rows of a node."""
    tables = ("node_counts", "node_epochs", "node_rates", "node_daily_rates")
    with psycopg.connect(address) as connection:
        found = "SELECT EXISTS (SELECT FROM {} WHERE node = %s)"
        return {table for table in tables if connection.execute(found.format(table), (node,)).fetchone() == (True,)}  # type: ignore[call-overload]


@pytest.mark.usefixtures("no_polling")
@pytest.mark.parametrize("forgotten", [False, True], ids=["after an hour", "after a month"])
def test_a_node_returns_after_a_long_time(
    postgres: PostgresServer, forgotten: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Meanwhile an epoch has begun, its rows are folded, and the journal is pruned. After a month, its id is gone."""
    address = postgres.database()

    async def scenario() -> None:
        async with nodes(address, address) as (first, late):
            await define(first)
            await commit(late)
            shown = [(await late.recommend("shop", ANY)).display for _ in range(10)]
            assert await statuses(late, click(shown[0])) == ["accepted"]
            later = first.store.clock() + 2 * ENDED_SECONDS
            await first.store.do(lambda ledger: ledger.begin_epoch(1, 1, later))
            (await first.model("shop")).begin_epoch(1, later)
            await first.store.do(lambda ledger: ledger.fold_nodes(later, 10))
            await first.store.do(lambda ledger: ledger.prune(first.store.clock() + 2 * JOURNAL_SECONDS, 0))
            before = late.store.node  # type: ignore[attr-defined]
            if forgotten:
                with psycopg.connect(address) as connection:
                    connection.execute("DELETE FROM nodes WHERE node = %s", (before,))
            monkeypatch.setattr(f"{TRANSACTIONS}.away_seconds", 0.0)
            with contextlib.suppress(StoreDown):  # its id is not known: the group fails, and the next has a new id
                assert await statuses(late, click(shown[1])) == ["accepted"]
                assert not forgotten
            await until(lambda: is_up(late))
            monkeypatch.undo()
            assert await statuses(late, click(shown[1]), click(shown[2])) == [
                "accepted" if forgotten else "duplicate",
                "accepted",
            ]
            assert (late.store.node == before) is not forgotten  # type: ignore[attr-defined]
            await commit(first)
            await agree(first, late)
            assert (await late.model("shop")).page.epoch == 1

    asyncio.run(scenario())
    assert verify(address).differences == []


# faults


def test_reads_that_take_all_connections_do_not_hold_up_events(postgres: PostgresServer) -> None:
    address = postgres.database()

    async def scenario() -> None:
        async with nodes(address) as (node,):
            await define(node)
            shown = (await node.recommend("shop", ANY)).display
            held = [await node.store.begin_read() for _ in range(MOST_READERS)]
            refused = [node.store.begin_read() for _ in range(20)]
            assert await asyncio.wait_for(statuses(node, click(shown)), HANG / 10) == ["accepted"]
            found = await asyncio.gather(*refused, return_exceptions=True)
            assert {type(error) for error in found} == {StoreDown}
            assert not node.degraded
            for reader in held:
                reader.close()
            assert (await node.store.begin_read()).read(lambda ledger: ledger.page_names()) == ["shop"]

    asyncio.run(scenario())


@pytest.fixture
def proxied(postgres: PostgresServer) -> Iterator[tuple[str, str, TcpProxy]]:
    """A database: its address, its address through a proxy, and the proxy."""
    address = postgres.database()
    parts = urlsplit(address)
    folder = parse_qs(parts.query)["host"][0]
    proxy = TcpProxy(f"{folder}/.s.PGSQL.5432")
    yield address, f"postgresql://postgres@127.0.0.1:{proxy.port}{parts.path}", proxy
    proxy.close()


@pytest.mark.parametrize("fault", Fault)
def test_a_group_is_neither_lost_nor_doubled_if_its_commit_is_cut(
    proxied: tuple[str, str, TcpProxy], fault: Fault
) -> None:
    direct, address, proxy = proxied

    async def scenario() -> None:
        async with nodes(direct, address) as (other, node):
            await define(other)
            await until(lambda: has_items(node, 3))
            for k in range(4):
                shown = (await node.recommend("shop", ANY)).display
                proxy.fault = fault
                assert await statuses(node, click(shown)) == ["accepted"]
                assert proxy.faults == k + 1
                assert await statuses(node, click(shown), click(shown, "left")) == ["duplicate", "accepted"]
            assert not node.degraded
            await agree(other, node)
            assert (await in_memory(other))[1] == 4.0

    asyncio.run(scenario())
    assert verify(direct).differences == []


def test_without_the_database_displays_come_from_memory_and_events_fail(
    proxied: tuple[str, str, TcpProxy], monkeypatch: pytest.MonkeyPatch
) -> None:
    direct, address, proxy = proxied
    monkeypatch.setattr(f"{TRANSACTIONS}.repeat_seconds", 0.3)

    async def scenario() -> None:
        async with nodes(direct, address) as (other, node):
            await define(node)
            await until(lambda: has_items(other, 3))
            before = (await node.recommend("shop", ANY)).display
            proxy.refuses = True
            proxy.cut()
            with pytest.raises(StoreDown):
                await statuses(node, click(before))
            degraded = (await node.recommend("shop", ANY)).display
            assert (degraded.degraded, before.degraded) == (True, False)
            assert isinstance(node.store, PostgresStore)
            proxy.refuses = False
            await until(lambda: is_up(node))
            assert await statuses(node, click(before), click(degraded)) == ["accepted", "unknown"]
            assert not (await node.recommend("shop", ANY)).display.degraded
            await agree(other, node)

    asyncio.run(scenario())
    assert verify(direct).differences == []


def test_while_the_database_is_away_nothing_waits_for_displays_that_are_not_committed(
    proxied: tuple[str, str, TcpProxy], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A change of a page fails, and the node does not try to connect all the time. The displays are not lost."""
    direct, address, proxy = proxied
    monkeypatch.setattr(f"{TRANSACTIONS}.repeat_seconds", 0.3)
    begin, begun = PostgresTransactions.begin, []

    def counted(*arguments: Any) -> Any:
        begun.append(arguments)
        return begin(*arguments)

    monkeypatch.setattr(PostgresTransactions, "begin", counted)

    async def scenario() -> None:
        async with nodes(address) as (node,):
            await define(node)
            proxy.refuses = True
            proxy.cut()
            shown = [(await node.recommend("shop", ANY)).display for _ in range(10)]
            failing = [node.save_page("shop", lambda _: BODY, None) for _ in range(3)]
            found = await asyncio.wait_for(asyncio.gather(*failing, return_exceptions=True), HANG / 10)
            assert {type(error) for error in found} == {StoreDown}
            assert node.degraded
            before = len(begun)
            await asyncio.sleep(2.0)
            assert len(begun) - before < 20
            proxy.refuses = False
            await until(lambda: is_up(node))
            assert await statuses(node, *map(click, shown)) == ["accepted"] * 10

    asyncio.run(scenario())
    assert verify(direct).differences == []


async def is_up(node: Service) -> bool:
    return not node.degraded
