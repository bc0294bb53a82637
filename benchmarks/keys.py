"""What keys cost: the check of a key in a recommendation, and what wrong keys of one client cost the others."""

import asyncio
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from benchmarks.epoll_client import encode_request, receive_body, repeat, send_requests
from benchmarks.measure import Row, report
from benchmarks.running_server import RunningServer
from slotwise.client.keys import StoreKeys
from slotwise.service.http.access.access import DevAccess, OpenAccess
from slotwise.service.http.access.key_access import KeyAccess
from slotwise.service.http.app import make_app
from slotwise.service.keys.api_keys import make_secret
from slotwise.service.keys.key_changes import KeySpec, create_key
from slotwise.service.pages.page_definition import NO_PAGE, ItemSpec, PageSpec
from slotwise.service.service import running

CONNECTIONS, REQUESTS, TURNS = 8, 2_000, 15
HANDLED, HANDLED_TURNS = 300, 60
WRONG_KEYS = 10_000
RATE, SECONDS = 200.0, 3.0  # of the client with a right key
ATTACKS = 5
PATH = "/v1/pages/shop/recommendations"


def start(store: Path, key: str | None) -> RunningServer:
    """A service that requires keys, or one in dev mode if `key` is None."""
    command = [sys.executable, "-m", "slotwise", "serve", "--store", f"sqlite:///{store}", "--port", "0", "--quiet"]
    server = RunningServer(command if key else [*command, "--dev"], key=key)
    server.define("shop", 50)
    return server


def checking(folder: Path) -> list[Row]:
    """Throughput with and without keys. Both services get the same header, and the turns alternate."""
    keys = StoreKeys(folder / "keys.db")
    admin, key = (keys.create({"name": "a", "scopes": [scope], "rate": 1e6})["key"] for scope in ("admin", "serve"))
    servers = {"keys": start(folder / "keys.db", admin), "dev": start(folder / "dev.db", None)}
    request = encode_request(PATH, b"{}", key=key)
    rates: dict[str, list[float]] = {name: [] for name in servers}
    micros: dict[str, list[float]] = {name: [] for name in servers}
    for k in range(TURNS + 1):
        for name, server in servers.items() if k % 2 else reversed(servers.items()):
            before = server.processor_seconds()
            responses = send_requests(server.port, repeat(request, REQUESTS), CONNECTIONS)
            if k:  # the first turn warms up
                rates[name].append(responses.rate)
                micros[name].append(1e6 * (server.processor_seconds() - before) / REQUESTS)
    for server in servers.values():
        server.end()
    throughput = np.median(np.array(rates["keys"]) / rates["dev"])
    processor = np.median(np.array(micros["keys"]) / micros["dev"])
    return [
        *(Row(f"recommend, {name}: processor time", float(np.median(micros[name])), "us") for name in servers),
        Row("recommend, keys / dev: throughput", float(throughput), "x", 0.95, False),
        Row("recommend, keys / dev: processor time", float(processor), "x"),
    ]


async def handling(folder: Path) -> list[Row]:
    """Processor time of a request with and without keys, from the router to the encoded answer, without the server.

    Other programs on the machine hardly affect it, unlike the throughput. It has no limit of its own: the server takes
    most of the time of a request, so a cheaper handler would make the share of the check larger, but no answer slower.
    """
    async with running(folder / "store.db") as service:
        while not service.ready:
            await asyncio.sleep(0.01)
        spec = PageSpec(positions=[f"position-{k}" for k in range(5)])
        await service.save_page("shop", lambda _: NO_PAGE.with_spec(spec), None)
        await service.save_items(await service.model("shop"), [(f"item {k}", ItemSpec()) for k in range(50)])
        key_spec = KeySpec("a", ["serve"], rate=1e6)
        new = await service.change_keys(lambda ledger: create_key(ledger, key_spec, time.time()))
        headers = [(b"host", b"localhost"), (b"content-type", b"application/json"), (b"content-length", b"2")]
        headers.append((b"authorization", b"Bearer " + new.secret.encode()))
        scope = {"type": "http", "method": "POST", "path": PATH, "raw_path": PATH.encode(), "query_string": b""}
        scope |= {"headers": headers, "client": ("127.0.0.1", 1), "root_path": ""}
        accesses = {"none": OpenAccess(), "dev": DevAccess(), "keys": KeyAccess(service.keys, time.time)}
        apps = {name: make_app(service, access) for name, access in accesses.items()}
        micros: dict[str, list[float]] = {name: [] for name in apps}
        for k in range(HANDLED_TURNS):  # what follows the pause is slower, so the order alternates
            for name, app in apps.items() if k % 2 else reversed(apps.items()):
                started = time.thread_time()
                for _ in range(HANDLED):
                    await app(dict(scope), _receive, _send)
                micros[name].append(1e6 * (time.thread_time() - started) / HANDLED)
            await asyncio.sleep(0.01)  # the displays are committed meanwhile
    return [
        *(Row(f"handling a request, {name}: processor time", float(np.median(micros[name])), "us") for name in apps),
        Row("the check of a key: processor time", _difference(micros, "keys", "none"), "us"),
        Row("the same, beyond the checks of dev mode", _difference(micros, "keys", "dev"), "us"),
    ]


