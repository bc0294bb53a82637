"""Clients of a server that sends unusual or invalid responses."""

import asyncio
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import msgspec
import pytest

from slotwise.checks import BadInput
from slotwise.client.address import ServiceAddress
from slotwise.client.http_client import HttpClient, Unreachable
from slotwise.client.load.fast_connection import ConnectionLost, FastConnection
from slotwise.service.errors import STARTING
from tests.waiting import until


@contextmanager
def responding(*responses: bytes) -> Iterator[str]:
    """A server that sends one response to each of the first connections, for any request, and closes it."""
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def serve() -> None:
            for response in responses:
                connection, _ = listener.accept()
                with connection:
                    connection.recv(65536)
                    connection.sendall(response)

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"
        thread.join(timeout=10)


OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}"


def test_a_server_that_is_not_slotwise_is_refused() -> None:
    refused = pytest.raises(BadInput, match=r"200 OK without JSON")
    with responding(b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\n<p>x") as url, HttpClient(url) as remote, refused:
        remote.call("GET", "/v1/pages")


@pytest.mark.parametrize("response", [b"", b"SSH-2.0-x\r\n"])
def test_a_server_that_does_not_speak_http_is_unreachable(response: bytes) -> None:
    with responding(response) as url, HttpClient(url) as remote, pytest.raises(Unreachable, match=url):
        remote.call("GET", "/v1/pages")


def test_an_error_without_a_reason_names_request_and_status() -> None:
    refused = pytest.raises(BadInput, match=r"GET /v1/pages: 502 Bad Gateway")
    with (
        responding(b"HTTP/1.1 502 Bad Gateway\r\nContent-Length: 0\r\n\r\n") as url,
        HttpClient(url) as remote,
        refused,
    ):
        remote.call("GET", "/v1/pages")


def test_a_closed_idle_connection_is_reopened() -> None:
    with responding(OK, OK) as url, HttpClient(url) as remote:
        assert remote.call("GET", "/a") == {}
        assert remote.call("GET", "/b") == {}


def post(url: str, times: int = 1) -> list[tuple[int, bytes]]:
    async def exchange() -> list[tuple[int, bytes]]:
        connection = FastConnection(ServiceAddress.of(url))
        try:
            responses = []
            for _ in range(times):
                responses.append(await connection.post("/x", b"{}"))
                await until(lambda: connection._protocol.transport.is_closing())  # until the server's close arrives
            return responses
        finally:
            connection.close()

    return asyncio.run(exchange())


def test_a_fast_connection_reads_responses_and_reconnects() -> None:
    with responding(OK, b"HTTP/1.1 503 Service Unavailable\r\ncontent-length:3\r\n\r\nabc") as url:
        assert post(url, times=2) == [(200, b"{}"), (503, b"abc")]


@pytest.mark.parametrize(
    ("response", "reason"),
    [
        (b"", "closed"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhalf", "closed"),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", "Content-Length"),
        (b"220 mail\r\nContent-Length: 1\r\n\r\n", "Content-Length"),
    ],
)
def test_an_incomplete_response_is_an_error(response: bytes, reason: str) -> None:
    with responding(response) as url, pytest.raises(ConnectionLost, match=reason):
        post(url)


def test_a_refused_connection_is_an_error() -> None:
    with pytest.raises(ConnectionLost):
        post("http://127.0.0.1:9")


def test_requests_are_repeated_while_the_service_compiles() -> None:
    problem = msgspec.json.encode({"status": 503, "detail": STARTING, "errors": []})
    starting = b"HTTP/1.1 503 Service Unavailable\r\nContent-Length: %d\r\n\r\n%b" % (len(problem), problem)
    with responding(starting, starting, OK) as url, HttpClient(url) as remote:
        assert remote.call("GET", "/v1/version") == {}
