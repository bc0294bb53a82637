"""Random ids and nonces that nobody can guess, drawn from the operating system many at a time."""

import os
from base64 import urlsafe_b64encode

_CHUNK = 24 * 512  # each call to the system lets go of Python's lock, and waits to get it back
_NAME, _NONCE = 12, 8  # bytes


class Randomness:
    """Names and nonces."""

    def __init__(self) -> None:
        self._bytes, self._used = b"", 0

    def name(self) -> str:
        """A name of 16 letters, digits, dashes and underscores."""
        return urlsafe_b64encode(self._take(_NAME)).decode()

    def nonce(self) -> int:
        """A number of 63 bits."""
        return int.from_bytes(self._take(_NONCE), "big") >> 1

    def _take(self, size: int) -> bytes:
        if self._used + size > len(self._bytes):
            self._bytes, self._used = os.urandom(_CHUNK), 0
        self._used += size
        return self._bytes[self._used - size : self._used]
