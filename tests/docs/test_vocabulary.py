"""Documentation, docstrings and comments use the words of the glossary (docs/concepts.md), and no retired ones."""

import ast
import io
import re
import tokenize
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

ROOT = Path(__file__).parent.parent.parent
ROOT_PAGES = [ROOT / name for name in ("README.md", "CHANGELOG.md", "CONTRIBUTING.md")]
PAGES = [*ROOT_PAGES, *sorted((ROOT / "docs").rglob("*.md"))]
SOURCES = sorted(
    path for folder in ("src", "clients", "tests", "benchmarks", "examples") for path in (ROOT / folder).rglob("*.py")
)
# these files name the old word because they replace it
ALLOWED = {"CHANGELOG.md": {"variant"}, "migrations.py": {"variant"}, "test_migrations.py": {"variant"}}


class Retired(NamedTuple):
    """A word that is no longer used, with a text that contains it and one that must not match."""

    pattern: str
    instead: str
    found: str
    not_found: str


RETIRED = [
    Retired(r"\barms?\b", "variant", "the arm of a display", "a multi-armed bandit"),
    Retired(r"\btold\b", "given (oracle), estimated (plug-in), reported", "BC-MPTS that is told kappa", "untold"),
    Retired(r"\banew\b", "again, or name the action: reload, replace", "is read anew", "a new one"),
    Retired(r"\bfor ever\b", "always, never", "wrong for ever", "for every item"),
    Retired(r"\b(?:whoever|somebody|nobody|everybody)\b", "name the user or the program", "Nobody calls.", "anybody"),
    Retired(r"\btall(?:y|ies)\b", "counts", "the tally of clicks", "tallest"),
    Retired(r"\bgames?\b", "run, round, simulation loop", "the game loop", "gamma"),
    Retired(r"\bconnected parts?\b", "component", "in each connected part", "connected components"),
    Retired(r"\bat home\b", "belongs to", "items at home there", "at homepage"),
    Retired(r"\bdraws (?:are|is|were) worth\b", "effective sample size", "the draws are worth 400", "worth a try"),
    Retired(r"\b(?:patience|gist)\b", "timeout, summary", "the patience of a call", "a register"),
]


def hits(text: str, file_name: str) -> list[str]:
    """The retired words in a text of a file, each with its line and what to write instead."""
    return [
        f"line {text.count(chr(10), 0, match.start()) + 1}: {match.group()!r}; write: {word.instead}"
        for word in RETIRED
        if word.instead not in ALLOWED.get(file_name, ())
        for match in re.finditer(word.pattern, text, flags=re.IGNORECASE)
    ]


def prose(source: str) -> Iterator[str]:
    """The docstrings and comments of a Python file."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            yield ast.get_docstring(node) or ""
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT:
            yield token.string


def hits_in_source(path: Path) -> list[str]:
    return [f"{text.splitlines()[0]!r}: {hit}" for text in prose(path.read_text()) for hit in hits(text, path.name)]


@pytest.mark.parametrize("word", RETIRED, ids=lambda word: word.pattern)
def test_a_retired_word_is_found_and_similar_ones_are_not(word: Retired) -> None:
    assert re.search(word.pattern, word.found, flags=re.IGNORECASE)
    assert not re.search(word.pattern, word.not_found, flags=re.IGNORECASE)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_pages_use_no_retired_words(page: Path) -> None:
    assert hits(page.read_text(), page.name) == []


def test_docstrings_and_comments_use_no_retired_words() -> None:
    used = [f"{path.relative_to(ROOT)}: {hit}" for path in SOURCES for hit in hits_in_source(path)]
    assert not used, "\n".join(used)


SOURCE = '''"""One."""

class A:
    """Two."""

    def b(self):
        """Three."""
        # four
'''


def test_docstrings_and_comments_are_read() -> None:
    assert list(prose(SOURCE)) == ["One.", "Two.", "Three.", "# four"]
