"""The examples in the pages and in `--help` run: commands with less work, code as it is written."""

import contextlib
import re
import shlex
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.docs.example_folder import COMMANDS, ROOT, SHOP_AS_NEW, ExampleFolder, command_of
from tests.service.running_service import Process

PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
WIDTH = 78  # columns of a help text on a terminal with 80
# tests of their own: in test_service_docs.py and tests/clients; test_docs.py has those of the README and of the policy
WITHOUT_COMMANDS, WITHOUT_CODE = {"service.md"}, {"README.md", "service.md", "adding_a_policy.md", "clients.md"}


class Block(NamedTuple):
    """An example of a page."""

    language: str
    text: str


def blocks(page: Path) -> list[Block]:
    return [Block(*found) for found in re.findall(r"^```(\w*)\n(.*?)^```", page.read_text(), re.DOTALL | re.MULTILINE)]


def examples(page: Path) -> list[Block]:
    commands, code = page.name not in WITHOUT_COMMANDS, page.name not in WITHOUT_CODE
    return [
        block
        for block in blocks(page)
        if (block.language == "sh" and commands) or (block.language == "python" and code)
    ]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory, service: Process) -> ExampleFolder:
    return ExampleFolder(tmp_path_factory.mktemp("clone"), service)


@pytest.fixture(scope="module")
def dask() -> Iterator[str]:
    """The address of a Dask scheduler with one worker."""
    import distributed

    with distributed.LocalCluster(
        n_workers=1, processes=False, protocol="tcp://", host="127.0.0.1", dashboard_address=":0", silence_logs=50
    ) as cluster:
        yield cluster.scheduler_address


@pytest.fixture
def run(folder: ExampleFolder, request: pytest.FixtureRequest) -> Callable[[str], None]:
    """Runs a line. The scheduler and the database that some examples need are started when they are needed."""
    folder.run(SHOP_AS_NEW)

    def run_line(line: str) -> None:
        if "--dask" in line:
            line = re.sub(r"--dask \S+", f"--dask {request.getfixturevalue('dask')}", line)
        if "postgresql:///shop" in line:
            line = line.replace("postgresql:///shop", request.getfixturevalue("postgres").database())
        folder.run(line)

    return run_line


@pytest.mark.parametrize("page", [page for page in PAGES if examples(page)], ids=lambda page: page.stem)
def test_the_examples_of_a_page_run(page: Path, folder: ExampleFolder, run: Callable[[str], None]) -> None:
    names: dict[str, object] = {}
    for block in examples(page):
        if block.language == "sh":
            for line in block.text.splitlines():
                run(line)
        else:
            with contextlib.chdir(folder.folder):
                exec(compile(block.text, page.name, "exec"), names)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_blocks_with_commands_are_marked_so_that_they_run(page: Path) -> None:
    for block in blocks(page):
        if block.language == "" and page.name not in WITHOUT_COMMANDS:
            assert not re.search(r"^(slotwise|curl|make|pip|\.venv/bin/\w+) ", block.text, re.MULTILINE), block.text


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_commands_within_sentences_exist(page: Path) -> None:
    for line in re.findall(r"`slotwise ([^`]+)`", page.read_text()):
        words = shlex.split(line)
        command = command_of(words)
        if command is None:  # a group of commands, such as `slotwise pages`
            assert any(name.startswith(f"{words[0]} ") for name in COMMANDS), line
        else:
            assert {word for word in words if word.startswith("--")} <= command.options | {"--help"}, line


@pytest.mark.parametrize("name", COMMANDS)
def test_the_examples_in_the_help_run(name: str, run: Callable[[str], None]) -> None:
    assert COMMANDS[name].examples
    for line in COMMANDS[name].examples:
        run(line)


@pytest.mark.parametrize("name", COMMANDS)
def test_the_examples_in_the_help_are_not_broken_into_lines(name: str) -> None:
    assert [line for line in COMMANDS[name].examples if len(line) > WIDTH] == []


def test_a_wrong_example_fails(folder: ExampleFolder) -> None:
    for line in ("slotwise simulate --polices pb_mhb", "slotwise simulte", "make everything", "sloptwise policies"):
        with pytest.raises(AssertionError):
            folder.run(line)
