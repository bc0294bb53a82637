"""Which columns a file lacks, and the option --columns that would probably read it."""

import re
import shlex
from collections.abc import Iterable, Sequence

from slotwise.logs.schema import FIELDS, Schema

_LISTED = 20
# The words that name a field in logs, most usual first. Fields are in the order in which they choose their columns:
# `ad_position` is a position and not an ad, and `page_views` is a number of displays and not a page.
_WORDS = {
    "shown": ("shown", "impression", "view", "display"),
    "position": ("position", "pos", "rank", "slot"),
    "clicked": ("clicked", "click"),
    "item": ("item", "product", "ad", "doc", "document", "article", "sku"),
    "display": ("display", "session", "impression", "request", "visit"),
    "query": ("query", "search", "page", "keyword"),
}


def describe_missing(file: str, missing: Sequence[str]) -> str:
    """A message such as "'a.csv' has no column 'query'" or "'a.csv' has no columns 'query', 'item'"."""
    return f"{file!r} has no column{'s'[: len(missing) > 1]} {', '.join(map(repr, missing))}"


def list_columns(columns: Sequence[str]) -> str:
    """The quoted names of a file's columns, or of the first few if there are many."""
    return ", ".join(map(repr, columns[:_LISTED])) + ", ..." * (len(columns) > _LISTED)


def propose_columns(columns: Sequence[str], schema: Schema, placeholder: str = "COLUMN") -> str:
    """The complete option --columns for a file with these columns. Columns that cannot be guessed get a placeholder."""
    right = {field: column for field, column in schema.used.items() if column in columns}
    free = [column for column in columns if column not in right.values() and _can_be_given(column)]
    guessed: dict[str, str] = {}
    for field in _WORDS:
        if field in schema.used and field not in right:
            guessed[field] = _guess(field, [column for column in free if column not in guessed.values()]) or placeholder
    pairs = [(field, (right | guessed)[field]) for field in FIELDS if field in schema.used]
    option = ",".join(f"{field}={column}" for field, column in pairs if field != column or schema.used[field] != column)
    query = guessed.get("query") == placeholder
    return f"--columns {shlex.quote(option)}" + " (an empty query= makes the whole log one query)" * query


def columns_advice(columns: Sequence[str], schema: Schema) -> str:
    """The end of an error message that proposes --columns. Empty if only the column of a filter is missing."""
    if set(schema.used.values()) <= set(columns):
        return ""
    return f"; say which columns to read: {propose_columns(columns, schema)}"


def _can_be_given(column: str) -> bool:
    """Whether --columns can name this column. The option splits at commas and removes spaces at both ends of a name."""
    return column == column.strip() and "," not in column and column.isprintable()


def _guess(field: str, columns: Iterable[str]) -> str | None:
    """The column that probably holds a field. Its name contains a usual word for the field, and few other words."""
    usual = _WORDS[field]
    ranked = []
    for column in columns:
        words = [word.lower() for word in re.findall(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])", column)]
        known = [usual.index(name) for word in words for name in (word, word.removesuffix("s")) if name in usual]
        if known:
            ranked.append((len(words), min(known), column))
    return min(ranked)[2] if ranked else None
