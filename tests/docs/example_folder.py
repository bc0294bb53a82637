"""Runs the commands of pages and of `--help`, in a folder like that of a fresh clone, with less work."""

import contextlib
import re
import shlex
import shutil
import subprocess
from pathlib import Path
from typing import Any, NamedTuple

import typer.main

import slotwise as sw
from slotwise.cli import app
from slotwise.client.keys import StoreKeys
from tests.command_line import COMMAND, CommandResult, run_command
from tests.inference.off_policy.exported_log import log_lines, write
from tests.service.running_service import Process

ROOT = Path(__file__).parent.parent.parent
# Appended to the example, where the last value of an option counts: the same work in less time, on a free port.
LESS_WORK = {
    "simulate": "--rounds 50 --runs 2",
    "diagnose": "--rounds 500 --draws 400",
    "reproduce": "--quick --runs 2 --only tab-data",
    "logs synth": "--lines 20000 --queries 10",
    "load": "--rounds 40 --rate max --quiet",
    "demo": "--rounds 20 --rate max --headless --port 0",
}
# What the documentation has made before: a log and its fits, a backup of a store, and a page of the service.
SETTING_UP = (
    *("slotwise logs synth clicks.csv --setting behavioral", "slotwise fit clicks.csv --output fits.json"),
    "slotwise backup shop-backup.db --store sqlite:///shop.db",
)
SHOP_AS_NEW = "slotwise pages apply examples/shop.toml --exact"
EXAMPLE_KEY = "1f0c3a9be2d4"  # stands for the id of a key
NOT_RUN = ("pip", "npm", "python", "python3", "git", "cd", ".", ".venv/bin/pre-commit")


class KnownCommand(NamedTuple):
    """A command of slotwise: its words, such as "pages show", and what Typer knows about it."""

    name: str
    parameters: list[Any]
    epilog: str

    @property
    def options(self) -> set[str]:
        return {option for parameter in self.parameters for option in (*parameter.opts, *parameter.secondary_opts)}

    @property
    def examples(self) -> list[str]:
        return re.findall(r"(?<!`)\bslotwise [^;\n]+", self.epilog)


def known_commands(group: Any = None, path: tuple[str, ...] = ()) -> dict[str, KnownCommand]:
    found: dict[str, KnownCommand] = {}
    for word, command in (group or typer.main.get_command(app)).commands.items():
        name = " ".join((*path, word))
        if hasattr(command, "commands"):
            found |= known_commands(command, (*path, word))
        else:
            found[name] = KnownCommand(name, command.params, command.epilog or "")
    return found


COMMANDS = known_commands()


def command_of(words: list[str]) -> KnownCommand | None:
    """The command that the words after `slotwise` call; None if there is none."""
    return COMMANDS.get(" ".join(words[:2])) or COMMANDS.get(words[0] if words else "")


class ExampleFolder:
    """A folder with the examples of the repository, and a running service."""

    def __init__(self, folder: Path, service: Process) -> None:
        self.folder, self._service = folder, service
        self._results: dict[tuple[str, ...], CommandResult] = {}
        shutil.copytree(ROOT / "examples", folder / "examples", ignore=shutil.ignore_patterns("node_modules"))
        sw.Recommender(["hat", "tie", "bag"], ["hero", "side"], seed=1).save(folder / "page.json")
        write(folder / "log.ndjson", log_lines(400, 400))
        self._new_key()  # makes the store shop.db
        for line in SETTING_UP:
            self.run(line)

    def run(self, line: str) -> None:
        """Run a line of a shell, which must succeed. Programs that install are not run; `make` needs a target."""
        words = shlex.split(line, comments=True)
        if not words or words[0] in NOT_RUN:
            return
        if words[0] == "make":
            targets = {word for word in words[1:] if "=" not in word}
            assert targets <= make_targets(), line
        elif words[0] == ".venv/bin/pytest":
            assert all((ROOT / word.partition("::")[0]).exists() for word in words[1:] if word.startswith("tests")), (
                line
            )
        else:
            assert words[0] == "slotwise", f"tests do not know how to run {line!r}"
            result = self._slotwise(words[1:])
            assert result.exit_code == 0, f"{line}\n{result.stderr}"

    def _slotwise(self, words: list[str]) -> CommandResult:
        command = command_of(words)
        assert command, f"slotwise {shlex.join(words)} is no command"
        words = [*words, *LESS_WORK.get(command.name, "").split()]
        if command.name.startswith("keys "):
            words = [self._new_key() if word == EXAMPLE_KEY else word for word in words]
        elif "--url" in command.options:
            words += ["--url", self._service.address]
        if command.name in ("verify", "logs export"):
            words += ["--store", f"sqlite:///{self._service.store}"]
        if command.name == "serve":
            return self._serve(words)
        key = tuple(words)
        if key not in self._results or "--url" in words:  # several examples become the same with less work
            with contextlib.chdir(self.folder):
                self._results[key] = run_command(*words)
        return self._results[key]

    def _new_key(self) -> str:
        """The id of a new key in the store of the examples."""
        return StoreKeys(self.folder / "shop.db").create({"name": "example", "scopes": ["admin"]})["id"]

    def _serve(self, words: list[str]) -> CommandResult:
        """Start a service, and stop it when it listens."""
        command = [*COMMAND, *words, "--port", "0"]
        with subprocess.Popen(
            command, cwd=self.folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        ) as it:
            assert it.stdout is not None
            first = it.stdout.readline()
            it.terminate()
            _, errors = it.communicate()
        return CommandResult(0 if "http://" in first else 1, first, errors)


def make_targets() -> set[str]:
    return set(re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text(), flags=re.MULTILINE))
