"""MalformedLog: a log with too many malformed lines, and the options that would read it."""

import shlex
from collections.abc import Sequence
from typing import NamedTuple

from slotwise.checks import BadInput


class Remedy(NamedTuple):
    """Options with which the log can be read, and the condition for this. Only the user knows whether it holds."""

    condition: str
    options: tuple[str, ...]

    def __str__(self) -> str:
        return f"{self.condition}: {shlex.join(self.options)}"


class MalformedLog(BadInput):
    """A log has too many malformed lines.

    The message ends with one line per remedy: its condition and its command-line options. A command prints
    `problem` instead. For each remedy, it also prints the user's command with the options of the remedy added.
    """

    def __init__(self, problem: str, remedies: Sequence[Remedy]) -> None:
        super().__init__("\n  ".join([problem, *map(str, remedies)]))
        self.problem, self.remedies = problem, list(remedies)
