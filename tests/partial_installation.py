"""An installation without some extras: a process that cannot import the packages which only those extras install.

These packages are found in pyproject.toml and in the metadata of the installed packages.
"""

import functools
import json
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from importlib.metadata import PackageNotFoundError, packages_distributions, requires
from pathlib import Path
from typing import Any

from packaging.requirements import Requirement

from tests.command_line import CommandResult
from tests.waiting import HANG

PROJECT: dict[str, Any] = tomllib.loads((Path(__file__).parent.parent / "pyproject.toml").read_text())["project"]
COLLECTIONS = ("all", "dev")  # extras made of others
EXTRAS = [name for name in PROJECT["optional-dependencies"] if name not in COLLECTIONS]

# runs a program on the arguments; `sys.modules[name] = None` makes every import of that package fail
_HIDE = "import json, sys; sys.modules.update(dict.fromkeys(json.loads(sys.argv.pop(1)))); "
_RUN_COMMANDS = """
import contextlib, io
from slotwise import cli
from slotwise.cli import _console
from rich.console import Console
results = []
for arguments in json.loads(sys.argv[1]):
    sys.argv = ["slotwise", *arguments]
    code, out, err = 0, io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        _console.stdout, _console.stderr = Console(width=200), Console(width=200, stderr=True)
        try:
            cli.main()
        except SystemExit as stop:
            code = int(stop.code or 0)
    results.append([code, out.getvalue(), err.getvalue()])
print(json.dumps(results))
"""


def run_commands_without(extras: Iterable[str], commands: Sequence[Sequence[str]]) -> list[CommandResult]:
    """The results of commands, run one after the other in a process without these extras."""
    output = run_python_without(extras, _RUN_COMMANDS, json.dumps([list(command) for command in commands]))
    return [CommandResult(*result) for result in json.loads(output)]


def run_python_without(extras: Iterable[str], program: str, *arguments: str) -> str:
    """What a program prints in a process without these extras."""
    command = [sys.executable, "-c", _HIDE + program, json.dumps(hidden_packages(extras)), *arguments]
    done = subprocess.run(command, capture_output=True, text=True, timeout=HANG)
    assert done.returncode == 0, done.stderr
    return done.stdout


def hidden_packages(extras: Iterable[str]) -> list[str]:
    """The packages, by import name, that would not be there if everything were installed except these extras."""
    left = [extra for extra in EXTRAS if extra not in set(extras)]
    roots = [*PROJECT["dependencies"], *(text for extra in left for text in PROJECT["optional-dependencies"][extra])]
    installed = {name for text in roots for name in _closure(text)}
    return sorted(
        package
        for package, distributions in distributions_of_packages().items()
        if not {normalized(name) for name in distributions} & {*installed, "slotwise"}
    )


@functools.cache
def distributions_of_packages() -> Mapping[str, list[str]]:
    """The distributions of every installed package, by its import name. Takes half a second."""
    return packages_distributions()


@functools.cache
def _closure(text: str) -> frozenset[str]:
    """The distribution of a requirement, and those that it depends on; only if they are installed."""
    found: set[str] = set()
    pending = [Requirement(text)]
    while pending:
        requirement = pending.pop()
        name = normalized(requirement.name)
        found.add(name)
        try:
            dependencies = [Requirement(line) for line in requires(name) or []]
        except PackageNotFoundError:
            continue
        for dependency in dependencies:
            contexts = [{"extra": extra} for extra in (*requirement.extras, "")]
            needed = not dependency.marker or any(dependency.marker.evaluate(context) for context in contexts)
            if needed and (normalized(dependency.name) not in found or dependency.extras):
                pending.append(dependency)
    return frozenset(found)


def normalized(name: str) -> str:
    """The name of a distribution as package indexes compare it."""
    return re.sub(r"[-_.]+", "-", name).lower()
