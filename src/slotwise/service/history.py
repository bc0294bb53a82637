"""The history of a page and of the store: who changed a definition or a key, when, and how."""

from typing import Any, Literal, NamedTuple

import msgspec
from msgspec import Struct

from slotwise.service.keys.api_keys import ApiKey

Action = Literal[
    "page", "archive", "item", "items", "state", "purge", "purged", "create_key", "revoke_key", "rotate_key"
]
MOST_CHANGES = 1_000  # kept for each page
STORE = 0  # instead of the number of a page: the changes of keys, and the pages that were deleted for good
MOST_STORE_CHANGES = 10_000
MOST_BYTES = 16 << 10  # of each side of a change; a longer one is replaced by its size
_encode = msgspec.json.Encoder().encode


class Author(NamedTuple):
    """The API key that a change was made with. In dev mode there are no keys: the id is None, and the name is dev."""

    id: str | None
    name: str


DEV = Author(None, "dev")


class Change(Struct):
    """One change. `before` and `after` have only what differs; a field that is null has its default.

    `before` is null for something new.
    """

    number: int
    time: float
    key: str | None
    name: str
    action: Action
    subject: str
    before: Any
    after: Any


def author_of(key: ApiKey | None) -> Author:
    """The author of a change that is made with this key."""
    return DEV if key is None else Author(key.id, key.name)


def differing(before: Any, after: Any) -> tuple[Any, Any]:
    """The fields that differ between two definitions, before and after. A definition may be None."""
    old, new = (None if value is None else msgspec.to_builtins(value) for value in (before, after))
    if not isinstance(old, dict) or not isinstance(new, dict):
        return old, new
    fields = [field for field in {**old, **new} if old.get(field) != new.get(field)]
    return {field: old.get(field) for field in fields}, {field: new.get(field) for field in fields}


def bounded(value: Any) -> str:
    """The value as JSON. If it is too long, only its size is kept."""
    text = _encode(value)
    return (text if len(text) <= MOST_BYTES else _encode({"omitted_bytes": len(text)})).decode()
