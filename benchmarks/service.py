"""How fast the service is, against a constant of the same size from the same server, kept here as the yardstick."""

import asyncio
import json
import os
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np

from benchmarks.hammer import Hammered, hammer, request, times
from benchmarks.measure import Row, report
from slotwise.service.api.route import Answer, Call, Route
from slotwise.service.http.app import running
from slotwise.service.http.server import serve
from slotwise.service.pages.page import NO_PAGE, ItemSpec, PageSpec
from slotwise.service.pages.request import RecommendationRequest
from slotwise.service.registers import EventKind
from slotwise.service.store.interface import Event, RecordedEvents
from slotwise.service.store.ledger import SqliteLedger

NAMES = ("constant", "hot_constant", "recommendations")
CONNECTIONS = 8
REQUESTS = 4_000  # in a turn
TURNS = 7
BATCH, BATCHES, SENDERS = 100, 200, 16  # events
PAGES = 10_000  # in memory
EVENTS = 1_000_000  # in the log before a crash


async def _constant(call: Call) -> Answer:
    return Answer(201, CONSTANT)


CONSTANT = b"x" * 560
YARDSTICKS = [  # one as every route is, and one that goes around the framework as recommendations do
    Route(
        "POST", f"/v1/pages/{{page}}/{name}", name, "The same bytes.", _constant, {201: ("bytes", "application/json")},
        {}, RecommendationRequest, body_optional=True, hot=name == "hot_constant",
    )
    for name in ("constant", "hot_constant")
]  # fmt: skip


class Server:
    """A service with the yardstick, in a process of its own."""

    def __init__(self, store: Path) -> None:
        command = [sys.executable, "-m", "benchmarks.service", "--serve", str(store)]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        assert self.process.stdout is not None
        self.port = int(self.process.stdout.readline().rpartition(":")[2])
        while True:
            try:
                self.call("GET", "/readyz")
                return
            except (RuntimeError, OSError):
                time.sleep(0.01)

    def call(self, method: str, path: str, body: object = None) -> dict:
        content = b"" if body is None else json.dumps(body).encode()
        (answer,) = hammer(self.port, times(1, request(path, content, method)), 1, keep=True).bodies
        return json.loads(answer) if answer.startswith(b"{") else {}

    def define(self, page: str, n_items: int, n_positions: int = 5) -> None:
        self.call("PUT", f"/v1/pages/{page}", {"positions": [f"position-{k}" for k in range(n_positions)]})
        items = [{"item": f"item {k}"} for k in range(n_items)]
        for k in range(0, n_items, 1000):
            self.call("POST", f"/v1/pages/{page}/items:batch", {"items": items[k : k + 1000]})

    def processor_seconds(self) -> float:
        fields = Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def memory(self) -> float:
        """In MB."""
        lines = Path(f"/proc/{self.process.pid}/status").read_text().splitlines()
        return next(int(line.split()[1]) for line in lines if line.startswith("VmRSS")) / 1024

    def end(self, how: signal.Signals = signal.SIGTERM) -> None:
        self.process.send_signal(how)
        self.process.communicate()


@contextmanager
def served(name: str = "store.db") -> Iterator[Server]:
    with tempfile.TemporaryDirectory() as folder:
        server = Server(Path(folder) / name)
        try:
            yield server
        finally:
            server.end()


def turn(server: Server, wanted: bytes, number: int = REQUESTS) -> tuple[Hammered, float]:
    """Answers, and processor seconds for one of them."""
    before = server.processor_seconds()
    found = hammer(server.port, times(number, wanted), CONNECTIONS)
    return found, (server.processor_seconds() - before) / number


