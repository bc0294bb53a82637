"""The table that `slotwise fit` prints."""

import re

import numpy as np
import pytest
from rich.cells import cell_len
from rich.console import Console

import slotwise as sw
from slotwise.cli import _console
from slotwise.cli._fit_table import MOST_ITEMS_OF_ONE, MOST_QUERIES, print_fits
from tests.cli.small_fits import small_fits

INTERVAL = ["90", "%", "interval"]


def printed(
    fits: list[sw.QueryFit], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, width: int = 80
) -> list[str]:
    monkeypatch.setattr(_console, "stdout", Console(width=width, highlight=False))
    print_fits(fits)
    lines = [line.rstrip() for line in capsys.readouterr().out.splitlines()]
    assert max(map(cell_len, lines), default=0) <= width
    return lines


def made_up_fit(items: list[str], positions: list[str], name: str = "hats") -> sw.QueryFit:
    """A fit whose item k has theta 0.5 / (k + 1), and whose kappas fall from 1 to 0.4."""
    theta, kappa = 0.5 / np.arange(1, len(items) + 1), np.linspace(1.0, 0.4, len(positions))
    clicks = np.round(1000 * np.outer(theta, kappa))
    (fit,) = sw.fit_queries([sw.Query(name, items, positions, sw.Counts(clicks, 1000 - clicks))])
    return fit


@pytest.mark.parametrize("width", [80, 140])
def test_every_kappa_and_theta_by_name_with_its_interval(capsys, monkeypatch, width: int) -> None:
    fit = made_up_fit(["felt", "straw", "wool", "silk"], ["top", "left", "right"])
    heading, head, *rows = printed([fit], capsys, monkeypatch, width)
    assert heading == f"hats: 4 items, 4,000 displays, {fit.clicks:,.0f} clicks"
    assert head.split() == ["position", "kappa", *INTERVAL, "item", "theta", *INTERVAL]
    kappa, theta = fit.kappa_interval.round(3), fit.theta_interval.round(3)
    for k, (position, item) in enumerate([("top", "felt"), ("left", "straw"), ("right", "wool")]):
        cells = rows[k].split()
        ends = ["reference"] if k == 0 else [f"{kappa[k, 0]:.3f}"[1:], "to", f"{kappa[k, 1]:.3f}"[1:]]
        assert cells[0] == position
        assert cells[2 : 2 + len(ends)] == ends
        assert cells[2 + len(ends) :] == [
            *(item, f"{fit.theta[k]:.3f}"[1:], f"{theta[k, 0]:.3f}"[1:], "to", f"{theta[k, 1]:.3f}"[1:])
        ]
    assert rows[3].split()[0] == "silk"


@pytest.mark.parametrize("width", [80, 140])
@pytest.mark.parametrize("n_positions", [1, 3, 20])
def test_positions_are_in_the_order_of_the_page_and_items_by_theta(
    capsys, monkeypatch, width: int, n_positions: int
) -> None:
    positions = [f"place {n_positions - k}" for k in range(n_positions)]
    fit = made_up_fit([f"item {k}" for k in range(100)], positions)
    lines = printed([fit], capsys, monkeypatch, width)
    rows = lines[2 : lines.index("")]  # warnings follow
    assert [row[: len("place 12")].strip() for row in rows[:n_positions]] == positions
    listed = [row.split("item ")[1].split()[0] for row in rows if "item " in row]
    assert listed == [str(k) for k in range(MOST_ITEMS_OF_ONE - 1)]
    assert any("and 81 more" in row for row in rows)


def test_the_queries_with_the_most_displays_come_first(capsys, monkeypatch) -> None:
    lines = printed(small_fits(), capsys, monkeypatch)
    headings = [line for line in lines if "displays" in line]
    assert [heading.split(":")[0] for heading in headings] == ["query 1", "query 0"]
    assert "4 items, 4,080 displays, 1,913 clicks" in headings[0]
    assert lines[-1].startswith("query 0: ") or any(line.startswith("query 0: item") for line in lines)
    text = "\n".join(printed(small_fits(MOST_QUERIES + 5), capsys, monkeypatch))
    assert text.count(" displays, ") == MOST_QUERIES
    assert "and 5 more queries" in text


