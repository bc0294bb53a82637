"""Account: what became of every line of a log."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from slotwise.checks import BadInput
from slotwise.logs.filters import Filter
from slotwise.logs.first_bad_lines import BadLine, first_bad
from slotwise.logs.line_status import Bad, reason
from slotwise.logs.log_files import Source

FIRST_FEW = 5


class Account(NamedTuple):
    """Every line is good, left out by a filter, or bad; blank lines are no lines."""

    good: int
    left_out: int
    bad: dict[Bad, int]
    first: list[BadLine]
    empty: list[str]  # files without a line
    kind: str = "csv"

    @property
    def lines(self) -> int:
        """All the lines."""
        return self.good + self.left_out + sum(self.bad.values())

    def told(self) -> list[str]:
        """In plain words, what was not counted."""
        words = [f"{file!r} is empty" for file in self.empty]
        words += [f"{_lines(count)}: {reason(bad, self.kind)}" for bad, count in self.bad.items()]
        return words + [
            f"{each.file}, line {each.line:,}: {each.text!r}: {reason(each.bad, self.kind)}" for each in self.first
        ]


def judge(source: Source, filters: Sequence[Filter], lines: Mapping[int, int], max_bad: int | float) -> Account:
    """The account of the lines counted, by reason; or an error when more of them are bad than is tolerated."""
    if isinstance(max_bad, bool) or not isinstance(max_bad, int | float) or not max_bad >= 0:
        raise BadInput(f"max_bad = {max_bad!r} is not a number of lines, or a share of them below 1")
    bad = {Bad(code): lines[code] for code in sorted(lines) if code not in (Bad.NOTHING, Bad.LEFT_OUT)}
    wrong, total = sum(bad.values()), sum(lines.values())
    if not total:
        raise BadInput(f"{source.files[0]!r} has no lines but its header; a log needs at least one")
    first = first_bad(source, filters, min(FIRST_FEW, wrong)) if wrong and not source.remote else []
    account = Account(
        lines.get(Bad.NOTHING, 0), lines.get(Bad.LEFT_OUT, 0), bad, first, source.empty, source.schema.kind
    )
    if wrong > (max_bad * total if 0 < max_bad < 1 else max_bad):
        raise BadInput("\n  ".join([_refusal(account, wrong, max_bad), *account.told(), *_hint(account, source)]))
    return account


def _refusal(account: Account, wrong: int, max_bad: int | float) -> str:
    asked = f"{max_bad:.2%}" if 0 < max_bad < 1 else f"{max_bad:,}"
    return (
        f"{wrong:,} of {_lines(account.lines)} {'is' if wrong == 1 else 'are'} malformed, --max-bad tolerates {asked}; "
        f"nothing was written (to go on without them: --max-bad {wrong})"
    )


def _lines(count: int) -> str:
    return "1 line" if count == 1 else f"{count:,} lines"


def _hint(account: Account, source: Source) -> list[str]:
    """What is most likely wrong with the command when every line is bad."""
    if account.good or account.left_out:
        return []
    schema = source.schema
    if set(account.bad) == {Bad.COLUMNS} and schema.kind == "csv":
        return [f"no line has {len(source.columns)} columns separated by {schema.delimiter!r}: is the delimiter right?"]
    if set(account.bad) == {Bad.POSITION} and schema.positions is None:
        return ["positions are numbers from 1; if they have names: --positions hero,left,right (or '*' for any)"]
    return []
