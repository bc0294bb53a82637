"""Unguessable ids and nonces. Random bytes are read from the operating system in large chunks."""

import os
from base64 import urlsafe_b64encode

_CHUNK = 24 * 512  # bytes; large, because each system call releases Python's lock and waits to get it back
_ID_BYTES, _NONCE_BYTES = 12, 8
_TICKS, _TICK_MASK = 64, (1 << 40) - 1  # ticks per second; the largest tick has ten hexadecimal digits


class RandomIds:
    """Ids of displays, and nonces."""

    def __init__(self) -> None:
        self._bytes, self._used = b"", 0

    def display_id(self, now: float) -> str:
        """An id of 26 letters, digits, dashes and underscores. The last 16 characters are random.

        Ids created at the same time share a prefix, so they are neighbours in the store's index. Fully random ids would
        each change a different page of the index.
        """
        return f"{int(now * _TICKS) & _TICK_MASK:010x}{urlsafe_b64encode(self._take(_ID_BYTES)).decode()}"

    def nonce(self) -> int:
        """A random number of 63 bits."""
        return int.from_bytes(self._take(_NONCE_BYTES), "big") >> 1

    def _take(self, size: int) -> bytes:
        if self._used + size > len(self._bytes):
            self._bytes, self._used = os.urandom(_CHUNK), 0
        self._used += size
        return self._bytes[self._used - size : self._used]
