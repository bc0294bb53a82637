"""Decode a large JSON body in pieces. The decoder keeps the GIL, so one call would block the event loop for long."""

import re
from typing import Any, Generic, TypeVar, get_args, get_type_hints

import msgspec

LARGE = 100_000  # bytes; smaller bodies are decoded at once
_MOST_TRIES = 20  # for one piece; a name with a bracket in it takes one more

Decoded = TypeVar("Decoded", bound=msgspec.Struct)
_COMMA, _END = re.compile(rb"\s*,\s*"), re.compile(rb"\s*\]")


class PieceDecoder(Generic[Decoded]):
    """Decodes bodies of one type, which has a field with a long list."""

    def __init__(self, type_: type[Decoded], field: str, piece: int = 50_000) -> None:
        (element,) = get_args(get_type_hints(type_)[field])
        (limits,) = get_type_hints(type_, include_extras=True)[field].__metadata__
        self._most = limits.max_length
        self._field, self._piece = field, piece  # bytes
        self._start = re.compile(rb'"%s"\s*:\s*\[' % field.encode())
        self._decode = msgspec.json.Decoder(type_).decode
        self._decode_list = msgspec.json.Decoder(list[element]).decode  # type: ignore[valid-type]

    def decode(self, content: bytes) -> Decoded | None:
        """The body, or None if it must be decoded at once: only that says what is wrong with it.

        A piece ends at a closing brace. If the brace is part of a name, the piece is not valid JSON, and the next brace
        is tried. So a piece that is valid JSON has all of its elements.
        """
        start = self._start.search(content)
        if start is None:
            return None
        try:
            elements, end = self._elements(content, start.end())
            body = self._decode(content[: start.end()] + content[end:])
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError, _NoPieces):
            return None
        if getattr(body, self._field) or len(elements) > self._most:
            return None  # the field is given twice, or the list is too long
        setattr(body, self._field, elements)
        return body

    def _elements(self, content: bytes, start: int) -> tuple[list[Any], int]:
        """The elements of the list, and the index of its closing bracket."""
        elements: list[Any] = []
        at_end = _END.match(content, start)
        while at_end is None:
            piece, start = self._next_piece(content, start)
            elements += piece
            at_end = _END.match(content, start)
            if at_end is None:
                comma = _COMMA.match(content, start)
                if comma is None:
                    raise _NoPieces
                start = comma.end()
        return elements, at_end.end() - 1

    def _next_piece(self, content: bytes, start: int) -> tuple[list[Any], int]:
        """The next elements, and the index after the last of them."""
        last = start + self._piece
        if last >= len(content):
            last = content.rfind(b"}", start, content.rfind(b"]") + 1) - 1  # the rest
        for _ in range(_MOST_TRIES):
            last = content.find(b"}", max(last, start))
            if last < 0:
                break
            try:
                return self._decode_list(b"[" + content[start : last + 1] + b"]"), last + 1
            except msgspec.ValidationError:
                raise
            except (msgspec.DecodeError, UnicodeDecodeError):
                last += 1
        raise _NoPieces


class _NoPieces(Exception):
    """The content cannot be split."""
