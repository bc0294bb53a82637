"""Random ids and nonces that nobody can guess, drawn from the operating system many at a time."""

import os
from base64 import urlsafe_b64encode

_CHUNK = 24 * 512  # each call to the system lets go of Python's lock, and waits to get it back
_NAME, _NONCE = 12, 8  # bytes
_TICKS, _LAST = 64, (1 << 40) - 1  # of a second; as many as ten digits can count


class Randomness:
    """Names and nonces."""

    def __init__(self) -> None:
        self._bytes, self._used = b"", 0

    def name(self, now: float) -> str:
        """A name of 26 letters, digits, dashes and underscores, the last 16 by chance.

        Names of the same time begin alike, so that they stand together in the index of a store: names by chance alone
        would each change another page of it.
        """
        return f"{int(now * _TICKS) & _LAST:010x}{urlsafe_b64encode(self._take(_NAME)).decode()}"

    def nonce(self) -> int:
        """A number of 63 bits."""
        return int.from_bytes(self._take(_NONCE), "big") >> 1

    def _take(self, size: int) -> bytes:
        if self._used + size > len(self._bytes):
            self._bytes, self._used = os.urandom(_CHUNK), 0
        self._used += size
        return self._bytes[self._used - size : self._used]
