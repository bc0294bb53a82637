"""An HTTP client that takes little processor time: many connections, one thread, requests encoded beforehand."""

import select
import socket
import time
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

RECEIVE_BYTES = 1 << 20


class Responses(NamedTuple):
    """The responses of a server under load: the total time, the time of each response, and the bodies if kept."""

    seconds: float
    latencies: np.ndarray
    bodies: list[bytes]

    @property
    def rate(self) -> float:
        return self.latencies.size / self.seconds

    def quantile(self, q: float) -> float:
        """The quantile of the latencies, in milliseconds."""
        return 1e3 * float(np.quantile(self.latencies, q))


def encode_request(path: str, body: bytes, method: str = "POST", key: str | None = None) -> bytes:
    head = f"{method} {path} HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n"
    head += "" if key is None else f"authorization: Bearer {key}\r\n"
    return head.encode() + b"content-length: %d\r\n\r\n" % len(body) + body


def send_requests(
    port: int, next_request: Callable[[], bytes | None], connections: int, keep_bodies: bool = False
) -> Responses:
    """Keep one request in progress on every connection until `next_request` returns None."""
    sockets = [socket.create_connection(("127.0.0.1", port)) for _ in range(connections)]
    pending, latencies, bodies = {}, [], []
    poll = select.epoll()
    started = time.perf_counter()

    def send_next(connection: socket.socket) -> None:
        request = next_request()
        if request is not None:
            pending[connection.fileno()] = (connection, time.perf_counter())
            connection.sendall(request)

    for connection in sockets:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        poll.register(connection.fileno(), select.EPOLLIN)
        send_next(connection)
    while pending:
        for number, _ in poll.poll():
            connection, sent = pending.pop(number)
            body = receive_body(connection)
            latencies.append(time.perf_counter() - sent)
            if keep_bodies:
                bodies.append(body)
            send_next(connection)
    seconds = time.perf_counter() - started
    for connection in sockets:
        connection.close()
    poll.close()
    return Responses(seconds, np.array(latencies), bodies)


def receive_body(connection: socket.socket, status: bytes = b"20") -> bytes:
    """The body of a response, whose status must begin like this."""
    content = connection.recv(RECEIVE_BYTES)
    head, _, body = content.partition(b"\r\n\r\n")
    if not head.startswith(b"HTTP/1.1 " + status):
        raise RuntimeError(content[:500].decode("latin-1"))
    length = int(head.lower().partition(b"content-length: ")[2].partition(b"\r\n")[0])
    while len(body) < length:
        body += connection.recv(RECEIVE_BYTES)
    return body


def repeat(request: bytes, number: int) -> Callable[[], bytes | None]:
    """The same request this many times, then None."""
    left = iter(range(number))
    return lambda: request if next(left, None) is not None else None
