"""Hostile requests to a real server: each gets a documented 4xx with a problem, at little cost, and never a 500."""

import asyncio
import contextlib
import json
import select
import socket
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import httpx
import psutil
import pytest

from slotwise.service.http.access.access import DevAccess
from slotwise.service.http.app import make_app
from slotwise.service.http.headers import header_values
from slotwise.service.http.listeners import bind
from slotwise.service.http.server import listening
from tests.service.running_service import ITEMS, POSITIONS, Process, open_client, process
from tests.waiting import HANG

CHEAP = 2.0  # seconds of CPU time that the service may spend on a request
JSON = {"content-type": "application/json"}
EVENTS, SHOP = "/v1/events", "/v1/pages/shop"
RECOMMEND = f"{SHOP}/recommendations"
PARAMS = b'{"positions": ["p"], "params": {"sweeps": %b}}'
VIEW = {"type": "view", "display": "a"}


class Bad(NamedTuple):
    """A request, and the statuses that are acceptable for it."""

    statuses: tuple[int, ...]
    method: str
    path: str
    content: bytes = b""
    headers: dict[str, str] = JSON


def body(value: Any) -> bytes:
    return json.dumps(value).encode()


def nested(depth: int) -> bytes:
    return b"[" * depth + b"]" * depth


BAD = {
    "ten megabytes": Bad((413,), "POST", EVENTS, b" " * 10_000_000),
    "ten megabytes of item": Bad((413,), "PUT", f"{SHOP}/items/a", b" " * 10_000_000),
    "forty megabytes of state": Bad((413,), "PUT", f"{SHOP}/state", b" " * 40_000_000),
    "one event of a megabyte": Bad((413,), "POST", EVENTS, body({"events": [{"type": "x" * (1 << 20)}]})),
    "nested arrays": Bad((400, 422), "POST", EVENTS, nested(400_000)),
    "nested arrays in a value": Bad((400, 422), "POST", EVENTS, b'{"events": ' + nested(100_000) + b"}"),
    "nested objects": Bad((400, 422), "POST", RECOMMEND, b'{"a":' * 150_000 + b"1" + b"}" * 150_000),
    "nested params": Bad((400, 422), "PUT", "/v1/pages/deep", PARAMS % nested(9000)),
    "item with a slash": Bad((404,), "PUT", f"{SHOP}/items/a%2Fb", b"{}"),
    "item of two dots": Bad((404, 422), "PUT", f"{SHOP}/items/%2e%2e", b"{}"),
    "item with a null byte": Bad((422,), "PUT", f"{SHOP}/items/a%00b", b"{}"),
    "item with a control character": Bad((422,), "PUT", f"{SHOP}/items/a%C2%9Ab", b"{}"),
    "item with a newline": Bad((422,), "PUT", f"{SHOP}/items/a%0A", b"{}"),
    "item too long": Bad((422,), "PUT", f"{SHOP}/items/{'x' * 129}", b"{}"),
    "item that is not utf-8": Bad((400,), "PUT", f"{SHOP}/items/%ff", b"{}"),
    "item with half a character": Bad((400,), "PUT", f"{SHOP}/items/%ED%A0%80", b"{}"),
    "query that is not utf-8": Bad((400,), "POST", f"{RECOMMEND}?on_shortage=%ff", b"{}"),
    "page with a slash": Bad((404,), "GET", "/v1/pages/a%2Fb"),
    "page in unicode": Bad((422,), "PUT", "/v1/pages/caf%C3%A9", body({"positions": ["p"]})),
    "page with a null byte": Bad((422,), "PUT", "/v1/pages/a%00b", body({"positions": ["p"]})),
    "page with a null byte, read": Bad((404, 422), "GET", "/v1/pages/a%00b"),
    "page with half a character": Bad((400, 404, 422), "GET", "/v1/pages/%ED%A0%80"),
    "page that is not utf-8": Bad((400, 404, 422), "GET", "/v1/pages/%FF%FE"),
    "page that is an injection": Bad((404, 422), "GET", "/v1/pages/'%3B%20DROP%20TABLE%20pages%3B--"),
    "page too long": Bad((404, 414, 422), "GET", f"/v1/pages/{'x' * 8000}"),
    "pin nowhere": Bad((404,), "PUT", f"{SHOP}/pins/default/%00", body({"item": "hat"})),
    "lone surrogate": Bad((400, 422), "POST", RECOMMEND, b'{"id": "\\ud800"}'),
    "lone surrogate inside": Bad((400, 422), "POST", RECOMMEND, b'{"eligible": ["\\udc00 hat"]}'),
    "bytes that are not utf-8": Bad((400,), "POST", RECOMMEND, b'{"id": "\xff\xfe"}'),
    "overlong utf-8": Bad((400,), "POST", RECOMMEND, b'{"id": "\xc0\x80"}'),
    "null byte in an id": Bad((422,), "POST", RECOMMEND, b'{"id": "a\\u0000b"}'),
    "ten thousand eligible": Bad((422,), "POST", RECOMMEND, body({"eligible": [f"item{k}" for k in range(10_000)]})),
    "2,000 unknown eligible": Bad((422,), "POST", RECOMMEND, body({"eligible": [f"item{k}" for k in range(2_000)]})),
    "five hundred and one events": Bad((422,), "POST", EVENTS, body({"events": [VIEW] * 501})),
    "no events": Bad((422,), "POST", EVENTS, body({"events": []})),
    "wrong content type": Bad((415,), "POST", RECOMMEND, b"{}", {"content-type": "application/xml"}),
    "no content type": Bad((415,), "POST", RECOMMEND, b"{}", {}),
    "form": Bad((415,), "POST", EVENTS, b"a=b", {"content-type": "application/x-www-form-urlencoded"}),
    "compressed": Bad((400, 415), "POST", EVENTS, b"\x1f\x8b\x08\x00", {**JSON, "content-encoding": "gzip"}),
    "NaN": Bad((400,), "PUT", f"{SHOP}/items/a", b'{"prior": {"clicks": NaN, "views": 1}}'),
    "infinity": Bad((400,), "PUT", f"{SHOP}/items/a", b'{"prior": {"clicks": 1, "views": Infinity}}'),
    "a number beyond doubles": Bad((400, 422), "PUT", f"{SHOP}/items/a", b'{"prior": {"clicks": 1, "views": 1e999}}'),
    "a whole number of a thousand digits": Bad(
        (400, 422), "PUT", f"{SHOP}/items/a", b'{"prior": {"clicks": 1, "views": 1' + b"0" * 1000 + b"}}"
    ),
    "an infinite window": Bad((422,), "PATCH", SHOP, b'{"click_window": 1e308}'),
    "a negative window": Bad((422,), "PATCH", SHOP, b'{"click_window": -1}'),
    "far too many sweeps": Bad((422,), "PUT", "/v1/pages/slow", PARAMS % b"1000000000000000"),
    "sweeps beyond integers": Bad((422,), "PUT", "/v1/pages/slow", PARAMS % (b"1" + b"0" * 30)),
    "a stale version": Bad((412,), "PATCH", SHOP, b"{}", {**JSON, "if-match": '"999999999999999999999"'}),
    "an invalid version": Bad((412,), "PATCH", SHOP, b"{}", {**JSON, "if-match": "latest"}),
    "negative counts": Bad((422,), "PUT", f"{SHOP}/state", body({"displays": -1, "counts": []})),
    "too many clicks for views": Bad((422,), "PUT", f"{SHOP}/items/a", body({"prior": {"clicks": 2, "views": 1}})),
    "an unknown field": Bad((422,), "POST", RECOMMEND, b'{"eligable": []}'),
    "an unknown segment": Bad((422,), "POST", RECOMMEND, b'{"segment": "unknown"}'),
    "an array": Bad((422,), "POST", RECOMMEND, b"[]"),
    "nothing": Bad((400,), "POST", EVENTS, b""),
    "a truncated body": Bad((400,), "POST", EVENTS, b'{"events": [{"type"'),
    "wrong method": Bad((405,), "DELETE", EVENTS),
    "wrong method on a page": Bad((405,), "POST", SHOP, b"{}"),
    "an unknown method": Bad((400,), "BREW", EVENTS),
    "no such path": Bad((404,), "GET", "/v2/pages"),
    "another host": Bad((403,), "GET", "/v1/pages", b"", {"host": "evil.example"}),
    "another site": Bad((403,), "POST", EVENTS, b"{}", {**JSON, "origin": "https://evil.example"}),
    "through a proxy": Bad((403,), "GET", "/v1/pages", b"", {"x-forwarded-for": "10.0.0.1"}),
    "no choice": Bad((422,), "POST", f"{RECOMMEND}?on_shortage=", b"{}"),
    "no format": Bad((422,), "GET", f"{SHOP}/log?format="),
    "an unknown choice": Bad((422,), "POST", f"{RECOMMEND}?on_shortage=%00", b"{}"),
}  # fmt: skip


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Process]:
    with process(tmp_path_factory.mktemp("hostile") / "store.db") as running:
        running.http.put(SHOP, json={"positions": POSITIONS}).raise_for_status()
        running.http.post(f"{SHOP}/items:batch", json={"items": [{"item": item} for item in ITEMS]}).raise_for_status()
        yield running
        assert_unharmed(running)
        assert running.logged() == []


