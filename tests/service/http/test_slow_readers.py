"""Clients that ask for large responses and do not read them: they cost little memory, and are disconnected in time."""

import asyncio
import contextlib
import gc
import socket
import tracemalloc
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from slotwise.service.http import connection
from slotwise.service.http.access.access import DevAccess
from slotwise.service.http.app import make_app
from slotwise.service.http.bodies import large_response
from slotwise.service.http.listeners import bind
from slotwise.service.http.server import listening
from tests.service.running_service import Client, open_client
from tests.waiting import HANG, until

READERS = 12
ITEMS = [f"{'long name of an item ' * 5}{k}" for k in range(500)]
POSITIONS = [f"position{k}" for k in range(20)]
STATE = "/v1/pages/shop/state"


@asynccontextmanager
async def listening_client(folder: Path) -> AsyncIterator[tuple[Client, tuple[str, int]]]:
    """A service with a large page, and the address of its socket."""
    async with open_client(folder) as client:
        await client.page(items=ITEMS, positions=POSITIONS)
        cells = [
            {"item": item, "layout": "default", "position": position, "clicks": 1, "skips": 2}
            for item in ITEMS
            for position in POSITIONS
        ]
        await client.ok("PUT", STATE, {"displays": 9, "counts": cells})
        with bind("127.0.0.1", 0) as listener:
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 4096)  # the operating system buffers little
            async with listening(make_app(client.service, DevAccess()), listener):
                yield client, listener.getsockname()


async def ask(address: tuple[str, int], path: str = STATE) -> socket.socket:
    """Send a request with a small receive buffer, and read nothing."""
    line = socket.socket()
    line.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    line.setblocking(False)
    loop = asyncio.get_running_loop()
    await loop.sock_connect(line, address)
    await loop.sock_sendall(line, f"GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
    return line


async def whole_answer(line: socket.socket) -> bytes:
    """Read to the end of the connection."""
    received = bytearray()
    while piece := await asyncio.wait_for(asyncio.get_running_loop().sock_recv(line, 1 << 16), HANG):
        received += piece
        if len(received) == size_of(received):
            break
    return bytes(received)


def size_of(received: bytes | bytearray) -> int:
    head, _, _ = bytes(received[:2000]).partition(b"\r\n\r\n")
    length = next(line for line in head.split(b"\r\n") if line.lower().startswith(b"content-length"))
    return len(head) + 4 + int(length.split(b":")[1])


def test_readers_that_do_not_read_take_little_memory_and_are_disconnected(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connection, "WRITE_SECONDS", 1.0)

    async def scenario() -> None:
        async with listening_client(tmp_path) as (client, address):
            expected = (await client.http.get(STATE)).content
            assert len(expected) > 20 * large_response.IN_MEMORY
            gc.collect()
            tracemalloc.start()
            before, _ = tracemalloc.get_traced_memory()
            lines = [await ask(address) for _ in range(READERS)]
            requests = client.service.metrics.requests.labels("get_state", "200")
            await until(lambda: requests._value.get() >= READERS + 1)
            await asyncio.sleep(0.2)
            gc.collect()
            held, _ = tracemalloc.get_traced_memory()
            tracemalloc.stop()
            assert held - before < READERS * 4 * large_response.IN_MEMORY  # a fifth of the responses
            patient = await ask(address)
            assert (await whole_answer(patient)).endswith(expected)
            await asyncio.sleep(2 * connection.WRITE_SECONDS)
            assert all([await rest(line) < len(expected) for line in lines]), "the server did not wait for them"
            patient.close()

    asyncio.run(scenario())


async def rest(line: socket.socket) -> int:
    """Read to the end, and count the bytes."""
    loop, received = asyncio.get_running_loop(), 0
    with line, contextlib.suppress(ConnectionResetError):
        while piece := await asyncio.wait_for(loop.sock_recv(line, 1 << 16), HANG):
            received += len(piece)
    return received
