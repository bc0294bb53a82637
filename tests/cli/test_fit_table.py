"""The table that `slotwise fit` prints."""

import pytest
from rich.console import Console

import slotwise as sw
from slotwise.cli import _console
from slotwise.cli._fit_table import MOST_ROWS, print_fits
from tests.cli.small_fits import small_fits


@pytest.fixture(autouse=True)
def _narrow(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_console, "stdout", Console(width=80, highlight=False))


def printed(fits: list[sw.QueryFit], capsys: pytest.CaptureFixture[str]) -> list[str]:
    print_fits(fits)
    lines = capsys.readouterr().out.splitlines()
    assert max(map(len, lines)) <= 80
    return lines


def test_the_most_visited_queries_come_first(capsys) -> None:
    head, _, first, second, *rest = printed(small_fits(), capsys)
    assert [cell.strip() for cell in head.split("┃")] == [
        *("query", "items", "displays", "clicks", "kappa", "best item", "warnings")
    ]
    cells = [cell.strip() for cell in first.split("│")]
    assert cells == ["query 1", "4", "4,080", "1,913", "1 .50 .25 …", "query 1 i…", "0"]
    assert second.startswith(" query 0")
    assert rest[0].startswith("query 0: ")
    assert "'query 0 item 1'" in rest[0]


def test_queries_beyond_the_table_are_counted(capsys) -> None:
    text = "\n".join(printed(small_fits(MOST_ROWS + 5), capsys))
    assert text.count("│") == 6 * MOST_ROWS
    assert "and 5 more" in text


def test_names_are_printed_as_they_are(capsys) -> None:
    """A name adds no colours and no second line, and leaves room for the numbers."""
    text = "\n".join(printed(small_fits(name="[red]hats[/]\nand [bold]ties " + "very " * 30), capsys))
    assert "[red]hats" in text
    assert "1 .50 .25 …" in text


def test_a_line_says_that_svd_has_no_standard_errors(capsys) -> None:
    assert any(line.startswith("svd ") for line in printed(small_fits(method="svd"), capsys))
    assert not any(line.startswith("svd ") for line in printed(small_fits(), capsys))


def test_nothing_fitted_is_an_empty_table(capsys) -> None:
    assert "query" in printed([], capsys)[0]
