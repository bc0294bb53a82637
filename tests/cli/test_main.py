"""The behaviour that all commands share: help, the version, exit codes."""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer.main

from slotwise import cli


def commands(group: Any, path: tuple[str, ...] = ()) -> Iterator[Any]:
    for name, command in group.commands.items():
        if hasattr(command, "commands"):
            yield from commands(command, (*path, name))
        else:
            yield pytest.param(" ".join((*path, name)), command, id="-".join((*path, name)))


COMMANDS = list(commands(typer.main.get_command(cli.app)))


@pytest.mark.parametrize(("name", "command"), COMMANDS)
def test_help_has_a_summary_an_example_and_every_option(name: str, command: Any, slotwise) -> None:
    assert command.help
    assert f"slotwise {name}" in command.epilog
    for parameter in command.params:
        assert parameter.help, parameter.name
    result = slotwise(*name.split(), "--help")
    assert result.exit_code == 0
    for parameter in command.params:
        assert all(option in result.stdout for option in parameter.opts if option.startswith("--"))


def test_the_installed_command_answers_and_fails_cleanly() -> None:
    command = Path(sys.executable).parent / "slotwise"
    version = subprocess.run([command, "--version"], capture_output=True, text=True)
    assert version.stdout.strip() == cli.__version__
    wrong = subprocess.run([command, "simulate", "--setting", "no"], capture_output=True, text=True)
    assert wrong.returncode == 2
    assert wrong.stderr.startswith("error: ")
    assert "'no'" in wrong.stderr
    assert len(wrong.stderr.splitlines()) == 1