def recommending() -> list[Row]:
    """N=50, L=5, against the constant."""
    with served() as server:
        server.define("shop", 50)
        contenders = {name: request(f"/v1/pages/shop/{name}", b"{}") for name in NAMES}
        found: dict[str, list[tuple[Hammered, float]]] = {name: [] for name in contenders}
        for k in range(TURNS + 1):
            for name, wanted in contenders.items():
                measured = turn(server, wanted)
                if k:
                    found[name].append(measured)
    rows = [
        Row(f"{name}, {what}", float(np.median([of(one) for one in found[name]])), unit)
        for name in found
        for what, unit, of in (
            ("throughput", "/s", lambda one: one[0].rate),
            ("processor time of the server", "us", lambda one: 1e6 * one[1]),
            ("p50", "ms", lambda one: one[0].quantile(0.5)),
            ("p99", "ms", lambda one: one[0].quantile(0.99)),
            ("p99.9", "ms", lambda one: one[0].quantile(0.999)),
        )
    ]

    for name, limits in (("constant", (0.7, 0.7, 3.0)), ("hot_constant", (None, None, None))):
        both = list(zip(found["recommendations"], found[name], strict=True))
        for what, ratios, limit in zip(
            ("throughput", "1 / processor time of all threads", "p99"),
            (
                [a.rate / b.rate for (a, _), (b, _) in both],
                [b / a for (_, a), (_, b) in both],
                [a.quantile(0.99) / b.quantile(0.99) for (a, _), (b, _) in both],
            ),
            limits,
            strict=True,
        ):
            rows.append(Row(f"recommend / {name}: {what}", float(np.median(ratios)), "x", limit, what == "p99"))
    return rows


def growing() -> list[Row]:
    """Processor time of a recommendation against the number of items."""
    sizes = (10, 50, 1000, 4000)
    with served() as server:
        for size in sizes:
            server.define(f"page-{size}", size)
        micros: dict[int, list[float]] = {size: [] for size in sizes}
        for _ in range(5):
            for size in sizes:
                micros[size].append(
                    1e6 * turn(server, request(f"/v1/pages/page-{size}/recommendations", b"{}"), 2000)[1]
                )
    medians = {size: float(np.median(values)) for size, values in micros.items()}
    rows = [Row(f"recommend, N={size}", medians[size], "us of processor") for size in sizes]
    per_item = [(medians[b] - medians[a]) / (b - a) for a, b in ((50, 1000), (1000, 4000))]
    rows.append(Row("cost of one more item, N=1000..4000 / N=50..1000", per_item[1] / per_item[0], "x", 1.5))
    return rows


def learning() -> list[Row]:
    """Clicks in batches, each answered when it is on the disk; with an id of their own, and without."""
    rates: dict[bool, list[float]] = {False: [], True: []}
    micros: dict[bool, list[float]] = {False: [], True: []}
    with served() as server:
        server.define("shop", 50)
        for k in range(2 * TURNS):
            named = k % 2 == 1
            bodies = _clicks(server, named)
            requests = iter([request("/v1/events", body) for body in bodies])
            before = server.processor_seconds()
            found = hammer(server.port, lambda requests=requests: next(requests, None), SENDERS)
            if k > 1:
                rates[named].append(BATCH * found.rate)
                micros[named].append(1e6 * (server.processor_seconds() - before) / (BATCH * BATCHES))
    rows = []
    for named, how in ((False, "durable clicks in batches of 100"), (True, "the same with event ids")):
        rows.append(Row(how, float(np.median(rates[named])), "/s", 20_000, False))
        rows.append(Row(f"{how}: processor time, HTTP and commit included", float(np.median(micros[named])), "us"))
    return rows


