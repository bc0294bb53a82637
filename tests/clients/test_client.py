"""The sync and the async client with a real service, and with servers that hang."""

import asyncio
import contextlib
import json
import logging
import socket
import threading
import time
from collections.abc import Callable, Coroutine, Iterator
from typing import Any, Protocol

import httpx
import pytest

from slotwise_client import AsyncClient, Client, DefaultOrder, Display, Event, EventOutcome, Options
from slotwise_client.flow import ResultT
from tests.service.running_service import ITEMS, POSITIONS, Process
from tests.waiting import HANG, wait_until

PATIENT = Options(timeout=HANG, event_timeout=HANG, exit_timeout=HANG, flush_seconds=0.01)  # the machine may be busy
DEFAULT = DefaultOrder(POSITIONS, ITEMS)
SLOW = 60.0  # a server that hangs does so for this long; a client must return far earlier


class AnyClient(Protocol):
    """The sync client, or the async client with calls that wait."""

    def recommend(self, page: str, **fields: Any) -> Display: ...
    def click(self, display: Display | str, position: str) -> None: ...
    def view(self, display: Display | str) -> None: ...
    def discard(self, display: Display | str) -> None: ...
    def add_events(self, events: list[Event]) -> None: ...
    def flush(self, timeout: float | None = None) -> bool: ...
    def close(self, timeout: float | None = None) -> None: ...
    @property
    def outcomes(self) -> dict[str, int]: ...


class Blocking:
    """The async client on an event loop in another thread. A caller waits for its coroutines."""

    def __init__(self, client: AsyncClient, loop: asyncio.AbstractEventLoop) -> None:
        self._client, self._loop = client, loop

    def recommend(self, page: str, **fields: Any) -> Display:
        return self._wait(self._client.recommend(page, **fields))

    def flush(self, timeout: float | None = None) -> bool:
        return self._wait(self._client.flush(timeout))

    def close(self, timeout: float | None = None) -> None:
        self._wait(self._client.aclose(timeout))

    def __getattr__(self, name: str) -> Any:
        return getattr(self._client, name)

    def _wait(self, coroutine: Coroutine[Any, Any, ResultT]) -> ResultT:
        return asyncio.run_coroutine_threadsafe(coroutine, self._loop).result(HANG)


@pytest.fixture(scope="module")
def loop() -> Iterator[asyncio.AbstractEventLoop]:
    """An event loop that runs in another thread."""
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever)
    thread.start()
    yield loop
    loop.call_soon_threadsafe(loop.stop)
    thread.join()
    loop.close()


@pytest.fixture(params=["sync", "async"])
def connect(request: pytest.FixtureRequest, loop: asyncio.AbstractEventLoop) -> Iterator[Callable[..., AnyClient]]:
    """Makes clients of either kind, and closes them."""
    made: list[AnyClient] = []

    def make(url: str, key: str | None = None, options: Options = PATIENT) -> AnyClient:
        if request.param == "sync":
            made.append(Client(url, key, options))
        else:
            made.append(Blocking(AsyncClient(url, key, options), loop))
        return made[-1]

    yield make
    for client in made:
        client.close(0.0)


@pytest.fixture
def shop(service: Process, page: str) -> str:
    service.http.put(f"/v1/pages/{page}", json={"positions": POSITIONS, "count": "viewed"}).raise_for_status()
    rows = [{"item": item} for item in ITEMS]
    service.http.post(f"/v1/pages/{page}/items:batch", json={"items": rows}).raise_for_status()
    return page


def totals(service: Process, page: str) -> tuple[int, int, int]:
    """Displays, clicks and skips that the service has counted."""
    state = service.http.get(f"/v1/pages/{page}/state").raise_for_status().json()
    clicks, skips = (sum(row[name] for row in state["counts"]) for name in ("clicks", "skips"))
    return state["displays"], clicks, skips


def test_displays_and_events_reach_the_service(service: Process, shop: str, connect: Callable[..., AnyClient]) -> None:
    client = connect(service.address)
    first, second, third = (client.recommend(shop, excluded=["hat"], default=DEFAULT) for _ in range(3))
    assert {row.position for row in first.items} == set(POSITIONS)
    assert "hat" not in first.by_position.values()
    assert (first.source, first.page, first.variant) == ("service", shop, "learnt")
    client.click(first, "hero")  # at once: the display may not be committed yet, so the client sends it again
    client.click(second.token, "left")
    client.view(second)
    client.view(third)
    client.discard(third)
    assert client.flush()
    assert client.outcomes == {"accepted": 5}
    assert totals(service, shop) == (2, 2, 4)


