"""Fits on the screen and as models of a simulation, as a person sees and types them."""

import json
from pathlib import Path

import numpy as np
import pytest
from rich.console import Console

import slotwise as sw
from slotwise.cli import _console
from slotwise.cli._fit_table import MOST_ROWS, show_fits
from tests.cli.test_simulate import SMALL, run


@pytest.fixture(autouse=True)
def _narrow(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_console, "screen", Console(width=80))
    monkeypatch.setattr(_console, "errors", Console(stderr=True, width=200))


def fits(how_many: int = 2, name: str = "query", method: str = "em") -> list[sw.QueryFit]:
    """The later the more displays; the first have few clicks."""
    queries = []
    for k in range(how_many):
        views = 20 + 1000 * k
        clicks = np.round(views * np.outer([0.4, 0.2, 0.3, 0.1], [1.0, 0.5, 0.25, 0.125])).astype(int)
        items = [f"{name} {k} item {j}" for j in range(4)]
        queries.append(sw.Query(f"{name} {k}", items, ["a", "b", "c", "d"], sw.Counts(clicks, views - clicks)))
    return sw.fit_queries(queries, method)


def shown(some: list[sw.QueryFit], capsys: pytest.CaptureFixture[str]) -> list[str]:
    show_fits(some)
    lines = capsys.readouterr().out.splitlines()
    assert max(map(len, lines)) <= 80
    return lines


def test_the_most_visited_queries_come_first(capsys) -> None:
    head, _, first, second, *rest = shown(fits(), capsys)
    assert [cell.strip() for cell in head.split("┃")] == [
        *("query", "items", "displays", "clicks", "kappa", "best item", "warned")
    ]
    cells = [cell.strip() for cell in first.split("│")]
    assert cells == ["query 1", "4", "4,080", "1,913", "1 .50 .25 …", "query 1 it…", "0"]
    assert second.startswith(" query 0")
    assert rest[0].startswith("query 0: items 'query 0 item 1',")


def test_more_than_fit_are_counted(capsys) -> None:
    text = "\n".join(shown(fits(MOST_ROWS + 5), capsys))
    assert text.count("│") == 6 * MOST_ROWS
    assert "and 5 more\n" in text


def test_names_are_shown_as_they_are(capsys) -> None:
    """No colours, no second lines, and room for the numbers."""
    text = "\n".join(shown(fits(name="[red]hats[/]\nand [bold]ties " + "very " * 30), capsys))
    assert "[red]hats" in text
    assert "1 .50 .25 …" in text


def test_svd_is_said_to_have_no_errors(capsys) -> None:
    assert "svd gives no errors; em and bayes do" in shown(fits(method="svd"), capsys)


def test_nothing_fitted_is_an_empty_table(capsys) -> None:
    assert "query" in shown([], capsys)[0]


# slotwise simulate --model


def test_a_query_of_a_file_of_fits_is_a_model(monkeypatch, capsys, tmp_path: Path) -> None:
    path, both = tmp_path / "params.json", fits()
    sw.save_fits(both, path)
    command = ["simulate", *SMALL, "--policies", "uniform", "--model", str(path)]
    assert run(monkeypatch, *command, "--query", "query 1", "--json") == 0
    (row,) = json.loads(capsys.readouterr().out)
    assert row["regret"] == sw.simulate("uniform", both[1], rounds=200, runs=3).mean().tolist()
    assert run(monkeypatch, *command, "--query", "query 1") == 0
    assert "query query 1, 3 runs" in " ".join(capsys.readouterr().out.split())
    sw.save_fits(both[:1], path)  # the only one needs no name
    assert run(monkeypatch, *command) == 0


@pytest.mark.parametrize("command", ["simulate", "diagnose"])
def test_a_model_that_cannot_be_chosen_is_said_in_one_line(command: str, monkeypatch, capsys, tmp_path: Path) -> None:
    sw.save_fits(fits(7), tmp_path / "params.json")
    (tmp_path / "m.json").write_text('{"theta": [0.5, 0.2], "kappa": [1]}')
    (tmp_path / "bad.json").write_text('{"format": "slotwise-fit", "version": 1, "body": {"queries": 5}}')
    (tmp_path / "other.json").write_text("[]")
    for arguments, message in [
        (
            ["params.json"],
            "7 queries ('query 0', 'query 1', 'query 2', 'query 3', 'query 4', ...)",
        ),
        (["params.json", "--query", "hats"], "query 'hats'; the 7 queries are 'query 0', "),
        (["m.json", "--query", "hats"], "has no queries to choose 'hats' from"),
        (["bad.json"], "is a damaged slotwise fit"),
        (["other.json"], "or be a file of fits"),
    ]:
        monkeypatch.chdir(tmp_path)
        assert run(monkeypatch, command, "--model", *arguments) == 2
        told = capsys.readouterr().err
        assert message in told
        assert "--query" in told or "--query" in arguments or arguments[0] in {"bad.json", "other.json"}
        assert len(told.splitlines()) == 1
    assert run(monkeypatch, command, "--setting", "standard", "--query", "hats") == 2
    assert "--query 'hats' goes with --model" in capsys.readouterr().err