def assert_unharmed(server: Process) -> None:
    assert server.http.get("/readyz").status_code == 200
    metrics = server.http.get("/metrics").text
    assert "slotwise_store_up 1.0" in metrics
    failed = [line for line in metrics.splitlines() if 'status="5' in line and 'route="readyz"' not in line]
    assert failed == []
    assert server.http.get("/v1/pages").json() == {"pages": ["shop"]}
    shown = server.http.post(RECOMMEND, json={}).json()
    assert not shown["degraded"]


@pytest.mark.parametrize("name", BAD)
def test_a_hostile_request_gets_its_documented_status(server: Process, name: str) -> None:
    bad = BAD[name]
    before = cpu_seconds(server)
    answer = server.http.request(bad.method, bad.path, content=bad.content or None, headers=bad.headers)
    assert answer.status_code in bad.statuses, answer.text
    assert_problem(answer)
    assert cpu_seconds(server) - before < CHEAP
    if bad.method == "PUT" and "pages/" in bad.path:
        assert server.http.get("/v1/pages").json() == {"pages": ["shop"]}, "a bad request creates nothing"


def cpu_seconds(server: Process) -> float:
    """CPU time so far. Unlike the latency, it does not depend on the load of the machine."""
    times = psutil.Process(server.process.pid).cpu_times()
    return float(times.user + times.system)