def test_the_statuses_of_the_service_reach_the_callback(
    service: Process, shop: str, connect: Callable[..., AnyClient]
) -> None:
    seen: list[EventOutcome] = []
    client = connect(service.address, None, Options(timeout=HANG, event_timeout=HANG, on_outcome=seen.append))
    display = client.recommend(shop)
    client.add_events([Event("click", token=display.token, position="hero", id=f"{display.id}-1")])
    assert client.flush(HANG)
    events = [
        Event("click", token=display.token, position="hero", id=f"{display.id}-1"),
        Event("click", token=display.token, position="left", id=f"{display.id}-1"),
        Event("click", token="forged", position="hero"),
        Event("view", display="never-issued"),
        Event("click", token=display.token, position="no such position!"),
        Event("click", token=display.token, position="right"),
    ]
    client.add_events(events)
    assert client.flush(HANG)
    by_event = {id(outcome.event): outcome for outcome in seen}
    statuses = [by_event[id(event)].status for event in events]
    assert statuses == ["duplicate", "conflict", "rejected", "unknown", "invalid", "accepted"]
    assert by_event[id(events[4])].detail.startswith("/position: ")


def test_many_events_are_sent_in_batches(service: Process, shop: str, connect: Callable[..., AnyClient]) -> None:
    client = connect(service.address)
    display = client.recommend(shop)
    client.add_events(
        [Event("click", token=display.token, position=POSITIONS[k % 3], id=f"{display.id}-{k}") for k in range(12)]
    )
    assert client.flush()
    client.add_events([Event("view", display=f"unknown{k}") for k in range(1200)])
    assert client.flush()
    assert client.outcomes == {"accepted": 3, "duplicate": 9, "unknown": 1200}
    assert totals(service, shop) == (1, 3, 0)


def test_the_same_id_gives_the_same_display(service: Process, shop: str, connect: Callable[..., AnyClient]) -> None:
    client = connect(service.address)
    assert len({client.recommend(shop, id="view-1").items for _ in range(5)}) == 1


def test_a_unit_keeps_its_variant(service: Process, shop: str, connect: Callable[..., AnyClient]) -> None:
    client = connect(service.address)
    service.http.patch(f"/v1/pages/{shop}", json={"holdout": 0.5}).raise_for_status()
    variants = [{client.recommend(shop, unit=f"visitor {k}").variant for _ in range(3)} for k in range(20)]
    assert {len(seen) for seen in variants} == {1}
    assert set.union(*variants) <= {"learnt", "holdout"}


def test_a_refusal_shows_the_default_order(service: Process, connect: Callable[..., AnyClient]) -> None:
    display = connect(service.address).recommend("no-such-page", default=DEFAULT)
    assert (display.source, display.by_position["hero"]) == ("default", "hat")
    assert display.error.startswith("404: ")


def test_clicks_on_a_display_that_the_service_has_not_issued_are_ignored(connect: Callable[..., AnyClient]) -> None:
    client = connect("http://127.0.0.1:1")
    display = client.recommend("shop", default=DEFAULT)
    assert display.source == "default"
    client.click(display, "hero")
    client.view(display.token)
    client.discard(display)
    assert client.outcomes == {"ignored": 3}


def never_accept(listening: socket.socket, stop: threading.Event) -> None:
    stop.wait(SLOW)


def drip(listening: socket.socket, stop: threading.Event) -> None:
    """Send a header, one byte at a time: no single read takes long."""
    listening.settimeout(0.1)
    connection = None
    while connection is None and not stop.is_set():
        with contextlib.suppress(TimeoutError):
            connection = listening.accept()[0]
    with connection or contextlib.nullcontext():
        for byte in b"HTTP/1.1 200 OK\r\n" + b"x" * 1000:
            if stop.wait(SLOW / 1000):
                return
            try:
                assert connection is not None
                connection.send(bytes([byte]))
            except OSError:
                stop.wait(SLOW)


@pytest.mark.parametrize("behave", [never_accept, drip])
def test_a_page_never_waits_longer_than_the_timeout(
    behave: Callable[..., None], connect: Callable[..., AnyClient]
) -> None:
    stop = threading.Event()
    with socket.create_server(("127.0.0.1", 0)) as listening:
        thread = threading.Thread(target=behave, args=(listening, stop))
        thread.start()
        client = connect(f"http://127.0.0.1:{listening.getsockname()[1]}", None, Options(timeout=0.2))
        began = time.monotonic()
        display = client.recommend("shop", default=DEFAULT)
        waited = time.monotonic() - began
        stop.set()
        thread.join()
    assert display.source == "default"
    assert 0.15 < waited < SLOW / 2


