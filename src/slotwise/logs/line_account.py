"""LineAccount: how many lines of a log were counted, filtered out or malformed."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from slotwise.checks import BadInput
from slotwise.logs.bad_line import BadLine
from slotwise.logs.likely_causes import LARGE_SHARE, Cause, Faults, likely_causes
from slotwise.logs.line_filters import Filter
from slotwise.logs.line_status import WELL_FORMED, LineStatus, describe_status
from slotwise.logs.log_files import LogFiles, quote_text
from slotwise.logs.malformed_log import MalformedLog
from slotwise.logs.position_frequencies import PositionFrequencies

EXAMPLES = 5  # malformed lines that an error quotes
_NEVER_TOLERATED = 20  # this many lines with position 0 are an error if 0 looks like the first position


class LineAccount(NamedTuple):
    """Every line is good, left out by a filter, or bad. Blank lines are ignored."""

    good: int
    left_out: int
    bad: dict[LineStatus, int]
    first: list[BadLine]
    empty: list[str]  # files without a line
    kind: str = "csv"
    causes: Sequence[Cause] = ()  # likely causes, if bad lines are a large share

    @property
    def lines(self) -> int:
        return self.good + self.left_out + sum(self.bad.values())

    def notes(self) -> list[str]:
        """The number of skipped lines, then one sentence for each empty file, reason, quoted line and likely cause."""
        n_bad = sum(self.bad.values())
        verb = "was" if n_bad == 1 else "were"
        total = [f"{n_bad:,} of {_lines(self.lines)} {verb} skipped as malformed"] if n_bad else []
        return total + self.facts() + [f"likely cause: {cause}" for cause in self.causes]

    def warnings(self) -> list[str]:
        """One sentence for each fault that affects so many lines that the estimates may be wrong."""
        considered = self.good + sum(self.bad.values())
        return [
            f"{count / considered:.1%} of the lines were skipped for one reason, {describe_status(status, self.kind)}; "
            f"from {LARGE_SHARE:.0%} on, the fault is systematic, and the estimates may be wrong"
            for status, count in self.bad.items()
            if count >= LARGE_SHARE * considered
        ]

    def facts(self) -> list[str]:
        """The notes without likely causes."""
        empty = [f"{file!r} is empty" for file in self.empty]
        totals = [f"{_lines(count)}: {describe_status(status, self.kind)}" for status, count in self.bad.items()]
        examples = [
            f"{bad.file}, line {bad.line:,}: {quote_text(bad.text)}: {describe_status(bad.status, self.kind)}"
            for bad in self.first
        ]
        return empty + totals + examples


def account_for_lines(
    log_files: LogFiles,
    filters: Sequence[Filter],
    lines: Mapping[int, int],
    positions: PositionFrequencies,
    max_bad: int | float,
) -> LineAccount:
    """Make the account from the number of lines with each status. Too many malformed lines raise MalformedLog.

    `max_bad` malformed lines are tolerated. Lines with position 0 are not tolerated if 0 looks like the first position,
    because without the first position every kappa would be wrong.
    """
    from slotwise.logs.first_bad_lines import find_bad_lines

    if isinstance(max_bad, bool) or not isinstance(max_bad, int | float) or not max_bad >= 0:
        raise BadInput(f"max_bad = {max_bad!r} is not a number of lines, or a share of them below 1")
    bad = {LineStatus(code): lines[code] for code in sorted(lines) if code not in WELL_FORMED}
    n_bad, total = sum(bad.values()), sum(lines.values())
    if not total:
        raise BadInput(f"{log_files.files[0]!r} has only a header; a log needs at least one line")
    first = find_bad_lines(log_files, filters, min(EXAMPLES, n_bad)) if n_bad and not log_files.remote else []
    good, left_out = lines.get(LineStatus.COUNTED, 0), lines.get(LineStatus.FILTERED_OUT, 0)
    faults = Faults(bad, good + n_bad, first, log_files, positions)
    causes = likely_causes(faults)
    account = LineAccount(good, left_out, bad, first, log_files.empty, log_files.schema.kind, causes)
    if n_bad > (max_bad * total if 0 < max_bad < 1 else max_bad):
        advice = "" if faults.systematic else f" (to skip the malformed lines: --max-bad {n_bad})"
        raise _malformed(account, _error(account, n_bad, max_bad) + advice)
    if faults.starts_at_zero and positions.zeros >= _NEVER_TOLERATED:
        problem = "positions probably start at 0, and --max-bad would drop the first one; nothing was written"
        raise _malformed(account, problem)
    return account


def _malformed(account: LineAccount, error: str) -> MalformedLog:
    causes = [f"likely cause: {cause.text}" for cause in account.causes]
    remedies = [remedy for cause in account.causes for remedy in cause.remedies]
    return MalformedLog("\n  ".join([error, *account.facts(), *causes]), remedies)


def _error(account: LineAccount, n_bad: int, max_bad: int | float) -> str:
    limit = f"{max_bad:.2%}" if 0 < max_bad < 1 else f"{max_bad:,}"
    verb = "is" if n_bad == 1 else "are"
    return f"{n_bad:,} of {_lines(account.lines)} {verb} malformed, --max-bad allows {limit}; nothing was written"


def _lines(count: int) -> str:
    return "1 line" if count == 1 else f"{count:,} lines"