@pytest.mark.parametrize("width", [80, 140])
def test_names_are_printed_as_they_are(capsys, monkeypatch, width: int) -> None:
    """No colours, no second lines, wide letters, and room for the numbers."""
    name = "[red]hats[/]\nand \x1b[31m[bold]ties " + "very " * 30
    items = ["[red]" + "long " * 30, "帽子" * 40, "tie"]
    lines = printed([made_up_fit(items, ["[b]" + "x" * 90, "side"], name)], capsys, monkeypatch, width)
    assert lines[0].startswith("[red]hats[/] and  [31m[bold]"[: width // 4])
    assert lines[0].endswith("clicks")
    assert lines[2].startswith("[b]xx")
    assert "reference" in lines[2]
    assert "…" in lines[2]
    assert lines[3].count("帽子") > 2
    assert all(line.isprintable() for line in lines)
    numbers = [line.split("to")[-1].strip() for line in lines[2:5]]
    assert all(number.startswith(".") for number in numbers)


def test_names_that_differ_at_their_ends_stay_different(capsys, monkeypatch) -> None:
    lines = printed([made_up_fit([f"{'long ' * 20}{k}" for k in range(9)], ["a", "b"])], capsys, monkeypatch)
    names = [line.split("long", 1)[1].split("  ")[0] for line in lines[2:11]]
    assert [name[-1] for name in names] == list("012345678")


def test_small_numbers_keep_three_digits(capsys, monkeypatch) -> None:
    clicks = np.array([[1230.0, 615.0], [20.0, 10.0]])
    query = sw.Query("q", ["a", "b"], ["1", "2"], sw.Counts(clicks, 100_000 - clicks))
    rows = printed(sw.fit_queries([query]), capsys, monkeypatch)
    assert ".0123" in rows[2]
    assert ".000200" in rows[3]


def test_a_line_says_that_svd_has_no_standard_errors(capsys, monkeypatch) -> None:
    assert any(line.startswith("svd ") for line in printed(small_fits(method="svd"), capsys, monkeypatch))
    assert not any(line.startswith("svd ") for line in printed(small_fits(), capsys, monkeypatch))


def test_nothing_fitted_prints_nothing(capsys, monkeypatch) -> None:
    assert printed([], capsys, monkeypatch) == []


def numbered_fits(*tables: list[list[int]]) -> list[sw.QueryFit]:
    """Queries 1, 2, ... with these clicks of 1,000 displays in every cell."""
    queries = [
        sw.Query(str(k), ["7", "8", "9"][: len(clicks)], ["1", "2"], sw.Counts(clicks, 1000 - np.array(clicks)))
        for k, clicks in enumerate(tables, 1)
    ]
    return sw.fit_queries(queries)


GOOD, FEW, POOR = [[400, 200], [200, 100]], [[400, 20], [200, 10]], [[400, 200], [200, 300]]


def test_the_warnings_of_numbered_queries_do_not_look_like_a_list(capsys, monkeypatch) -> None:
    lines = printed(numbered_fits(GOOD, FEW, POOR), capsys, monkeypatch, width=200)
    assert [line.partition(":")[0] for line in lines if " displays, " in line] == ["query 1", "query 2", "query 3"]
    assert "query 2, position 2: fewer than 50 clicks, a rough estimate" in lines
    assert any(line.startswith("query 3: a position-based model does not fit (p = ") for line in lines)


def test_a_closing_line_says_whether_the_model_fits(capsys, monkeypatch) -> None:
    (good,), (poor,) = numbered_fits(GOOD), numbered_fits(POOR)
    assert good.goodness_of_fit is not None
    assert printed([good], capsys, monkeypatch)[-1] == (
        f"the position-based model fits: p = {good.goodness_of_fit.p_value:.2g}"
    )
    assert printed([poor], capsys, monkeypatch)[-1].startswith("the position-based model does not fit: p = ")
    untested = printed(numbered_fits([[3, 0]]), capsys, monkeypatch)
    assert untested[-1] == "the position-based model was not tested: there are too few clicks or cells"
    several = printed(numbered_fits(GOOD, GOOD, POOR, [[3, 0]]), capsys, monkeypatch)
    assert several[-1] == "the position-based model fits 2 of 3 tested queries; 1 was not tested"
    clicks = np.array([[400_000, 200_000], [200_000, 101_000]])
    query = sw.Query("hats", ["felt", "straw"], ["top", "side"], sw.Counts(clicks, 1_000_000 - clicks))
    tiny = printed(sw.fit_queries([query]), capsys, monkeypatch)
    assert re.fullmatch(r"the position-based model fits: click rates are off by 0\.\d % only \(p = .*\)", tiny[-1])


# templates


def shared(clicks: dict[str, list[list[int]]], positions: list[str], views: int = 400) -> list[sw.QueryFit]:
    queries = [
        sw.Query(name, ["a", "b"], positions, sw.Counts(rows, views - np.array(rows))) for name, rows in clicks.items()
    ]
    return sw.fit_queries(queries, template=True)


SAME = {"hats": [[100, 50], [60, 30]], "ties": [[80, 40], [40, 20]]}


def test_the_lines_of_a_template(capsys, monkeypatch) -> None:
    fits = shared(SAME, ["top", "side"])
    assert "positions top, side: 2 queries share their kappas; no difference was found (p = 1)" in " ".join(
        printed(fits, capsys, monkeypatch)
    )
    (alone,) = shared({"hats": SAME["hats"]}, ["top", "side"])
    assert "positions top, side: no other query has these positions" in printed([alone], capsys, monkeypatch)
    few = shared({"hats": [[1, 0], [1, 1]], "ties": [[1, 1], [0, 1]]}, ["top", "side"])
    assert "too few clicks to test" in " ".join(printed(few, capsys, monkeypatch))
    dark = shared({"hats": [[100, 0], [60, 0]], "ties": [[80, 0], [40, 0]]}, ["top", "[red]side"])
    assert "positions top, [red]side: position '[red]side': no clicks" in " ".join(printed(dark, capsys, monkeypatch))


def test_many_templates_are_only_counted(capsys, monkeypatch) -> None:
    fits = [fit for k in range(7) for fit in shared({f"q{k}": SAME["hats"]}, ["top", f"side {k}"])]
    assert "and 2 more lists of positions" in printed(fits, capsys, monkeypatch)