def test_a_page_does_not_wait_for_a_name_lookup_that_hangs(
    connect: Callable[..., AnyClient], monkeypatch: pytest.MonkeyPatch
) -> None:
    stop = threading.Event()
    client = connect("http://slotwise.test:8000", None, Options(timeout=0.2))
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: stop.wait(SLOW))
    began = time.monotonic()
    display = client.recommend("shop", default=DEFAULT)
    waited = time.monotonic() - began
    stop.set()
    assert display.source == "default"
    assert waited < SLOW / 2


def test_closing_takes_no_longer_than_its_timeout_and_reports_what_is_lost(connect: Callable[..., AnyClient]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        seen: list[EventOutcome] = []
        options = Options(event_timeout=SLOW, on_outcome=seen.append)
        client = connect(f"http://127.0.0.1:{listening.getsockname()[1]}", None, options)
        for _ in range(5):
            client.view("token")
        began = time.monotonic()
        client.close(0.2)
        assert time.monotonic() - began < SLOW / 2
    wait_until(lambda: client.outcomes == {"dropped": 5})
    client.view("token")
    assert "closed" in seen[-1].detail


def test_the_key_is_sent_and_never_shown(connect: Callable[..., AnyClient], caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    secret = "sw_secret0123"
    received = []
    with socket.create_server(("127.0.0.1", 0)) as listening:

        def answer() -> None:
            connection = listening.accept()[0]
            received.append(connection.recv(10_000))
            body = json.dumps({"detail": "the key was revoked", "errors": []}).encode()
            connection.sendall(b"HTTP/1.1 401 Unauthorized\r\nContent-Length: %d\r\n\r\n" % len(body) + body)
            connection.close()

        thread = threading.Thread(target=answer)
        thread.start()
        client = connect(f"http://127.0.0.1:{listening.getsockname()[1]}", secret)
        display = client.recommend("shop", default=DEFAULT)
        thread.join()
    assert f"Authorization: Bearer {secret}\r\n".encode() in received[0]
    assert display.error == "401: the key was revoked"
    assert secret not in caplog.text + repr(client) + repr(display)


@pytest.mark.parametrize("key", ["sw_a b", "sw_\n", "sw_ü"])
def test_a_key_that_cannot_be_sent_is_refused_without_showing_it(key: str) -> None:
    with pytest.raises(ValueError, match="the key contains") as error:
        Client("http://127.0.0.1:1", key)
    assert key not in str(error.value)


@pytest.mark.parametrize("url", ["", "127.0.0.1:8000", "ftp://127.0.0.1", "http://"])
def test_an_address_that_is_none_is_refused(url: str) -> None:
    with pytest.raises(ValueError, match="is not the address of a service"):
        Client(url)


@pytest.mark.parametrize(
    "option", [{"timeout": 0}, {"retries": -1}, {"batch_size": 501}, {"queue_size": 0}, {"exit_timeout": -1}]
)
def test_options_are_validated(option: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=next(iter(option))):
        Options(**option)


def test_the_async_client_follows_to_another_event_loop(service: Process, shop: str) -> None:
    """As in Django, where each view may have an event loop of its own."""
    client = AsyncClient(service.address, None, PATIENT)

    async def view() -> None:
        client.view(await client.recommend(shop))

    asyncio.run(view())
    asyncio.run(view())

    async def end() -> None:
        async with client:
            pass

    asyncio.run(end())
    assert sum(client.outcomes.values()) == 2
    assert totals(service, shop) == (2, 0, 6)


def test_many_threads_share_a_client(service: Process, shop: str) -> None:
    with Client(service.address, None, PATIENT) as client:

        def visit() -> None:
            for _ in range(5):
                client.click(client.recommend(shop), "hero")

        threads = [threading.Thread(target=visit) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert client.outcomes == {"accepted": 40}
    assert totals(service, shop)[1] == 40


def test_trace_headers_of_the_caller_are_sent_and_a_hook_that_fails_does_no_harm(
    service: Process, shop: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    sent: list[str | None] = []
    original = httpx.Client.post

    def record(self: httpx.Client, *arguments: Any, **named: Any) -> httpx.Response:
        sent.append(named["headers"].get("traceparent"))
        return original(self, *arguments, **named)

    monkeypatch.setattr(httpx.Client, "post", record)
    for hook in (lambda: {"traceparent": "00-1"}, lambda: 1 / 0):
        options = Options(timeout=HANG, trace_headers=hook)  # type: ignore[arg-type, return-value]
        with Client(service.address, None, options) as client:
            assert client.recommend(shop).source == "service"
    assert sent == ["00-1", None]
