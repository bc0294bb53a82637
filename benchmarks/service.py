"""The speed of the service, relative to a constant response of the same size from the same router and endpoint."""

import asyncio
import json
import signal
import sqlite3
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import NamedTuple

import numpy as np

from benchmarks.epoll_client import Responses, encode_request, repeat, send_requests
from benchmarks.measure import Row, report
from benchmarks.running_server import RunningServer
from slotwise.service.api.route import Call, Response, Route
from slotwise.service.http.server import serve
from slotwise.service.pages.page_definition import NO_PAGE, ItemSpec, PageSpec
from slotwise.service.pages.recommendation_request import RecommendationRequest
from slotwise.service.registers import EventKind
from slotwise.service.service import running
from slotwise.service.settings import Settings
from slotwise.service.store.records import Event, RecordedEvents
from slotwise.service.store.sqlite.sqlite_ledger import SqliteLedger

CONNECTIONS = 8
REQUESTS = 4_000  # in a turn
TURNS = 7
BATCH, BATCHES, SENDERS = 100, 200, 16  # events
PAGES = 10_000  # in memory
EVENTS = 1_000_000  # in the log before a crash
SETTLE_SECONDS = 0.3  # after a turn: the last displays are committed, and small ensembles are made
LEAST_THROUGHPUT, MOST_P99 = 0.7, 3.0  # of recommendations, relative to the constant
MOST_GROWTH = 2.0  # of the time of a recommendation, from N=50 to N=100,000
CONSTANT = b"x" * 560


async def _constant(call: Call[RecommendationRequest]) -> Response:
    return Response(201, CONSTANT)


# it takes the same path as a recommendation: same router, same validation of the body, as early in the list of routes
YARDSTICK = Route(
    "POST", "/v1/pages/{page}/constant", "constant", "A constant.", _constant, {201: ("bytes", "application/json")},
    {}, RecommendationRequest, body_optional=True, hot=True,
    needs="serve",
)  # fmt: skip


def start(store: Path) -> RunningServer:
    """A service with the constant route."""
    return RunningServer([sys.executable, "-m", "benchmarks.service", "--serve", str(store)])


@contextmanager
def served(name: str = "store.db") -> Iterator[RunningServer]:
    with tempfile.TemporaryDirectory() as folder:
        server = start(Path(folder) / name)
        try:
            yield server
        finally:
            server.end()


class Turn(NamedTuple):
    """The responses to a number of equal requests, and the server's processor time for one response, in microseconds.

    Part of the work for a response is done later, on other threads. So the next turn begins when this work has ended.
    """

    responses: Responses
    loop: float  # on the thread of the event loop
    background: float  # on all other threads

    @property
    def wall(self) -> float:
        return 1e6 / self.responses.rate

    @property
    def processor(self) -> float:
        return self.loop + self.background


def turn(server: RunningServer, request: bytes, number: int = REQUESTS) -> Turn:
    before, loop_before = server.processor_seconds(), server.loop_seconds()
    responses = send_requests(server.port, repeat(request, number), CONNECTIONS)
    loop = server.loop_seconds() - loop_before
    time.sleep(SETTLE_SECONDS)
    used = server.processor_seconds() - before
    return Turn(responses, 1e6 * loop / number, 1e6 * max(used - loop, 0.0) / number)


def median(turns: Iterable[float]) -> float:
    return float(np.median(list(turns)))


def recommending() -> list[Row]:
    """Recommendations at N=50, L=5, compared with the constant."""
    with served() as server:
        server.define("shop", 50)
        requests = {name: encode_request(f"/v1/pages/shop/{name}", b"{}") for name in ("constant", "recommendations")}
        turns: dict[str, list[Turn]] = {name: [] for name in requests}
        for k in range(TURNS + 1):
            for name, request in requests.items():
                measured = turn(server, request)
                if k:  # the first turn warms up
                    turns[name].append(measured)
    rows = [
        Row(f"{name}, {what}", median(of(measured) for measured in turns[name]), unit)
        for name in turns
        for what, unit, of in (
            ("throughput", "/s", lambda measured: measured.responses.rate),
            ("processor time of the event loop", "us", lambda measured: measured.loop),
            ("processor time of other threads", "us", lambda measured: measured.background),
            ("p50", "ms", lambda measured: measured.responses.quantile(0.5)),
            ("p99", "ms", lambda measured: measured.responses.quantile(0.99)),
            ("p99.9", "ms", lambda measured: measured.responses.quantile(0.999)),
        )
    ]
    pairs = list(zip(turns["recommendations"], turns["constant"], strict=True))
    p99 = median(a.responses.quantile(0.99) / b.responses.quantile(0.99) for a, b in pairs)
    return [
        *rows,
        Row(
            "recommend / constant: throughput", median(b.wall / a.wall for a, b in pairs), "x", LEAST_THROUGHPUT, False
        ),
        Row(
            "recommend / constant: 1 / processor time of the event loop", median(b.loop / a.loop for a, b in pairs), "x"
        ),
        Row(
            "recommend / constant: 1 / processor time of all threads",
            median(b.processor / a.processor for a, b in pairs),
            "x",
        ),
        Row("recommend / constant: p99", p99, "x", MOST_P99),
    ]


