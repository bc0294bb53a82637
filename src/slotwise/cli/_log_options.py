"""The options of the commands that read logs, converted to arguments of `read_log` and `count_log`."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from slotwise.checks import BadInput
from slotwise.cli import _console as console

if TYPE_CHECKING:
    from slotwise.logs.line_filters import Filter
    from slotwise.logs.opened_log import CountOptions

_SEPARATORS = {"tab": "\t", "\\t": "\t", "none": ""}
_BAR_TOTAL = 1000  # a progress bar counts whole steps, but the log reader reports a share


@dataclass(frozen=True)
class LogOptions:
    """The options that say which log to read, which of its lines to count, and with which engine."""

    files: Annotated[
        list[str], typer.Argument(help="Log files, or globs in quotes: 'logs/*.csv.gz'. Parquet, NDJSON, CSV and TSV.")
    ]
    format: Annotated[
        str | None,
        typer.Option(
            help="Format of the files: kdd2012, open-bandit, slotwise (the log of the service), csv, tsv, ndjson or "
            "parquet. By default the file names decide."
        ),
    ] = None
    columns: Annotated[
        str | None,
        typer.Option(
            help="Columns to read: query=q,item=ad,position=n,clicked=c. An empty query= makes the whole log one query."
        ),
    ] = None
    schema: Annotated[Path | None, typer.Option(help="TOML file with the columns and more settings of the format.")] = (
        None
    )
    positions: Annotated[
        str | None,
        typer.Option(
            help="Names of the positions in order: hero,left,right; '*' allows any. By default they are numbers from 1."
        ),
    ] = None
    first_position: Annotated[
        int | None, typer.Option(help="Number of the first position: 0 when positions are 0, 1, 2, ... (default 1).")
    ] = None
    names: Annotated[
        str | None,
        typer.Option(help="Columns of CSV files without a header, all in their order: query,item,position,clicked."),
    ] = None
    delimiter: Annotated[str | None, typer.Option(help="Delimiter of CSV fields: ';', or tab.")] = None
    quote: Annotated[str | None, typer.Option(help="Quote character of CSV fields, or none.")] = None
    where: Annotated[
        list[str] | None,
        typer.Option(help="Count only lines such as segment=mobile, depth>=2 or country!=fr; repeat to combine."),
    ] = None
    date: Annotated[str | None, typer.Option(help="Column with the date, for --since and --until.")] = None
    since: Annotated[str | None, typer.Option(help="Count only lines from this date on: 2024-01-31.")] = None
    until: Annotated[str | None, typer.Option(help="Count only lines before this date: 2024-02-29.")] = None
    min_shown: Annotated[
        int | None,
        typer.Option(help="Drop items with fewer displays than this at any position (default 0; kdd2012: 1000)."),
    ] = None
    min_items: Annotated[
        int | None, typer.Option(help="Drop queries with fewer remaining items than this (default 1; kdd2012: 5).")
    ] = None
    max_bad: Annotated[
        str,
        typer.Option(help="Malformed lines to tolerate: a number, or a share such as 0.1%. One more stops the run."),
    ] = "0"
    engine: Annotated[str, typer.Option(help="Engine that counts: duckdb, on this machine, or spark.")] = "duckdb"
    master: Annotated[str | None, typer.Option(help="Address of Spark: local[2], spark://host:7077, yarn.")] = None
    memory: Annotated[
        str | None, typer.Option(help="Memory limit of DuckDB, such as 1GB; beyond it, DuckDB uses the disk.")
    ] = None

    def source(self) -> dict[str, Any]:
        """The arguments of `read_log` and `count_log` that say which files to read, and how."""
        return {"files": self.files, "format": self.format, "schema": self._schema_changes()}

    def count_options(self, add_bar: console.AddBar) -> "CountOptions":
        """The options of `count_log`, with a progress bar that reports the share counted so far."""
        from slotwise.logs.opened_log import CountOptions

        return CountOptions(
            where=self._filters(),
            max_bad=parse_tolerance(self.max_bad),
            engine=self.engine,
            memory=self.memory,
            master=self.master,
            progress=counting_bar(add_bar),
        )

    def _schema_changes(self) -> dict[str, Any]:
        """The fields of the format's schema that the user changes. An option takes precedence over the schema file."""
        from slotwise.logs.schema import from_toml

        changes = from_toml(self.schema) if self.schema else {}
        changes |= _parse_columns(self.columns) if self.columns else {}
        lists = {"positions": self.positions, "names": self.names}
        changes |= {field: _split_list(text) for field, text in lists.items() if text is not None}
        separators = {"delimiter": self.delimiter, "quote": self.quote}
        changes |= {name: _SEPARATORS.get(text, text) for name, text in separators.items() if text is not None}
        numbers = {"first_position": self.first_position, "min_shown": self.min_shown, "min_items": self.min_items}
        return changes | {name: number for name, number in numbers.items() if number is not None}

    def _filters(self) -> list[Any]:
        from slotwise.logs.line_filters import between, parse

        if self.date is None and (self.since is not None or self.until is not None):
            raise BadInput("--since and --until need the column with the date: --date COLUMN")
        dates = between(self.date, self.since, self.until) if self.date else []
        return [parse(text) for text in self.where or []] + dates


def page_filters(page: str | None, layout: str | None, where: list[str] | None = None) -> "list[Filter]":
    """Filters of an exported log: comparisons such as segment=mobile, and one page and layout."""
    from slotwise.logs.line_filters import Filter, parse

    selected = {"page": page, "layout": layout}
    names = [Filter(column, "=", name) for column, name in selected.items() if name is not None]
    return [parse(text) for text in where or []] + names


def counting_bar(add_bar: console.AddBar) -> Callable[[float], None]:
    """Add a progress bar. Returns a function that reports the share of the lines counted so far."""
    update = add_bar("counting", _BAR_TOTAL)
    return lambda share: update(int(_BAR_TOTAL * share))


def print_account(account: Any, quiet: bool) -> None:
    """Print on stderr which lines were not counted, so that nothing is dropped silently."""
    if account.left_out and not quiet:
        console.stderr.print(f"{account.left_out:,} of {account.lines:,} lines left out by filters")
    for line in account.notes():
        console.print_note(line)
    for line in account.warnings():
        console.print_warning(line)


def print_independent_displays() -> None:
    """Print on stderr that the log has no groups of visitors, so that intervals may be too short."""
    console.print_note(
        "the log does not say which displays belong to the same visitor, so displays count as independent; "
        "if visitors return, the intervals are too short"
    )


def _split_list(text: str) -> list[str]:
    return [name.strip() for name in text.split(",")]


def _parse_columns(text: str) -> dict[str, str | None]:
    from slotwise.logs.schema import FIELDS

    columns: dict[str, str | None] = {}
    for pair in text.split(","):
        field, equals, column = (word.strip() for word in pair.partition("="))
        if not equals or field not in FIELDS:
            raise BadInput(f"--columns has {pair!r}, which is none of {', '.join(f'{name}=COLUMN' for name in FIELDS)}")
        columns[field] = column or None
    return columns


def parse_tolerance(text: str) -> int | float:
    """Parse a number of lines, '12', or a share of all lines, '0.1%'."""
    error = BadInput(f"--max-bad = {text!r} is neither a whole number of lines such as 12 nor a share such as 0.1%")
    try:
        value = float(text.removesuffix("%"))
    except ValueError:
        raise error from None
    if text.endswith("%"):
        if not 0 <= value < 100:
            raise BadInput(f"--max-bad = {text!r} is not a share from 0% to below 100%")
        return value / 100.0
    if value < 0 or value != int(value):
        raise error
    return int(value)