def assert_problem(answer: httpx.Response) -> None:
    assert answer.headers["content-type"] == "application/problem+json"
    problem = answer.json()
    assert problem["status"] == answer.status_code
    assert problem["request_id"]
    assert problem["detail"]
    if answer.status_code == 405:
        assert answer.headers["allow"]


def test_unusual_but_valid_names_are_returned_unchanged(server: Process) -> None:
    for name in ("<script>alert(1)</script>".replace("/", ""), "'; DROP TABLE items;--", "😀 é ‮", "%41", "a b", "?#&"):
        path = f"{SHOP}/items/" + "".join(f"%{byte:02X}" for byte in name.encode())
        assert server.http.put(path, json={}).status_code == 201
        shown = server.http.post(RECOMMEND, json={"eligible": [name]}).json()
        assert [row["item"] for row in shown["items"]] == [name]
        assert server.http.delete(path).status_code == 204


def test_the_last_of_duplicate_keys_is_used(server: Process) -> None:
    answer = server.http.post(RECOMMEND, content=b'{"eligible": ["hat"], "eligible": ["tie"]}', headers=JSON)
    assert [row["item"] for row in answer.json()["items"]] == ["tie"]


def connect(server: Process) -> socket.socket:
    host, port = server.address.removeprefix("http://").split(":")
    return socket.create_connection((host, int(port)), timeout=HANG)


def head(server: Process, length: int) -> bytes:
    host = server.address.removeprefix("http://")
    lines = [f"POST {EVENTS} HTTP/1.1", f"Host: {host}", "Content-Type: application/json", f"Content-Length: {length}"]
    return "\r\n".join([*lines, "", ""]).encode()


def test_clients_that_disconnect_within_a_body_cause_no_error(server: Process) -> None:
    for _ in range(20):
        with connect(server) as line:
            line.sendall(head(server, 1000) + b'{"events": [')
    assert_unharmed(server)


