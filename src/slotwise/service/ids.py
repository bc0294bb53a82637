"""Unguessable ids and nonces. Random bytes are read from the operating system for many of them at once."""

import os
import struct
from base64 import urlsafe_b64encode

_AT_ONCE = 512  # ids or nonces; many, because each system call releases Python's lock and waits to get it back
_ID_BYTES, _ID_LETTERS = 12, 16
_TICKS, _TICK_MASK = 64, (1 << 40) - 1  # ticks per second; the largest tick has ten hexadecimal digits


class RandomIds:
    """Ids of displays, and nonces."""

    def __init__(self) -> None:
        self._ends_of_ids: list[str] = []
        self._nonces: list[int] = []
        self._tick, self._prefix = -1, ""  # the tick of the last id

    def display_id(self, now: float) -> str:
        """An id of 26 letters, digits, dashes and underscores. The last 16 characters are random.

        Ids created at the same time share a prefix, so they are neighbours in the store's index. Fully random ids would
        each change a different page of the index.
        """
        if not self._ends_of_ids:
            letters = urlsafe_b64encode(os.urandom(_ID_BYTES * _AT_ONCE)).decode()
            self._ends_of_ids = [letters[k : k + _ID_LETTERS] for k in range(0, len(letters), _ID_LETTERS)]
        tick = int(now * _TICKS)
        if tick != self._tick:
            self._tick, self._prefix = tick, f"{tick & _TICK_MASK:010x}"
        return self._prefix + self._ends_of_ids.pop()

    def nonce(self) -> int:
        """A random number of 63 bits."""
        if not self._nonces:
            self._nonces = [number >> 1 for number in struct.unpack(f"{_AT_ONCE}Q", os.urandom(8 * _AT_ONCE))]
        return self._nonces.pop()
