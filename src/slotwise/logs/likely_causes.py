"""Find the likely cause of malformed lines. If many lines have the same fault, skipping them would hide its cause."""

from collections.abc import Callable, Mapping
from typing import NamedTuple

from slotwise.checks import format_value
from slotwise.logs.bad_line import BadLine
from slotwise.logs.file_content import convert_command
from slotwise.logs.line_status import LineStatus
from slotwise.logs.log_files import LogFiles, columns_of, find_delimiter, split_csv_line
from slotwise.logs.malformed_log import Remedy
from slotwise.logs.missing_columns import propose_columns
from slotwise.logs.position_frequencies import PositionFrequencies
from slotwise.logs.schema import MAX_POSITIONS, Schema

LARGE_SHARE = 0.01  # as a share of the lines that no filter leaves out
_MOST_LISTED = 20


class Cause(NamedTuple):
    """What is probably wrong, and what would be right."""

    text: str
    remedies: tuple[Remedy, ...] = ()

    def __str__(self) -> str:
        return "; ".join([self.text, *map(str, self.remedies)])


class Faults(NamedTuple):
    """The malformed lines of a log for each reason, the first such lines, and the positions that occur."""

    bad: Mapping[LineStatus, int]
    considered: int  # lines that no filter leaves out
    first: list[BadLine]
    log_files: LogFiles
    positions: PositionFrequencies

    @property
    def systematic(self) -> list[LineStatus]:
        """The reasons that apply to a large share of the lines, or to the first position."""
        large = [status for status, count in self.bad.items() if count >= LARGE_SHARE * self.considered]
        if self.starts_at_zero and LineStatus.BAD_POSITION not in large:
            large.append(LineStatus.BAD_POSITION)
        return large

    @property
    def starts_at_zero(self) -> bool:
        """Whether position 0 is not a known position but looks like the first one."""
        return self.positions.start_at_zero and zero_based(self.positions, self.log_files.schema) is not None

    def example(self, status: LineStatus) -> BadLine | None:
        return next((bad for bad in self.first if bad.status is status), None)


def likely_causes(faults: Faults) -> list[Cause]:
    """The likely cause behind each reason that applies to a large share of the lines, if the cause can be guessed."""
    causes = [_CAUSES[status](faults) for status in faults.systematic]
    return [cause for cause in causes if cause is not None]


def zero_based(positions: PositionFrequencies, schema: Schema) -> Cause | None:
    """The cause if position 0 occurs although positions are numbered from 1.

    Either the positions start at 0, or 0 stands for an unknown position.
    """
    allowed = schema.allowed_positions
    if not positions.zeros or allowed is None or allowed[0] != "1" or not schema.numbered_positions:
        return None
    remedies = [Remedy("if 0 is not a position", ("--where", f"{schema.position}>=1"))]
    if schema.positions is None:
        remedies.insert(0, Remedy("if position 0 is the first one", ("--first-position", "0")))
    elif positions.highest < len(allowed):  # otherwise 0 occurs in addition to all declared positions
        from_zero = ",".join(str(k) for k in range(len(allowed)))
        remedies.insert(0, Remedy("if position 0 is the first one", ("--positions", from_zero)))
    text = "positions are probably numbered from 0" if positions.start_at_zero else "0 is not a position"
    return Cause(f"{text}, and must be numbered from 1: {positions}", tuple(remedies))


def _wrong_columns(faults: Faults) -> Cause | None:
    bad = faults.example(LineStatus.BAD_COLUMNS)
    if bad is None:
        return None
    return _wrong_json(bad, faults) if faults.log_files.schema.kind == "ndjson" else _wrong_csv(bad, faults)


def _wrong_csv(bad: BadLine, faults: Faults) -> Cause:
    schema, expected = faults.log_files.schema, len(faults.log_files.columns)
    separator = repr(schema.delimiter)
    other = find_delimiter(bad.text, schema, lambda fields: len(fields) == expected)
    if other is not None and schema.names is None:
        return Cause(f"the delimiter of the header is {separator}, and that of line {bad.line:,} is {other!r}")
    if other is not None:
        text = f"line {bad.line:,} does not have {expected} columns separated by {separator}"
        right = ("--delimiter", "tab" if other == "\t" else other)
        return Cause(f"{text}; with the delimiter {other!r} it does", (Remedy("if that is right", right),))
    found, header = len(split_csv_line(bad.text, schema)), "the header has" if schema.names is None else "there are"
    columns = "1 column" if found == 1 else f"{found} columns"
    text = f"line {bad.line:,} has {columns} separated by {separator}, and {header} {expected}"
    if found > expected:
        return Cause(f"{text}; a field that contains {separator} must be quoted")
    return Cause(f"{text}; it is cut off, or not a line of the log: repair or remove such lines")


def _wrong_json(bad: BadLine, faults: Faults) -> Cause | None:
    schema = faults.log_files.schema
    columns = columns_of(bad.file, schema)
    if not columns:
        return Cause("the lines are not JSON", (Remedy("if they are fields with a delimiter", ("--format", "csv")),))
    lacking = {field: column for field, column in schema.used.items() if column not in columns}
    if not lacking:
        return None  # the first object is good
    proposed = propose_columns(columns, schema, "FIELD")
    return Cause(f"the first object has no {_listed([*lacking.values()])} but {_listed(columns)}: {proposed}")


