"""Encode the content of responses as JSON."""

from collections.abc import Callable, Iterator
from typing import Any

import msgspec

PIECE = 500  # elements of a long list that are encoded at once, because the encoder keeps the GIL

encode = msgspec.json.Encoder().encode
LargeContent = msgspec.Struct | bytes | Callable[[], msgspec.Struct | bytes | Iterator[bytes]]


def encode_in_pieces(content: LargeContent) -> Iterator[bytes]:
    """Encode a content, or the result of a function. Long lists are encoded in pieces. Bytes are already encoded.

    A function may also return an iterator of bytes. This runs on a background thread. Between two pieces, the event
    loop can continue.
    """
    made = content() if callable(content) else content
    if isinstance(made, bytes):
        yield made
        return
    if isinstance(made, Iterator):
        yield from made
        return
    separator = b"{"
    for field in msgspec.structs.fields(made):
        yield separator + encode(field.encode_name) + b":"
        yield from _value(getattr(made, field.name))
        separator = b","
    yield b"}"


def _value(value: Any) -> Iterator[bytes]:
    if not isinstance(value, list) or len(value) <= PIECE:
        yield encode(value)
        return
    separator = b"["
    for first in range(0, len(value), PIECE):
        yield separator + encode(value[first : first + PIECE])[1:-1]
        separator = b","
    yield b"]"
