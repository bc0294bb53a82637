"""MalformedLog: a log with too many malformed lines, and the options that would read it."""

import shlex
from collections.abc import Sequence
from typing import NamedTuple

from slotwise.checks import BadInput


class Remedy(NamedTuple):
    """Options that read the log as it is, under a condition that only the user can judge."""

    condition: str
    options: tuple[str, ...]

    def __str__(self) -> str:
        return f"{self.condition}: {shlex.join(self.options)}"


class MalformedLog(BadInput):
    """The message ends with the options of each remedy. A command shows `problem` and itself with those options."""

    def __init__(self, problem: str, remedies: Sequence[Remedy]) -> None:
        super().__init__("\n  ".join([problem, *map(str, remedies)]))
        self.problem, self.remedies = problem, list(remedies)
