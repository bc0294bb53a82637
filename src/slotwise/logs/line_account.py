"""LineAccount: how many lines of a log were counted, filtered out or malformed."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from slotwise.checks import BadInput
from slotwise.logs.line_filters import Filter
from slotwise.logs.line_status import WELL_FORMED, LineStatus, describe_status
from slotwise.logs.log_files import LogFiles

if TYPE_CHECKING:
    from slotwise.logs.first_bad_lines import BadLine

EXAMPLES = 5  # malformed lines that an error quotes


class LineAccount(NamedTuple):
    """Every line is good, left out by a filter, or bad. Blank lines are ignored."""

    good: int
    left_out: int
    bad: dict[LineStatus, int]
    first: "list[BadLine]"
    empty: list[str]  # files without a line
    kind: str = "csv"

    @property
    def lines(self) -> int:
        return self.good + self.left_out + sum(self.bad.values())

    def notes(self) -> list[str]:
        """One sentence for each empty file, each kind of malformed line, and each quoted malformed line."""
        empty = [f"{file!r} is empty" for file in self.empty]
        totals = [f"{_lines(count)}: {describe_status(status, self.kind)}" for status, count in self.bad.items()]
        examples = [
            f"{bad.file}, line {bad.line:,}: {bad.text!r}: {describe_status(bad.status, self.kind)}"
            for bad in self.first
        ]
        return empty + totals + examples


def account_for_lines(
    log_files: LogFiles, filters: Sequence[Filter], lines: Mapping[int, int], max_bad: int | float
) -> LineAccount:
    """The account of the lines, given their number by status.

    Raises BadInput when more than `max_bad` are malformed.
    """
    from slotwise.logs.first_bad_lines import find_bad_lines

    if isinstance(max_bad, bool) or not isinstance(max_bad, int | float) or not max_bad >= 0:
        raise BadInput(f"max_bad = {max_bad!r} is not a number of lines, or a share of them below 1")
    bad = {LineStatus(code): lines[code] for code in sorted(lines) if code not in WELL_FORMED}
    n_bad, total = sum(bad.values()), sum(lines.values())
    if not total:
        raise BadInput(f"{log_files.files[0]!r} has only a header; a log needs at least one line")
    first = find_bad_lines(log_files, filters, min(EXAMPLES, n_bad)) if n_bad and not log_files.remote else []
    account = LineAccount(
        lines.get(LineStatus.COUNTED, 0),
        lines.get(LineStatus.FILTERED_OUT, 0),
        bad,
        first,
        log_files.empty,
        log_files.schema.kind,
    )
    if n_bad > (max_bad * total if 0 < max_bad < 1 else max_bad):
        raise BadInput("\n  ".join([_error(account, n_bad, max_bad), *account.notes(), *_hint(account, log_files)]))
    return account


def _error(account: LineAccount, n_bad: int, max_bad: int | float) -> str:
    limit = f"{max_bad:.2%}" if 0 < max_bad < 1 else f"{max_bad:,}"
    return (
        f"{n_bad:,} of {_lines(account.lines)} {'is' if n_bad == 1 else 'are'} malformed, --max-bad allows {limit}; "
        f"nothing was written (to skip the malformed lines: --max-bad {n_bad})"
    )


def _lines(count: int) -> str:
    return "1 line" if count == 1 else f"{count:,} lines"


def _hint(account: LineAccount, log_files: LogFiles) -> list[str]:
    """The most likely mistake in the command, when every line is malformed."""
    if account.good or account.left_out:
        return []
    schema = log_files.schema
    if set(account.bad) == {LineStatus.BAD_COLUMNS} and schema.kind == "csv":
        columns = len(log_files.columns)
        return [f"no line has {columns} columns separated by {schema.delimiter!r}: is the delimiter right?"]
    if set(account.bad) == {LineStatus.BAD_POSITION} and schema.positions is None:
        return ["positions must be numbers from 1; for named positions: --positions hero,left,right (or '*' for any)"]
    return []