def growing() -> list[Row]:
    """Recommendations against the number of items.

    Every size has a service of its own, so that no size includes work for pages of another size. The services
    alternate, and those that are not measured are idle.
    """
    sizes = (50, 1000, 10_000, 100_000)
    turns: dict[int, list[Turn]] = {size: [] for size in sizes}
    request = encode_request("/v1/pages/shop/recommendations", b"{}")
    with ExitStack() as stack:
        servers = {size: stack.enter_context(served()) for size in sizes}
        for size, server in servers.items():
            server.define("shop", size)
            send_requests(server.port, repeat(request, REQUESTS), CONNECTIONS)  # warms up, and makes the page older
            server.wait_for_ensembles()
        for _ in range(TURNS):
            for size, server in servers.items():
                turns[size].append(turn(server, request))
                server.wait_for_ensembles()
    rows = []
    for size in sizes:
        rows.append(Row(f"recommend, N={size}", median(measured.wall for measured in turns[size]), "us"))
        rows += [
            Row(
                f"recommend, N={size}, processor time of {what}", median(of(measured) for measured in turns[size]), "us"
            )
            for what, of in (
                ("the event loop", lambda measured: measured.loop),
                ("other threads", lambda measured: measured.background),
            )
        ]
    pairs = list(zip(turns[100_000], turns[50], strict=True))
    return [
        *rows,
        Row("recommend, N=100,000 / N=50: time", median(a.wall / b.wall for a, b in pairs), "x", MOST_GROWTH),
        Row(
            "recommend, N=100,000 / N=50: processor time of the event loop",
            median(a.loop / b.loop for a, b in pairs),
            "x",
            MOST_GROWTH,
        ),
    ]


def learning() -> list[Row]:
    """Batches of clicks, with and without event ids. Each batch is answered after it is committed."""
    rates: dict[bool, list[float]] = {False: [], True: []}
    micros: dict[bool, list[float]] = {False: [], True: []}
    with served() as server:
        server.define("shop", 50)
        for k in range(2 * TURNS):
            named = k % 2 == 1
            bodies = _clicks(server, named)
            requests = iter([encode_request("/v1/events", body) for body in bodies])
            before = server.processor_seconds()
            responses = send_requests(server.port, lambda requests=requests: next(requests, None), SENDERS)
            if k > 1:
                rates[named].append(BATCH * responses.rate)
                micros[named].append(1e6 * (server.processor_seconds() - before) / (BATCH * BATCHES))
    rows = []
    for named, how in ((False, "durable clicks in batches of 100"), (True, "the same with event ids")):
        rows.append(Row(how, float(np.median(rates[named])), "/s", 20_000, False))
        rows.append(Row(f"{how}: processor time, HTTP and commit included", float(np.median(micros[named])), "us"))
    return rows