def _difference(micros: dict[str, list[float]], name: str, other: str) -> float:
    return float(np.median(np.array(micros[name]) - micros[other]))


async def _receive() -> dict[str, object]:
    return {"type": "http.request", "body": b"{}", "more_body": False}


async def _send(_: object) -> None:
    pass


def attacked(folder: Path) -> list[Row]:
    """The p99 of a client with a right key, alone and while another one tries wrong keys on one connection."""
    admin = StoreKeys(folder / "store.db").create({"name": "a", "scopes": ["admin"]})["key"]
    server = start(folder / "store.db", admin)
    request = encode_request(PATH, b"{}", key=admin)
    paced(server.port, request)
    ratios, alone, under_attack = [], [], []
    for _ in range(ATTACKS):
        alone.append(paced(server.port, request))
        command = [sys.executable, "-m", "benchmarks.keys", "--attack", str(server.port)]
        with subprocess.Popen(command, stdout=subprocess.PIPE) as attack:
            assert attack.stdout is not None
            attack.stdout.readline()  # the start of the process is not part of the attack, but takes a whole core
            under_attack.append(paced(server.port, request))
        ratios.append(under_attack[-1] / alone[-1])
    (metrics,) = send_requests(
        server.port, repeat(encode_request("/metrics", b"", "GET", admin), 1), 1, keep_bodies=True
    ).bodies
    server.end()
    counted = f'slotwise_refused_requests_total{{key="unknown",status="401"}} {float(ATTACKS * WRONG_KEYS)}'
    return [
        Row("p99 of a client with a right key", 1e3 * float(np.median(alone)), "ms"),
        Row(f"the same during {WRONG_KEYS:,} wrong keys", 1e3 * float(np.median(under_attack)), "ms"),
        Row("p99 during wrong keys / alone", float(np.median(ratios)), "x", 1.5),
        Row("all wrong keys are in the metrics", float(counted in metrics.decode()), "", 1.0, False),
    ]


def paced(port: int, request: bytes) -> float:
    """The p99 latency, in seconds, of requests at a constant rate on one connection."""
    latencies = []
    with socket.create_connection(("127.0.0.1", port)) as connection:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        started = time.perf_counter()
        for k in range(int(RATE * SECONDS)):
            time.sleep(max(0.0, started + k / RATE - time.perf_counter()))
            sent = time.perf_counter()
            connection.sendall(request)
            receive_body(connection)
            latencies.append(time.perf_counter() - sent)
    return float(np.quantile(latencies, 0.99))


def attack(port: int) -> None:
    """Send wrong keys on one connection, each after the answer to the one before."""
    requests = iter([encode_request(PATH, b"{}", key=make_secret()) for _ in range(WRONG_KEYS)])
    with socket.create_connection(("127.0.0.1", port)) as connection:
        for k, request in enumerate(requests):
            connection.sendall(request)
            receive_body(connection, b"401")
            if k == 0:
                print("the attack begins", flush=True)


def main() -> bool:
    with tempfile.TemporaryDirectory() as first, tempfile.TemporaryDirectory() as second:
        rows = asyncio.run(handling(Path(first))) + checking(Path(first)) + attacked(Path(second))
    return report("Keys", Path(__file__).stem, rows)


if __name__ == "__main__":
    if "--attack" in sys.argv:
        attack(int(sys.argv[-1]))
    else:
        sys.exit(not main())
