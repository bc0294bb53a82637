"""Programs that tests call, if they are installed."""

import shutil
import subprocess
from pathlib import Path

import pytest


def needed(program: str, untested: str) -> str:
    """The path of a program; without it, the test is skipped with a line that says what is not tested."""
    path = shutil.which(program) or shutil.which(program, path="/usr/sbin:/sbin")  # where Debian has nginx
    if path is None:
        pytest.skip(f"{program} is not installed, so {untested}")
    return path


def succeeds(*command: str | Path, **options: str | Path) -> str:
    """Run a command that must succeed, and return all that it prints."""
    done = subprocess.run(command, capture_output=True, text=True, **options)  # type: ignore[call-overload]
    output: str = done.stdout + done.stderr
    assert done.returncode == 0, output
    return output
