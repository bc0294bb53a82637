"""Schema: which columns of a log hold the query, the item, the position, the impressions and the clicks."""

import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec

from slotwise.checks import BadInput, one_of

MAX_POSITIONS = 20
ANY_POSITION = "*"
SINGLE_QUERY = "all"  # the name of the only query, if a log has no column of queries
FIELDS = ("query", "item", "position", "shown", "clicked", "display")
KINDS = ("csv", "ndjson", "parquet")


class Schema(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """How to read a log. A line is one displayed position, or the sum of several displays.

    Without a `shown` column, each line is one display of one item. With a `shown` column, a line is the sum of `shown`
    displays, and `clicked` is their number of clicks. With `sessions`, a line is always one display, and it was clicked
    if `clicked` is above zero.
    """

    kind: str = "csv"
    query: str | None = "query"  # None: the whole log is one query
    item: str = "item"
    position: str = "position"
    shown: str | None = None
    clicked: str = "clicked"
    display: str | None = None  # the display to which a line belongs; only `read_sessions` needs it
    sessions: bool = False
    whole_ids: bool = False  # queries and items are whole numbers; anything else is malformed
    positions: tuple[str, ...] | None = None  # names in order; None: numbers from `first_position`; ("*",): any name
    first_position: int = 1  # the number of the first position, 0 or 1
    delimiter: str = ","
    quote: str = '"'
    names: tuple[str, ...] | None = None  # the columns of files without a header
    min_shown: int = 0
    min_items: int = 1

    @property
    def used(self) -> dict[str, str]:
        """The columns that are read, as {schema field: column}."""
        columns = {field: getattr(self, field) for field in FIELDS}
        return {field: column for field, column in columns.items() if column is not None}

    @property
    def allowed_positions(self) -> tuple[str, ...] | None:
        """The positions that may occur, or None if any name may occur."""
        if self.positions is None:
            return tuple(str(self.first_position + k) for k in range(MAX_POSITIONS))
        return None if self.positions == (ANY_POSITION,) else self.positions

    @property
    def numbered_positions(self) -> bool:
        """Whether the positions are 1, 2, 3, ... or 0, 1, 2, ... Numbers are faster to validate than names."""
        allowed = self.allowed_positions
        if allowed is None or allowed[0] not in ("0", "1"):
            return False
        return list(allowed) == [str(int(allowed[0]) + k) for k in range(len(allowed))]

    @property
    def number_fields(self) -> set[str]:
        """The fields that hold whole numbers."""
        ids = {"query", "item"} if self.whole_ids else set()
        return {"clicked", "shown"} | ids | ({"position"} if self.numbered_positions else set())

    def sort_positions(self, positions: set[str], page_order: Sequence[str] = ()) -> list[str]:
        """The positions of one query in declared order, or else in the order of the page.

        If neither order is known, numbers come before names.
        """
        declared = list(self.allowed_positions or page_order)
        rank = {position: k for k, position in enumerate(declared)}
        return sorted(positions, key=lambda name: (rank.get(name, len(rank)), natural_sort_key(name)))


def natural_sort_key(name: str) -> tuple[bool, int, str]:
    """A sort key. It sorts numbers by value and puts them before names."""
    whole = name.isascii() and name.isdigit()
    return (not whole, int(name) if whole else 0, name)


def with_changes(schema: Schema, changes: dict[str, Any]) -> Schema:
    """A validated copy of the schema with some fields replaced."""
    for name in changes:
        one_of("field of a log's schema", name, Schema.__struct_fields__)
    try:
        changed = msgspec.convert({**msgspec.structs.asdict(schema), **changes}, Schema)
    except msgspec.ValidationError as error:
        raise BadInput(f"not a schema of a log: {error}") from None
    return check_schema(changed)


def check_schema(schema: Schema) -> Schema:
    """Return the schema, or raise BadInput if it is not usable."""
    one_of("kind of log", schema.kind, KINDS)
    used = list(schema.used.values())
    if "" in used or len(set(used)) < len(used):
        raise BadInput(f"the columns {', '.join(map(repr, used))} must be different, and not empty")
    if len(schema.delimiter.encode()) != 1 or schema.delimiter in "\r\n" or schema.delimiter == schema.quote:
        raise BadInput(f"delimiter = {schema.delimiter!r} is not one character such as ',' or a tab")
    if len(schema.quote.encode()) > 1 or schema.quote in ("\r", "\n"):
        raise BadInput(f"quote = {schema.quote!r} is not one character; '' means that nothing is quoted")
    if schema.names is not None and schema.kind == "csv":
        for column in used:
            if schema.names.count(column) != 1:
                raise BadInput(
                    f"names = {list(schema.names)} has {schema.names.count(column) or 'no'} column {column!r}; the "
                    "names of all columns are needed in their order, with each column that is read once"
                )
    if schema.positions is not None:
        repeated = len(set(schema.positions)) < len(schema.positions)
        if not schema.positions or "" in schema.positions or repeated:
            raise BadInput(f"positions = {list(schema.positions)} must be non-empty names that all differ")
        if schema.first_position != 1:
            raise BadInput(
                f"first_position = {schema.first_position} is for numbered positions; these have names: "
                f"positions = {list(schema.positions)}"
            )
    if schema.first_position not in (0, 1):
        raise BadInput(f"first_position = {schema.first_position} is not 0 or 1")
    if schema.sessions and schema.shown is None:
        raise BadInput("sessions = true needs a column of impressions in shown")
    if schema.min_shown < 0 or schema.min_items < 1:
        raise BadInput(f"min_shown = {schema.min_shown} must be at least 0, min_items = {schema.min_items} at least 1")
    return schema


def from_toml(path: Path) -> dict[str, Any]:
    """The fields of `Schema` that a TOML file sets."""
    try:
        return tomllib.loads(path.read_text("utf-8"))
    except OSError as error:
        raise BadInput(f"cannot read {str(path)!r}: {error.strerror}") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise BadInput(f"{str(path)!r} is not TOML: {error}") from None
