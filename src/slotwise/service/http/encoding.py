"""Encode the content of responses as JSON."""

from collections.abc import Callable
from typing import Any

import msgspec

PIECE = 500  # elements of a long list that are encoded at once, because the encoder keeps the GIL

encode = msgspec.json.Encoder().encode


def encode_large(content: msgspec.Struct | Callable[[], msgspec.Struct]) -> bytes:
    """Encode a content, or the result of a function. Long lists are encoded in pieces.

    This runs on a background thread. Between two pieces, the event loop can continue.
    """
    made = content() if callable(content) else content
    fields = msgspec.structs.fields(made)
    return b"{" + b",".join(encode(field.encode_name) + b":" + _value(made, field.name) for field in fields) + b"}"


def _value(content: msgspec.Struct, field: str) -> bytes:
    value: Any = getattr(content, field)
    if not isinstance(value, list) or len(value) <= PIECE:
        return encode(value)
    pieces = (value[first : first + PIECE] for first in range(0, len(value), PIECE))
    return b"[" + b",".join(encode(piece)[1:-1] for piece in pieces) + b"]"
