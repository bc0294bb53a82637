"""Runs `slotwise` commands, in this process or in a separate one. Tests use it through the fixtures `slotwise` and
`slotwise_process`; fixtures of a wider scope call the functions."""

import contextlib
import io
import json
import subprocess
import sys
from typing import Any, NamedTuple

import pytest
from rich.console import Console

from tests.waiting import HANG

COMMAND = [sys.executable, "-m", "slotwise"]


class CommandResult(NamedTuple):
    """The output of a command, and its exit code."""

    exit_code: int
    stdout: str
    stderr: str

    def json(self) -> Any:
        """The JSON printed by a command that succeeded with `--json`."""
        assert self.exit_code == 0, self.stderr
        return json.loads(self.stdout)

    def assert_refused(self, *named: str, details: bool = False) -> None:
        """Exit code 2, and one line on stderr that names each of these: options, values, what is allowed.

        With `details`, indented lines follow: the malformed lines of a log.
        """
        assert self.exit_code == 2, self
        assert self.stdout == ""
        first, *others = self.stderr.splitlines()
        assert first.startswith("error: ")
        assert bool(others) == details, self.stderr
        assert all(line.startswith("  ") for line in others), self.stderr
        for text in named:
            assert text in self.stderr, f"{text!r} is not in {self.stderr!r}"


def run_command(*arguments: str, width: int = 200) -> CommandResult:
    """Run a command in this process, on consoles of this width that are not terminals."""
    from slotwise import cli
    from slotwise.cli import _console

    stdout, stderr, exit_code = io.StringIO(), io.StringIO(), 0
    with (
        pytest.MonkeyPatch.context() as patch,
        contextlib.redirect_stdout(stdout),
        contextlib.redirect_stderr(stderr),
    ):
        patch.setattr(sys, "argv", ["slotwise", *arguments])
        patch.setattr(_console, "stdout", Console(width=width, highlight=False))
        patch.setattr(_console, "stderr", Console(width=width, highlight=False, stderr=True))
        try:
            cli.main()
        except SystemExit as stop:
            exit_code = int(stop.code or 0)
    return CommandResult(exit_code, stdout.getvalue(), stderr.getvalue())


def run_process(*arguments: str, **settings: Any) -> CommandResult:
    """Run a command in a separate process. `settings` are those of `subprocess.run`, such as `cwd`."""
    done = subprocess.run([*COMMAND, *arguments], capture_output=True, text=True, timeout=HANG, **settings)
    return CommandResult(done.returncode, done.stdout, done.stderr)
