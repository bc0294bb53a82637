"""Names and module docstrings: classes have unique names, modules a one-line summary, and tests mirror the folders."""

import ast
from collections import defaultdict
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
SOURCE, TESTS = ROOT / "src" / "slotwise", ROOT / "tests"
MODULES = sorted(SOURCE.rglob("*.py"))
CONTRACT_NAMES = {"Params", "State", "Model"}  # every policy has the first two, every click model the third
OTHER_SUBJECTS = {
    "browser",
    "clients",
    "deploy",
    "docs",
    "statistics",
}  # folders of tests about no such folder


def class_names(source: str) -> list[str]:
    """The names of all classes in a Python file, nested ones included."""
    return [node.name for node in ast.walk(ast.parse(source)) if isinstance(node, ast.ClassDef)]


def shared_names(sources: dict[str, str]) -> dict[str, list[str]]:
    """The class names that occur more than once, except those of the contracts, each with its files."""
    files = defaultdict(list)
    for path, source in sources.items():
        for name in class_names(source):
            files[name].append(path)
    return {name: paths for name, paths in files.items() if len(paths) > 1 and name not in CONTRACT_NAMES}


def summary_problem(source: str) -> str | None:
    """What is wrong with the summary of a module, the first paragraph of its docstring, if anything."""
    paragraphs = (ast.get_docstring(ast.parse(source)) or "").split("\n\n")
    if not paragraphs[0]:
        return "there is no docstring"
    if "\n" in paragraphs[0] or len(source.splitlines()[0]) > 120:
        return "the summary does not fit on one line of 120 columns"
    return None if paragraphs[0].endswith(".") else "the summary does not end with a period"


def test_no_two_classes_share_a_name() -> None:
    assert shared_names({str(path.relative_to(ROOT)): path.read_text() for path in MODULES}) == {}


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(SOURCE)))
def test_a_module_has_a_summary_of_one_line(path: Path) -> None:
    assert summary_problem(path.read_text()) is None


def test_folders_of_tests_are_folders_of_the_package() -> None:
    tested = {path.parent.relative_to(TESTS) for path in TESTS.rglob("test_*.py")}
    assert {str(folder) for folder in tested if not (SOURCE / folder).is_dir()} == OTHER_SUBJECTS


def test_shared_names_are_found() -> None:
    first, second = "class A: ...\nclass Params: ...", "class B:\n    class A: ...\nclass Params: ..."
    assert shared_names({"first.py": first, "second.py": second}) == {"A": ["first.py", "second.py"]}


@pytest.mark.parametrize(
    "source",
    ["x = 1", '"""Two\nlines."""', '"""No period"""', f'"""{"long " * 30}."""'],
    ids=["missing", "two lines", "no period", "too long"],
)
def test_a_bad_summary_is_found(source: str) -> None:
    assert summary_problem(source) is not None
