"""A service with a client in the event loop of the test, and a service in a separate process."""

import asyncio
import contextlib
import signal
import ssl
import subprocess
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import httpx

from slotwise.service.http.access.access import DevAccess
from slotwise.service.http.access.key_access import KeyAccess
from slotwise.service.http.app import make_app
from slotwise.service.keys.api_keys import NewKey, Scope
from slotwise.service.keys.key_changes import KeySpec, create_key
from slotwise.service.service import Service, running
from tests.command_line import COMMAND
from tests.waiting import HANG, wait_until

START = 1_700_000_000.0
ITEMS = ["hat", "tie", "bag", "belt", "sock"]
POSITIONS = ["hero", "left", "right"]


class ManualClock:
    """A clock that a test sets."""

    def __init__(self, now: float = START) -> None:
        self.now = now

    def __call__(self) -> float:
        return self.now


class Client:
    """Calls a service as a website does; a failed call fails the test with its answer."""

    def __init__(self, http: httpx.AsyncClient, service: Service, clock: ManualClock) -> None:
        self.http, self.service, self.clock = http, service, clock

    async def ok(self, method: str, path: str, body: Any = None, **options: Any) -> Any:
        answer = await self.http.request(method, path, json=body, **options)
        assert answer.status_code < 300, answer.text
        return answer.json() if answer.content else None

    async def page(self, name: str = "shop", items: list[str] | None = None, **spec: Any) -> None:
        await self.ok("PUT", f"/v1/pages/{name}", {"positions": POSITIONS} | spec)
        rows = [{"item": item} for item in (ITEMS if items is None else items)]
        if rows:
            await self.ok("POST", f"/v1/pages/{name}/items:batch", {"items": rows})

    async def create_key(self, *scopes: Scope, **fields: Any) -> NewKey:
        """A new key of the service. It is not created through the HTTP interface, because that needs a key."""
        spec, now = KeySpec(fields.pop("name", "test"), list(scopes), **fields), self.clock()
        return await self.service.change_keys(lambda ledger: create_key(ledger, spec, now))

    def use_key(self, new: NewKey) -> None:
        """Send this key with every further request."""
        self.http.headers["authorization"] = f"Bearer {new.secret}"

    async def recommend(self, name: str = "shop", **request: Any) -> Any:
        return await self.ok("POST", f"/v1/pages/{name}/recommendations", request)

    async def send(self, *events: dict[str, Any]) -> list[str]:
        answer = await self.ok("POST", "/v1/events", {"events": list(events)})
        return [result["status"] for result in answer["results"]]


@contextlib.asynccontextmanager
async def open_client(
    folder: Path, clock: ManualClock | None = None, seed: int | None = 0, with_keys: bool = False
) -> AsyncIterator[Client]:
    """A service and its client. Without a seed, displays do not wait for ensembles that are due.

    With keys, the client has no key until the test creates one.
    """
    clock = clock or ManualClock()
    async with running(folder / "store.db", clock, seed) as service:
        while not service.ready:
            await asyncio.sleep(0.01)
        access = KeyAccess(service.keys, clock, clock, lambda: service.sessions) if with_keys else DevAccess()
        transport = httpx.ASGITransport(make_app(service, access))
        async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as http:
            yield Client(http, service, clock)


def run_scenario(
    folder: Path,
    scenario: Callable[[Client], Awaitable[None]],
    clock: ManualClock | None = None,
    with_keys: bool = False,
) -> None:
    """Start a service, and run a coroutine function with a client of it."""

    async def run() -> None:
        async with open_client(folder, clock, with_keys=with_keys) as client:
            await scenario(client)

    asyncio.run(run())


def address_of(store: Path | str) -> str:
    """The address of a store that is given by its path or its address."""
    return store if isinstance(store, str) else f"sqlite:///{store}"


class Process:
    """`slotwise serve` in a separate process."""

    def __init__(
        self, store: Path | str, *options: str, dev: bool = True, verify: str | bool = True, **settings: Any
    ) -> None:
        self.store = store
        command = [*COMMAND, "serve", *(["--dev"] if dev else []), "--store", address_of(store), "--port", "0"]
        self.process = subprocess.Popen(
            [*command, *options], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **settings
        )
        assert self.process.stdout is not None
        first = self.process.stdout.readline()
        if "serves on" not in first:
            raise AssertionError(first + self.process.communicate()[1])
        self.address = first.split()[-1]
        self.metrics = "" if not {"--metrics-port", "--config"} & set(options) else self._metrics_address()
        base_url = self.address if self.address.startswith("http") else "http://localhost"
        self.http = httpx.Client(base_url=base_url, timeout=HANG, verify=_context(verify))

    def _metrics_address(self) -> str:
        """The address of the port for metrics, which the second line of the output names."""
        assert self.process.stdout is not None
        return self.process.stdout.readline().split()[-1].removesuffix("/metrics")

    def wait_until_ready(self) -> None:
        wait_until(self._ready, pause=0.05)  # a request takes both processes milliseconds

    def _ready(self) -> bool:
        with contextlib.suppress(httpx.TransportError):
            return self.http.get("/readyz").status_code == 200
        return False

    def logged(self) -> list[str]:
        """Stop the service, and return the lines of its log, without those about rejected connections."""
        self.process.terminate()
        lines = self.process.communicate(timeout=HANG)[1].splitlines()
        return [line for line in lines if "a connection was rejected" not in line]

    def kill(self) -> None:
        self.process.kill()
        self.process.communicate()
        self.http.close()

    def stop(self) -> int:
        self.process.send_signal(signal.SIGTERM)
        self.process.communicate(timeout=HANG)
        self.http.close()
        return self.process.returncode


def _context(verify: str | bool) -> ssl.SSLContext | bool:
    return ssl.create_default_context(cafile=verify) if isinstance(verify, str) else verify


@contextlib.contextmanager
def process(store: Path, options: Sequence[str] = (), **settings: Any) -> Iterator[Process]:
    running = Process(store, *options, **settings)
    try:
        running.wait_until_ready()
        yield running
    finally:
        if running.process.poll() is None:
            running.kill()
        running.http.close()
