"""Decode the fields of an HTML form."""

from collections.abc import Callable
from typing import TypeVar
from urllib.parse import parse_qsl

import msgspec

from slotwise.service.errors import DoesNotFit
from slotwise.service.http.problems import Problem

FORM = "application/x-www-form-urlencoded"
MOST_FIELDS = 20
Decoded = TypeVar("Decoded")


def form_decoder(type_: type[Decoded]) -> Callable[[bytes], Decoded]:
    """A function that decodes a form into this type."""

    def decode(content: bytes) -> Decoded:
        try:
            fields = dict(parse_qsl(content.decode(), keep_blank_values=True, max_num_fields=MOST_FIELDS))
        except ValueError as error:
            raise Problem(400, f"the body is not a form: {error}") from None
        try:
            return msgspec.convert(fields, type_)
        except msgspec.ValidationError as error:
            raise DoesNotFit(str(error)) from None

    return decode