def test_clients_that_never_finish_a_request_get_408(server: Process) -> None:
    """A hundred clients that stop in a body, in a head or before it get 408, and do not delay other requests."""
    lines = [connect(server) for _ in range(100)]
    whole = head(server, 1000) + b'{"events": ['
    for k, line in enumerate(lines):
        line.sendall((whole, whole[:40], b"")[k % 3])
    assert {server.http.post(RECOMMEND, json={}).status_code for _ in range(50)} == {201}
    assert select.select(lines, [], [], 0.0)[0] == [], "the requests were served only after the others got 408"
    answers = [line.recv(4096) for line in lines]
    for line in lines:
        line.close()
    assert {answer.split(b" ", 2)[1] for answer in answers} == {b"408"}


OFFER = b"Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABk\r\n"
CHUNKED = b"Transfer-Encoding: chunked\r\n\r\n"


def request_head(*headers: bytes, method: bytes = b"POST", path: str = RECOMMEND) -> bytes:
    """A request head without the empty line that ends it."""
    lines = [b"%s %s HTTP/1.1" % (method, path.encode()), b"Host: localhost", b"Content-Type: application/json"]
    return b"\r\n".join(lines) + b"\r\n" + b"".join(headers)


def answers_to(server: Process, *pieces: bytes) -> list[bytes]:
    """The bodies of all responses, after the server has closed the connection."""
    with connect(server) as line:
        for piece in pieces:
            line.sendall(piece)
            time.sleep(0.05)
        received = b""
        with contextlib.suppress(ConnectionResetError):
            while piece := line.recv(1 << 16):
                received += piece
    return [answer.partition(b"\r\n\r\n")[2] for answer in received.split(b"HTTP/1.1 ")[1:]]


@pytest.mark.parametrize("pieces", [1, 3], ids=["whole", "in pieces"])
@pytest.mark.parametrize("chunked", [False, True], ids=["length", "chunked"])
def test_an_upgrade_is_declined_and_the_body_is_read(server: Process, pieces: int, chunked: bool) -> None:
    """Java's HTTP client offers HTTP/2 with the first request of a connection."""
    ask = b'{"eligible": ["hat"]}'
    sent = CHUNKED + b"15\r\n%s\r\n0\r\n\r\n" % ask if chunked else b"Content-Length: 21\r\n\r\n" + ask
    sent = request_head(OFFER) + sent + request_head(OFFER, b"\r\n", method=b"GET", path="/livez")
    sent += request_head(b"Connection: close\r\n\r\n", method=b"GET", path="/livez")
    size = len(sent) // pieces + 1
    shown, *alive = answers_to(server, *(sent[k : k + size] for k in range(0, len(sent), size)))
    assert [row["item"] for row in json.loads(shown)["items"]] == ["hat"]
    assert alive == [b'{"status":"ok"}'] * 2


def test_trailers_do_not_override_headers(server: Process) -> None:
    evil = request_head(b"Connection: close\r\n", CHUNKED).replace(b"localhost", b"evil.example")
    (answer,) = answers_to(server, evil + b"2\r\n{}\r\n0\r\nHost: localhost\r\n\r\n")
    assert json.loads(answer)["status"] == 403


def flood(line: socket.socket, piece: bytes) -> None:
    """Send until the server closes the connection."""
    deadline = time.monotonic() + HANG
    while time.monotonic() < deadline:
        line.sendall(piece)
        time.sleep(0.005)


@pytest.mark.parametrize("piece", [b"a: b\r\n", b"a"], ids=["many", "long"])
def test_the_size_of_trailers_is_limited(server: Process, piece: bytes) -> None:
    """Endless trailers would fill the memory. A request without a body is answered before they arrive."""
    with connect(server) as line:
        line.sendall(request_head(CHUNKED, b"0\r\n", method=b"GET", path="/livez"))
        assert b" 200 OK" in line.recv(4096)
        with pytest.raises(OSError, match=r"[Rr]eset|[Bb]roken"):
            flood(line, piece * 10_000)


