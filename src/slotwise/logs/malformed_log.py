"""MalformedLog: a log with too many malformed lines, and the options that would read it."""

import shlex
from collections.abc import Sequence
from typing import NamedTuple

from slotwise.checks import BadInput


class Remedy(NamedTuple):
    """Options with which the log can be read as it is, if a condition holds that only the user can judge."""

    condition: str
    options: tuple[str, ...]

    def __str__(self) -> str:
        return f"{self.condition}: {shlex.join(self.options)}"


class MalformedLog(BadInput):
    """A log has too many malformed lines. The message ends with the options of each remedy.

    A command instead shows `problem` and, for each remedy, the same command with its options.
    """

    def __init__(self, problem: str, remedies: Sequence[Remedy]) -> None:
        super().__init__("\n  ".join([problem, *map(str, remedies)]))
        self.problem, self.remedies = problem, list(remedies)