def _clicks(server: Server, named: bool) -> list[bytes]:
    """Batches of clicks, one at every position of displays that are on the disk."""
    asked = request("/v1/pages/shop/recommendations", b"{}")
    shown = hammer(server.port, times(BATCH * BATCHES // 5, asked), CONNECTIONS, keep=True).bodies
    clicks = [
        {"type": "click", "token": display["token"], "position": place["position"]}
        | ({"id": f"{display['id']}-{place['position']}"} if named else {})
        for display in map(json.loads, shown)
        for place in display["items"]
    ]
    time.sleep(0.3)
    return [json.dumps({"events": clicks[k::BATCHES]}).encode() for k in range(BATCHES)]


def counting() -> list[Row]:
    """What a click costs beside HTTP and the commit: its registers, its counts in the tables and in memory."""
    plain, named = asyncio.run(_counting(False)), asyncio.run(_counting(True))
    return [
        Row("learning from a click, beside HTTP and commit", float(np.median(plain)), "us of processor", 20.0),
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
                begun = time.thread_time()
                model.apply_changes(recorded.changes)
                micros.append(1e6 * (seconds + time.thread_time() - begun) / len(clicks))
    return micros


def _timed(ledger: SqliteLedger, clicks: list[Event]) -> tuple[float, RecordedEvents]:
    ledger.flush()  # what the displays changed is not the clicks' to pay
    begun = time.thread_time()
    recorded = ledger.record_events(clicks, time.time())
    ledger.flush()
    return time.thread_time() - begun, recorded


def remembering() -> list[Row]:
    """Memory of pages of 50 items, all of them shown."""
    page = json.dumps({"positions": [f"position-{k}" for k in range(5)]}).encode()
    items = json.dumps({"items": [{"item": f"item {k}"} for k in range(50)]}).encode()
    with served() as server:
        before = server.memory()
        for method, path, body in (
            ("PUT", "", page),
            ("POST", "/items:batch", items),
            ("POST", "/recommendations", b""),
        ):
            calls = iter([request(f"/v1/pages/page-{k}{path}", body, method) for k in range(PAGES)])
            hammer(server.port, lambda calls=calls: next(calls, None), 50)
        after = server.memory()
    return [
        Row("memory of a service without pages", before, "MB"),
        Row(f"{PAGES:,} pages of 50 items", after, "MB", 500),
    ]


def starting_again() -> list[Row]:
    """Ready after kill -9 with a million events in the log."""
    with tempfile.TemporaryDirectory() as folder:
        store = Path(folder) / "store.db"
        server = Server(store)
        server.define("shop", 50)
        server.call("POST", "/v1/pages/shop/recommendations", {})
        time.sleep(0.5)
        server.end()
        _fill(store)
        server = Server(store)
        for _ in range(500):
            server.call("POST", "/v1/pages/shop/recommendations", {})
        server.end(signal.SIGKILL)
        begun = time.perf_counter()
        server = Server(store)
        ready = time.perf_counter() - begun
        server.call("POST", "/v1/pages/shop/recommendations", {})
        first = time.perf_counter() - begun
        server.end()
    return [
        Row("ready after kill -9, a million events", ready, "s", 10.0),
        Row("first display after that", first, "s", 10.0),
    ]


def _fill(store: Path) -> None:
    """Copies of the first display, each clicked at every position, and the counts that follow from them."""
    with sqlite3.connect(store) as connection:
        columns = [row[1] for row in connection.execute("PRAGMA table_info(displays)")]
        copied = ", ".join({"number": "n", "id": "'copy-' || n"}.get(column, column) for column in columns)
        numbers = (
            f"WITH RECURSIVE numbers(n) AS (SELECT 2 UNION ALL SELECT n + 1 FROM numbers WHERE n <= {EVENTS // 5})"
        )
        connection.execute(f"{numbers} INSERT INTO displays SELECT {copied} FROM numbers, displays WHERE number = 1")
        connection.execute(
            "INSERT INTO events SELECT number, 1, place, 1, issued FROM displays, "
            "(SELECT 0 AS place UNION SELECT 1 UNION SELECT 2 UNION SELECT 3 UNION SELECT 4) WHERE number > 1"
        )
        connection.execute(f"UPDATE counts SET clicks = {EVENTS // 5}")
        connection.execute(f"UPDATE epochs SET displays = displays + {EVENTS // 5}")
    connection.close()


def main() -> bool:
    rows = recommending() + learning() + counting() + growing() + remembering() + starting_again()
    return report("The service", Path(__file__).stem, rows)


if __name__ == "__main__":
    if "--serve" in sys.argv:
        tell = lambda line: print(line, flush=True)  # noqa: E731
        asyncio.run(serve(Path(sys.argv[-1]), "127.0.0.1", 0, tell, YARDSTICKS))
    else:
        sys.exit(not main())