def _wrong_number(faults: Faults) -> Cause | None:
    bad = faults.example(LineStatus.BAD_NUMBER)
    if bad is None:
        return None
    schema = faults.log_files.schema
    numbers = sorted(schema.number_fields & (schema.used.keys() - {"position"}))
    field = next((field for field in numbers if not _is_whole(bad.values.get(field))), None)
    if field is None:
        return None
    right = "0 or 1, true or false" if field == "clicked" and schema.shown is None else "a whole number"
    return _wrong_column(faults, bad, field, f"which must be {right}")


def _wrong_clicks(faults: Faults) -> Cause | None:
    bad, schema = faults.example(LineStatus.BAD_CLICKS), faults.log_files.schema
    if bad is None:
        return None
    clicked = f"{schema.clicked!r} is {_shown(bad.values.get('clicked'))} in line {bad.line:,}"
    if schema.shown is None:
        return Cause(
            f"{clicked}, and a line is one display, clicked 0 or 1 times; if the lines are counts, "
            "name the column with the number of displays: --columns shown=COLUMN"
        )
    exchanged = _columns(schema, {"shown": schema.clicked, "clicked": schema.shown})
    return Cause(
        f"{clicked}, and {schema.shown!r} is {_shown(bad.values.get('shown'))}",
        (Remedy("if the two columns are exchanged", exchanged),),
    )


def _wrong_position(faults: Faults) -> Cause | None:
    schema, positions = faults.log_files.schema, faults.positions
    from_zero = zero_based(positions, schema)
    if from_zero is not None:
        return from_zero
    declared, last = schema.positions or (), schema.first_position + MAX_POSITIONS - 1
    unknown = [name for name in positions.names if name not in declared]
    if not declared and positions.highest > last and not unknown:
        return Cause(
            f"positions go up to {positions.highest:,}, and {schema.first_position} to {last} are allowed",
            (
                Remedy("to count all of them", ("--positions", "*")),
                Remedy("to leave out the rest", ("--where", f"{schema.position}<={last}")),
            ),
        )
    if unknown and len(unknown) <= _MOST_LISTED and not any("," in name or name != name.strip() for name in unknown):
        allowed = ", ".join(declared) or f"numbers from {schema.first_position}"
        names = ",".join([*(declared or map(str, positions.numbers)), *unknown])
        return Cause(
            f"the positions must be {allowed}: {positions}",
            (Remedy("if these are all positions, in the order of the page", ("--positions", names)),),
        )
    bad = faults.example(LineStatus.BAD_POSITION)
    return None if bad is None else _wrong_column(faults, bad, "position", "and must be a position")


def _missing_name(faults: Faults) -> Cause | None:
    bad = faults.example(LineStatus.MISSING_NAME)
    if bad is None:
        return None
    empty = [field for field in ("query", "item") if field in bad.values and bad.values[field] in (None, "")]
    return _wrong_column(faults, bad, empty[0], "and must have a value") if empty else None


def _wrong_date(faults: Faults) -> Cause | None:
    bad = faults.example(LineStatus.BAD_DATE)
    return None if bad is None else Cause(f"line {bad.line:,} has no date such as 2024-01-31 in the column of --date")


def _wrong_encoding(faults: Faults) -> Cause | None:
    bad = faults.example(LineStatus.BAD_ENCODING)
    if bad is None:
        return None
    return Cause(f"the file is probably Windows-1252 text; convert it: {convert_command(bad.file, 'windows-1252')}")


_CAUSES: dict[LineStatus, Callable[[Faults], Cause | None]] = {
    LineStatus.BAD_COLUMNS: _wrong_columns,
    LineStatus.BAD_DATE: _wrong_date,
    LineStatus.BAD_NUMBER: _wrong_number,
    LineStatus.BAD_CLICKS: _wrong_clicks,
    LineStatus.BAD_POSITION: _wrong_position,
    LineStatus.MISSING_NAME: _missing_name,
    LineStatus.BAD_ENCODING: _wrong_encoding,
}


def _wrong_column(faults: Faults, bad: BadLine, field: str, rule: str) -> Cause:
    """The cause if a field is probably in a column that is not read."""
    schema = faults.log_files.schema
    text = f"{schema.used[field]!r} is {_shown(bad.values.get(field))} in line {bad.line:,}, {rule}"
    unread = [name for name in columns_of(bad.file, schema) if name not in faults.log_files.read]
    if len(unread) == 1:
        return Cause(text, (Remedy(f"if {field} is in the other column", _columns(schema, {field: unread[0]})),))
    if unread:
        text += f"; if {field} is in another column, use --columns {field}=COLUMN, one of {_listed(unread)}"
    return Cause(text)


def _columns(schema: Schema, changes: dict[str, str]) -> tuple[str, str]:
    """The option --columns with these changes. It also lists all other columns that do not have their default names."""
    columns = {field: column for field, column in schema.used.items() if field != column} | changes
    return "--columns", ",".join(f"{field}={column}" for field, column in columns.items())


def _listed(names: list[str]) -> str:
    return ", ".join(map(format_value, names[:_MOST_LISTED])) + ", ..." * (len(names) > _MOST_LISTED)


def _shown(value: object) -> str:
    return "missing" if value is None or value == "" else format_value(value)


def _is_whole(value: object) -> bool:
    """Whether a value of a line is a whole number, or text that represents one."""
    if isinstance(value, str):
        if value.lower() in ("true", "false"):
            return True
        try:
            value = float(value)
        except ValueError:
            return False
    return isinstance(value, int | float) and float(value).is_integer()
