"""Schema: which columns of a log say what was shown where, and whether it was clicked."""

import tomllib
from pathlib import Path
from typing import Any

import msgspec

from slotwise.checks import BadInput, known

MOST_POSITIONS = 20
ANY_POSITION = "*"
ONE_PAGE = "all"  # the name of the page when a log has no column for it
FIELDS = ("page", "item", "position", "shown", "clicked")
KINDS = ("csv", "ndjson", "parquet")


class Schema(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """How to read a log: one line per displayed position, or lines that are counted already.

    Without `shown` each line is one display of one item. With it a line stands for that many, `clicked` of them
    clicked; unless `sessions` says that a line is one display all the same, clicked when `clicked` is above zero.
    """

    kind: str = "csv"
    page: str | None = "page"  # None: the whole log is one page
    item: str = "item"
    position: str = "position"
    shown: str | None = None
    clicked: str = "clicked"
    sessions: bool = False
    whole_ids: bool = False  # pages and items are whole numbers, and anything else is malformed
    positions: tuple[str, ...] | None = None  # their names in order; None: numbers from 1; ("*",): any name
    delimiter: str = ","
    quote: str = '"'
    names: tuple[str, ...] | None = None  # the columns of files without a header
    min_shown: int = 0
    min_items: int = 1

    @property
    def used(self) -> dict[str, str]:
        """The columns that are read, by the field they fill."""
        found = {field: getattr(self, field) for field in FIELDS}
        return {field: column for field, column in found.items() if column is not None}

    @property
    def allowed(self) -> tuple[str, ...] | None:
        """The positions that may occur; None when any may."""
        if self.positions is None:
            return tuple(str(k + 1) for k in range(MOST_POSITIONS))
        return None if self.positions == (ANY_POSITION,) else self.positions

    @property
    def numbered(self) -> bool:
        """Whether the positions are the numbers from 1 on: cheaper to tell than names."""
        return self.allowed is not None and list(self.allowed) == [str(k + 1) for k in range(len(self.allowed))]

    @property
    def numbers(self) -> set[str]:
        """The fields that hold whole numbers."""
        ids = {"page", "item"} if self.whole_ids else set()
        return {"clicked", "shown"} | ids | ({"position"} if self.numbered else set())

    def ordered(self, found: set[str]) -> list[str]:
        """The positions of one page in the order declared; numbers and then names, if none was."""
        return sorted(found, key=self.allowed.index if self.allowed else natural)


def natural(name: str) -> tuple[bool, int, str]:
    """A key that sorts numbers by value, before names."""
    whole = name.isascii() and name.isdigit()
    return (not whole, int(name) if whole else 0, name)


def changed(schema: Schema, changes: dict[str, Any]) -> Schema:
    """The schema with some of its fields set anew, checked."""
    for name in changes:
        known("field of a log's schema", name, Schema.__struct_fields__)
    try:
        fresh = msgspec.convert({**msgspec.structs.asdict(schema), **changes}, Schema)
    except msgspec.ValidationError as error:
        raise BadInput(f"not a schema of a log: {error}") from None
    return check(fresh)


def check(schema: Schema) -> Schema:
    """The schema itself when it can be used."""
    known("kind of log", schema.kind, KINDS)
    used = list(schema.used.values())
    if "" in used or len(set(used)) < len(used):
        raise BadInput(f"the columns {', '.join(map(repr, used))} must be different, and not empty")
    if len(schema.delimiter.encode()) != 1 or schema.delimiter in "\r\n" or schema.delimiter == schema.quote:
        raise BadInput(f"delimiter = {schema.delimiter!r} is not one character such as ',' or a tab")
    if len(schema.quote.encode()) > 1 or schema.quote in ("\r", "\n"):
        raise BadInput(f"quote = {schema.quote!r} is not one character; '' means that nothing is quoted")
    if schema.positions is not None:
        twice = len(set(schema.positions)) < len(schema.positions)
        if not schema.positions or "" in schema.positions or twice:
            raise BadInput(f"positions = {list(schema.positions)} are not different names")
    if schema.sessions and schema.shown is None:
        raise BadInput("sessions = true needs a column of impressions in shown")
    if schema.min_shown < 0 or schema.min_items < 1:
        raise BadInput(f"min_shown = {schema.min_shown} must be at least 0, min_items = {schema.min_items} at least 1")
    return schema


def from_toml(path: Path) -> dict[str, Any]:
    """What a small TOML file says of a schema: the fields of `Schema` by name."""
    try:
        return tomllib.loads(path.read_text("utf-8"))
    except OSError as error:
        raise BadInput(f"cannot read {str(path)!r}: {error.strerror}") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise BadInput(f"{str(path)!r} is not TOML: {error}") from None