def test_empty_lines_do_not_keep_a_connection_open(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with open_client(tmp_path) as client:
            with bind("127.0.0.1", 0) as listener:
                async with listening(make_app(client.service, DevAccess()), listener):
                    reader, writer = await asyncio.open_connection(*listener.getsockname())
                    writer.write(request_head(b"\r\n", method=b"GET", path="/livez"))
                    await reader.readuntil(b"ok")
                    writer.write(b"\r\n")
                    await asyncio.wait_for(reader.read(), HANG)
                    assert reader.at_eof()
                    writer.close()

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("slotwise.service.http.server.KEEP_ALIVE_SECONDS", 0.3)
        asyncio.run(scenario())


@pytest.mark.parametrize("raw", [b"\x16\x03\x01\x00\xff", b"GET\r\n\r\n", b"GET / HTTP/9.9\r\n\r\n", b"\0" * 10_000])
def test_a_connection_that_does_not_speak_http_is_closed(server: Process, raw: bytes) -> None:
    with connect(server) as line:
        line.sendall(raw)
        with contextlib.suppress(OSError):  # closed by the server already
            line.shutdown(socket.SHUT_WR)
        try:
            answer = line.recv(4096)
        except ConnectionResetError:
            answer = b""
        assert answer == b"" or answer.split(b" ", 2)[1] == b"400"


@pytest.mark.parametrize(
    ("sent", "then", "status"),
    [
        (b"GET /livez HTTP/1.1\r\nhost: localhost\r\n", b"x-more: " + b"x" * 100_000, b"431"),
        (b"GET /livez HTTP/1.1\r\nhost: localhost\r\n", b"x: y\r\n" * 20_000, b"431"),
        (b"GET /livez HTTP/1.1\r\nhost: localhost\r\n", b"x: " + b"y" * 66_000 + b"\r\n\r\n", b"431"),
        (b"BREW /livez HTTP/1.1\r\n\r\n", b"", b"400"),
    ],
)
def test_a_head_that_cannot_be_served_gets_a_problem(server: Process, sent: bytes, then: bytes, status: bytes) -> None:
    with connect(server) as line:
        line.sendall(sent)
        time.sleep(0.2)  # so that the head arrives in two pieces
        line.sendall(then)
        answer = line.recv(4096)
        assert answer.split(b" ", 2)[1] == status
        assert b"application/problem+json" in answer
        with contextlib.suppress(ConnectionResetError):
            assert line.recv(4096) == b""


@pytest.mark.parametrize(
    "target", [b"http://host", b"http://host?x", b"http://[::1", b"http://host:99999/", b"http://"]
)
@pytest.mark.parametrize("method", [b"GET", b"OPTIONS"])
def test_a_target_without_a_path_gets_400(server: Process, method: bytes, target: bytes) -> None:
    assert status_and_body(server, method + b" " + target + b" HTTP/1.1\r\nhost: localhost\r\n\r\n") == [400]


@pytest.mark.parametrize("target", [b"host:1", b"host", b"/livez", b"*", b"http://host/livez"])
def test_the_service_is_no_proxy(server: Process, target: bytes) -> None:
    assert status_and_body(server, b"CONNECT " + target + b" HTTP/1.1\r\nhost: localhost\r\n\r\n") == [400]


LIVE = request_head(b"\r\n", method=b"GET", path="/livez")
ALIVE = b'{"status":"ok"}'


def status_and_body(server: Process, sent: bytes, then: Callable[[socket.socket], None] = lambda _: None) -> list[Any]:
    """The status of each response to these bytes, until the server closes the connection."""
    with connect(server) as line:
        line.sendall(sent)
        then(line)
        received = b""
        with contextlib.suppress(ConnectionResetError):
            while piece := line.recv(1 << 16):
                received += piece
    answers = [answer.partition(b"\r\n\r\n") for answer in received.split(b"HTTP/1.1 ")[1:]]
    for head_lines, _, content in answers:
        if not head_lines.startswith(b"2"):
            assert b"application/problem+json" in head_lines
            assert json.loads(content)["status"] == int(head_lines[:3])
    return [int(head_lines[:3]) for head_lines, _, _ in answers]


@pytest.mark.parametrize("size", [70_000, 99_000, 200_000])
def test_a_long_head_in_one_piece_is_refused_like_one_in_many(server: Process, size: int) -> None:
    """The size of a head counts, whatever arrives with it: a request before it, or pieces of any length."""
    long = request_head(b"x-more: " + b"x" * size + b"\r\n\r\n", method=b"GET", path="/livez")
    assert status_and_body(server, long) == [431]
    assert status_and_body(server, LIVE + long) == [200, 431]
    short = request_head(b"x-more: " + b"x" * 65_000 + b"\r\n\r\n", method=b"GET", path="/livez")
    assert status_and_body(server, short * 2 + b"bad") == [200, 200, 400]


@pytest.mark.parametrize(
    "bad",
    [
        request_head(CHUNKED) + b"zz\r\n{}\r\n0\r\n\r\n",
        request_head(CHUNKED) + b"-2\r\n{}\r\n0\r\n\r\n",
        request_head(CHUNKED) + b"2\r\n{}xx0\r\n\r\n",
        request_head(b"Transfer-Encoding: gzip\r\n\r\n") + b"{}",
        request_head(b"Transfer-Encoding: chunked\r\nContent-Length: 2\r\n\r\n") + b"2\r\n{}\r\n0\r\n\r\n",
        request_head(b"Content-Length: two\r\n\r\n{}"),
        request_head(b"Content-Length: 2\r\nContent-Length: 3\r\n\r\n{}"),
        request_head(b"no colon\r\n\r\n"),
        b"BREW /livez HTTP/1.1\r\nHost: localhost\r\n\r\n",
    ],
    ids=["size", "negative", "no line end", "gzip", "both", "text", "two lengths", "no colon", "method"],
)
def test_a_malformed_request_gets_400_after_the_responses_to_earlier_ones(server: Process, bad: bytes) -> None:
    assert status_and_body(server, bad) == [400]
    assert status_and_body(server, LIVE + bad + LIVE) == [200, 400]
    recommend = request_head(b"Content-Length: 2\r\n\r\n{}")
    assert status_and_body(server, recommend * 2 + bad) == [201, 201, 400]


def test_a_malformed_chunk_that_arrives_later_gets_400(server: Process) -> None:
    def send_chunks(line: socket.socket) -> None:
        for piece in (b"2\r\n{}\r\n", b"zz\r\n"):
            time.sleep(0.1)
            line.sendall(piece)

    assert status_and_body(server, request_head(CHUNKED), send_chunks) == [400]


def test_a_request_with_a_malformed_body_is_not_carried_out(server: Process) -> None:
    server.http.put(f"{SHOP}/items/kept", json={}).raise_for_status()
    gzip = request_head(b"Transfer-Encoding: gzip\r\n\r\n", method=b"DELETE", path=f"{SHOP}/items/kept")
    assert status_and_body(server, gzip) == [400]
    assert server.http.get(f"{SHOP}/items/kept").json()["state"] == "active"
    server.http.delete(f"{SHOP}/items/kept").raise_for_status()


def half_close(line: socket.socket) -> None:
    line.shutdown(socket.SHUT_WR)


def test_a_client_that_closes_its_sending_side_gets_its_responses(server: Process) -> None:
    recommend = request_head(b"Content-Length: 2\r\n\r\n{}")
    assert status_and_body(server, recommend, half_close) == [201]
    assert status_and_body(server, recommend * 3 + LIVE, half_close) == [201, 201, 201, 200]
    assert status_and_body(server, request_head(b"\r\n", method=b"GET", path=f"{SHOP}/log"), half_close) == [200]


def test_a_request_that_ends_too_early_gets_400(server: Process) -> None:
    cut = request_head(b"Content-Length: 2\r\n\r\n{")
    assert status_and_body(server, cut, half_close) == [400]
    assert status_and_body(server, LIVE + cut, half_close) == [200, 400]
    assert status_and_body(server, LIVE + request_head(), half_close) == [200, 400]


@pytest.mark.parametrize("name", [b"Host", b"Origin", b"Content-Type"])
@pytest.mark.parametrize("values", [(b"localhost", b"evil.example"), (b"evil.example", b"localhost")])
def test_a_repeated_header_gets_400(server: Process, name: bytes, values: tuple[bytes, bytes]) -> None:
    repeated = b"".join(b"%s: %s\r\n" % (name, value) for value in values)
    assert status_and_body(server, request_head(repeated, b"Connection: close\r\n\r\n")) == [400]


def test_repeated_headers_with_lists_are_joined() -> None:
    pairs = [(b"if-match", b'"1"'), (b"accept", b"*/*"), (b"if-match", b'"2"')]
    assert header_values(pairs) == {b"if-match": b'"1", "2"', b"accept": b"*/*"}
