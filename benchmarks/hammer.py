"""A client that costs little: many connections, one thread, requests that were put together beforehand."""

import select
import socket
import time
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

ROOM = 1 << 20


class Hammered(NamedTuple):
    """What a server answered while it was kept busy."""

    seconds: float
    latencies: np.ndarray
    bodies: list[bytes]

    @property
    def rate(self) -> float:
        return self.latencies.size / self.seconds

    def quantile(self, q: float) -> float:
        """In milliseconds."""
        return 1e3 * float(np.quantile(self.latencies, q))


def request(path: str, body: bytes, method: str = "POST") -> bytes:
    head = f"{method} {path} HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n"
    return head.encode() + b"content-length: %d\r\n\r\n" % len(body) + body


def hammer(port: int, make: Callable[[], bytes | None], connections: int, keep: bool = False) -> Hammered:
    """Send what `make` says on every connection, the next as soon as one is answered, until it says None."""
    sockets = [socket.create_connection(("127.0.0.1", port)) for _ in range(connections)]
    waiting, latencies, bodies = {}, [], []
    watch = select.epoll()
    begun = time.perf_counter()

    def send(one: socket.socket) -> None:
        wanted = make()
        if wanted is not None:
            waiting[one.fileno()] = (one, time.perf_counter())
            one.sendall(wanted)

    for one in sockets:
        one.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        watch.register(one.fileno(), select.EPOLLIN)
        send(one)
    while waiting:
        for number, _ in watch.poll():
            one, sent = waiting.pop(number)
            answer = _answer(one)
            latencies.append(time.perf_counter() - sent)
            if keep:
                bodies.append(answer)
            send(one)
    seconds = time.perf_counter() - begun
    for one in sockets:
        one.close()
    watch.close()
    return Hammered(seconds, np.array(latencies), bodies)


def _answer(one: socket.socket) -> bytes:
    content = one.recv(ROOM)
    head, _, body = content.partition(b"\r\n\r\n")
    if not head.startswith(b"HTTP/1.1 20"):
        raise RuntimeError(content[:500].decode("latin-1"))
    length = int(head.lower().partition(b"content-length: ")[2].partition(b"\r\n")[0])
    while len(body) < length:
        body += one.recv(ROOM)
    return body


def times(number: int, wanted: bytes) -> Callable[[], bytes | None]:
    """The same request so many times."""
    left = iter(range(number))
    return lambda: wanted if next(left, None) is not None else None
