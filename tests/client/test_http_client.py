"""A service that answers in odd ways: sockets that say what no service of ours would."""

import asyncio
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import msgspec
import pytest

from slotwise.checks import BadInput
from slotwise.client.address import Address
from slotwise.client.http_client import Remote, Unreachable
from slotwise.client.load.fast_connection import Lost, Stream
from slotwise.service.errors import STARTING


@contextmanager
def saying(*answers: bytes) -> Iterator[str]:
    """A server that says this to the first connections, whatever it is asked, and closes each."""
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def serve() -> None:
            for answer in answers:
                connection, _ = listener.accept()
                with connection:
                    connection.recv(65536)
                    connection.sendall(answer)

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"
        thread.join(timeout=10)


OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}"


def test_what_is_no_service_is_told() -> None:
    told = pytest.raises(BadInput, match="answers 200 OK and no JSON: it does not seem to be a slotwise service")
    with saying(b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\n<p>x") as url, Remote(url) as remote, told:
        remote.ok("GET", "/v1/pages")


@pytest.mark.parametrize("answer", [b"", b"SSH-2.0-x\r\n"])
def test_what_is_no_http_is_told(answer: bytes) -> None:
    with saying(answer) as url, Remote(url) as remote, pytest.raises(Unreachable, match="does not answer: "):
        remote.ok("GET", "/v1/pages")


def test_a_refusal_without_a_reason_is_told() -> None:
    told = pytest.raises(BadInput, match="refuses GET /v1/pages: 502 Bad Gateway, without a reason")
    with saying(b"HTTP/1.1 502 Bad Gateway\r\nContent-Length: 0\r\n\r\n") as url, Remote(url) as remote, told:
        remote.ok("GET", "/v1/pages")


def test_a_connection_that_idled_away_is_made_anew() -> None:
    with saying(OK, OK) as url, Remote(url) as remote:
        assert remote.ok("GET", "/a") == {}
        assert remote.ok("GET", "/b") == {}


def post(url: str, times: int = 1) -> list[tuple[int, bytes]]:
    async def story() -> list[tuple[int, bytes]]:
        stream = Stream(Address.of(url))
        try:
            answers = []
            for _ in range(times):
                answers.append(await stream.post("/x", b"{}"))
                await asyncio.sleep(0.05)  # the end of the connection arrives
            return answers
        finally:
            stream.close()

    return asyncio.run(story())


def test_a_stream_reads_answers_and_connects_anew() -> None:
    with saying(OK, b"HTTP/1.1 503 Service Unavailable\r\ncontent-length:3\r\n\r\nabc") as url:
        assert post(url, times=2) == [(200, b"{}"), (503, b"abc")]


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        (b"", "the connection was closed"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhalf", "the connection was closed"),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", "an answer without a length"),
        (b"220 mail\r\nContent-Length: 1\r\n\r\n", "an answer without a length"),
    ],
)
def test_a_stream_says_when_an_answer_is_lost(answer: bytes, why: str) -> None:
    with saying(answer) as url, pytest.raises(Lost, match=why):
        post(url)


def test_a_stream_says_when_nobody_listens() -> None:
    with pytest.raises(Lost):
        post("http://127.0.0.1:9")


def test_a_service_that_compiles_is_waited_for() -> None:
    problem = msgspec.json.encode({"status": 503, "detail": STARTING, "errors": []})
    starting = b"HTTP/1.1 503 Service Unavailable\r\nContent-Length: %d\r\n\r\n%b" % (len(problem), problem)
    with saying(starting, starting, OK) as url, Remote(url) as remote:
        assert remote.ok("GET", "/v1/version") == {}
