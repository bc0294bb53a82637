"""The examples in docstrings run, and every public name has one."""

import doctest
import importlib
import inspect
import re
from pathlib import Path

import pytest

import slotwise as sw

SOURCE = Path(sw.__file__).parent
EXAMPLE = re.compile(r"^ *>>> ", re.MULTILINE)
FILES = [path for path in sorted(SOURCE.rglob("*.py")) if EXAMPLE.search(path.read_text())]


def module_name(path: Path) -> str:
    parts = path.relative_to(SOURCE.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def failures(examples: doctest.DocTest) -> str:
    report: list[str] = []
    doctest.DocTestRunner().run(examples, out=report.append)
    return "".join(report)


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(SOURCE)))
def test_the_examples_of_a_module_run(path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    found = [each for each in doctest.DocTestFinder().find(importlib.import_module(module_name(path))) if each.examples]
    assert sum(len(each.examples) for each in found) == len(EXAMPLE.findall(path.read_text()))  # none is overlooked
    assert "".join(map(failures, found)) == ""


@pytest.mark.parametrize("name", [name for name in sw.__all__ if not name.startswith("__")])
def test_every_public_name_has_an_example(name: str) -> None:
    assert ">>> " in (inspect.getdoc(getattr(sw, name)) or "")


def test_a_wrong_example_fails() -> None:
    wrong = doctest.DocTestParser().get_doctest(">>> 1 + 1\n3\n", {}, "wrong", None, 0)
    assert "Expected:" in failures(wrong)