def _clicks(server: RunningServer, named: bool) -> list[bytes]:
    """Batches of clicks, one at every position of displays that are committed."""
    request = encode_request("/v1/pages/shop/recommendations", b"{}")
    bodies = send_requests(server.port, repeat(request, BATCH * BATCHES // 5), CONNECTIONS, keep_bodies=True).bodies
    clicks = [
        {"type": "click", "token": display["token"], "position": entry["position"]}
        | ({"id": f"{display['id']}-{entry['position']}"} if named else {})
        for display in map(json.loads, bodies)
        for entry in display["items"]
    ]
    time.sleep(0.3)
    return [json.dumps({"events": clicks[k::BATCHES]}).encode() for k in range(BATCHES)]


def counting() -> list[Row]:
    """The cost of a click without HTTP and commit: updating registers, and counts in the tables and in memory."""
    plain, named = asyncio.run(_counting(False)), asyncio.run(_counting(True))
    return [
        Row("learning from a click, without HTTP and commit", float(np.median(plain)), "us of processor", 20.0),
        Row("the same with event ids", float(np.median(named)), "us of processor", 20.0),
    ]


async def _counting(named: bool) -> list[float]:
    micros = []
    with tempfile.TemporaryDirectory() as folder:
        async with running(Path(folder) / "store.db", seed=0) as service:
            while not service.ready:
                await asyncio.sleep(0.01)
            spec = PageSpec(positions=[f"position-{k}" for k in range(5)])
            await service.save_page("shop", lambda _: NO_PAGE.with_spec(spec), None)
            model = await service.model("shop")
            await service.save_items(model, [(f"item {k}", ItemSpec()) for k in range(50)])
            for _ in range(BATCHES):
                displays = [
                    (await service.recommend("shop", RecommendationRequest())).display for _ in range(BATCH // 5)
                ]
                clicks = [
                    Event(
                        EventKind.CLICK,
                        display.id,
                        display.nonce,
                        display.page,
                        entry.position,
                        f"{display.id}-{entry.position}" if named else None,
                    )
                    for display in displays
                    for entry in display.entries
                ]
                await asyncio.sleep(0.0)
                seconds, recorded = await service.store.do(lambda ledger, clicks=clicks: _timed(ledger, clicks))
                started = time.thread_time()
                model.apply_changes(recorded.changes)
                model.apply_pending()  # as a background thread does
                micros.append(1e6 * (seconds + time.thread_time() - started) / len(clicks))
    return micros


def _timed(ledger: SqliteLedger, clicks: list[Event]) -> tuple[float, RecordedEvents]:
    ledger.flush()  # the changes of the displays are not part of the clicks' cost
    started = time.thread_time()
    recorded = ledger.record_events(clicks, time.time())
    ledger.flush()
    return time.thread_time() - started, recorded


def measure_memory() -> list[Row]:
    """Memory of pages with 50 items, each of which has issued a display."""
    page = json.dumps({"positions": [f"position-{k}" for k in range(5)]}).encode()
    items = json.dumps({"items": [{"item": f"item {k}"} for k in range(50)]}).encode()
    with served() as server:
        before = server.memory()
        for method, path, body in (
            ("PUT", "", page),
            ("POST", "/items:batch", items),
            ("POST", "/recommendations", b""),
        ):
            requests = iter([encode_request(f"/v1/pages/page-{k}{path}", body, method) for k in range(PAGES)])
            send_requests(server.port, lambda requests=requests: next(requests, None), 50)
        time.sleep(60.0)  # all ensembles are made
        after = server.memory()
    return [
        Row("memory of a service without pages", before, "MB"),
        Row(f"{PAGES:,} pages of 50 items, with their ensembles", after, "MB", 700),
    ]


def restarting() -> list[Row]:
    """The time until the service is ready after kill -9, with a million events in the log."""
    with tempfile.TemporaryDirectory() as folder:
        store = Path(folder) / "store.db"
        server = start(store)
        server.define("shop", 50)
        server.call("POST", "/v1/pages/shop/recommendations", {})
        time.sleep(0.5)
        server.end()
        _fill(store)
        server = start(store)
        for _ in range(500):
            server.call("POST", "/v1/pages/shop/recommendations", {})
        server.end(signal.SIGKILL)
        started = time.perf_counter()
        server = start(store)
        ready = time.perf_counter() - started
        server.call("POST", "/v1/pages/shop/recommendations", {})
        first = time.perf_counter() - started
        server.end()
    return [
        Row("ready after kill -9, a million events", ready, "s", 10.0),
        Row("first display after that", first, "s", 10.0),
    ]


def _fill(store: Path) -> None:
    """Add copies of the first display, each clicked at every position, and their counts."""
    with sqlite3.connect(store) as connection:
        columns = [row[1] for row in connection.execute("PRAGMA table_info(displays)")]
        copied = ", ".join({"number": "n", "id": "'copy-' || n"}.get(column, column) for column in columns)
        numbers = (
            f"WITH RECURSIVE numbers(n) AS (SELECT 2 UNION ALL SELECT n + 1 FROM numbers WHERE n <= {EVENTS // 5})"
        )
        connection.execute(f"{numbers} INSERT INTO displays SELECT {copied} FROM numbers, displays WHERE number = 1")
        connection.execute(
            "INSERT INTO events SELECT number, 1, entry, 1, issued FROM displays, "
            "(SELECT 0 AS entry UNION SELECT 1 UNION SELECT 2 UNION SELECT 3 UNION SELECT 4) WHERE number > 1"
        )
        connection.execute(f"UPDATE counts SET clicks = {EVENTS // 5}")
        connection.execute(f"UPDATE epochs SET displays = displays + {EVENTS // 5}")
    connection.close()


def main() -> bool:
    rows = recommending() + learning() + counting() + growing() + measure_memory() + restarting()
    return report("The service", Path(__file__).stem, rows)


if __name__ == "__main__":
    if "--serve" in sys.argv:
        settings = Settings(store=f"sqlite:///{sys.argv[-1]}", dev=True, port=0)
        asyncio.run(serve(settings, lambda line: print(line, flush=True), [YARDSTICK]))
    else:
        sys.exit(not main())
