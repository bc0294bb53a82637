"""How models, results, fits, posteriors and pages look in a Python session and in a notebook."""

from dataclasses import replace
from html.parser import HTMLParser

import numpy as np
import pytest

import slotwise as sw
from slotwise.notebook import MOST_ROWS, format_numbers, html_table

HOSTILE = "<script>alert(1)</script>&\"'"
CLICKS = np.array([[400, 200], [200, 100], [100, 50]])
COUNTS = sw.Counts(CLICKS, 1000 - CLICKS)
ITEMS, POSITIONS = ["felt", HOSTILE, "wool"], ["top", "<b>side</b>"]


class Reader(HTMLParser):
    """The cells of the tables, all the text, and whether every tag is closed."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: set[str] = set()
        self.cells: list[str] = []
        self.text = ""
        self.feed(html)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: object) -> None:  # noqa: ARG002 - the parser calls it with both
        self.open.append(tag)
        self.tags.add(tag)
        if tag in ("td", "th"):
            self.cells.append("")

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data
        if self.open and self.open[-1] in ("td", "th"):
            self.cells[-1] += data


def query_fit(items: list[str] = ITEMS, counts: sw.Counts = COUNTS, method: str = "em") -> sw.QueryFit:
    (fit,) = sw.fit_queries([sw.Query(HOSTILE, items, POSITIONS, counts)], method)
    return fit


def table_rows(fit: sw.QueryFit) -> list[list[str]]:
    cells = Reader(fit._repr_html_()).cells
    return [cells[k : k + 3] for k in range(0, len(cells), 3)]


@pytest.fixture(scope="module")
def page() -> sw.Recommender:
    page = sw.Recommender(items=ITEMS, positions=POSITIONS, policy="uniform")
    page.learn({"top": "felt", "<b>side</b>": "wool"}, clicked=["top"])
    page.retire("wool")
    return page


@pytest.fixture(scope="module")
def posterior() -> sw.Posterior:
    return sw.posterior(COUNTS, draws=400)


def test_a_line_says_what_it_is(page: sw.Recommender, posterior: sw.Posterior) -> None:
    assert repr(sw.fit(COUNTS)) == "Fit(em: theta=[0.4, 0.2, 0.1], kappa=[1, 0.5])"
    never = sw.fit(sw.Counts([[4, 2], [0, 0]], [[6, 8], [0, 0]]))
    assert repr(never).endswith(f"{len(never.warnings)} warning{'s' * (len(never.warnings) > 1)})")
    line = repr(query_fit())
    assert line.startswith("QueryFit(")
    assert all(text in line for text in ("em", "3,000 displays", "'top': 'felt'"))
    assert repr(page) == "Recommender(uniform: 3 items (1 retired), 2 positions, learnt from 1 display)"
    assert repr(posterior).startswith("Posterior(400 draws, mean theta=[0.4, 0.2, 0.1], mean kappa=[1, 0.5], ess=")
    for object in (query_fit(), page, posterior, sw.fit(COUNTS)):
        assert "\n" not in repr(object)
        assert len(repr(object)) < 160


def test_many_items_stay_on_a_short_line() -> None:
    clicks = np.full((300, 2), 5)
    counts = sw.Counts(clicks, 100 - clicks)
    for fit in (sw.fit(counts), query_fit([f"item {k} " + "x" * 50 for k in range(300)], counts)):
        assert len(repr(fit)) < 250
        assert f"and {300 - MOST_ROWS} more" in Reader(fit._repr_html_()).text


def test_notebooks_show_names_and_escape_them(page: sw.Recommender, posterior: sw.Posterior) -> None:
    fit = query_fit()
    for object, names in ((fit, [*ITEMS, *POSITIONS]), (page, ["felt", HOSTILE, "wool (retired)"])):
        html = object._repr_html_()
        read = Reader(html)
        assert set(names) <= set(read.cells)
        assert read.tags <= {"div", "strong", "table", "thead", "tbody", "tr", "th", "td"}
        assert HOSTILE not in html
    assert HOSTILE in Reader(fit._repr_html_()).text
    for object in (sw.fit(COUNTS), posterior):
        assert {"0", "1", "2"} <= set(Reader(object._repr_html_()).cells)
    assert posterior.note in Reader(posterior._repr_html_()).text


def test_a_notebook_shows_kappas_in_order_and_thetas_by_size_with_intervals() -> None:
    fit = query_fit(["low", "high", "middle"], sw.Counts(CLICKS[[2, 0, 1]], 1000 - CLICKS[[2, 0, 1]]))
    rows = table_rows(fit)
    low, high = fit.kappa_interval[1]
    assert rows[:3] == [
        ["position", "kappa", "90 % interval"],
        ["top", "1", "reference"],
        ["<b>side</b>", f"{fit.kappa[1]:.3g}", f"{low:.3g} to {high:.3g}"],
    ]
    assert [row[0] for row in rows[3:]] == ["item", "high", "middle", "low"]
    assert [row[2] for row in table_rows(query_fit(method="svd"))][1:3] == ["-", "-"]


def test_warnings_of_a_fit_are_below_its_tables() -> None:
    fit = query_fit(counts=sw.Counts([[4, 2], [0, 0], [1, 0]], [[6, 8], [5, 5], [0, 0]]))
    assert fit.warnings
    text = Reader(fit._repr_html_()).text
    assert all(warning in text for warning in fit.warnings)


def test_numbers_and_tables_are_short() -> None:
    assert format_numbers(np.array([0.123, 1.0])) == "[0.12, 1]"
    assert format_numbers(np.linspace(0.0, 1.0, 11)) == "[0, 0.1, 0.2, 0.3, 0.4, ...]"
    cells = Reader(html_table(["a", "b"], [[str(k), ""] for k in range(25)])).cells
    assert cells[-2:] == ["and 5 more", ""]
    assert len(cells) == 2 * (1 + MOST_ROWS + 1)


def test_a_model_and_a_result_fit_into_a_line() -> None:
    assert repr(sw.PBM([0.5, 0.123, 0.1, 0.05, 0.02, 0.01], [1, 0.5])) == (
        "PBM(theta=[0.5, 0.12, 0.1, 0.05, 0.02, ...], kappa=[1, 0.5])"
    )
    assert repr(simulated()) == "Result(uniform: regret 40,000 ± 20,000 after 20,000 rounds, 2 runs)"
    single = replace(simulated(), regret=np.array([[0.25, 1.0, 20.0]]))
    assert repr(single) == "Result(uniform: regret 20 after 20,000 rounds, 1 run)"


def test_a_notebook_shows_a_model_in_the_order_of_its_indices() -> None:
    cells = Reader(sw.PBM([0.1, 0.3, 0.2], [0.5, 1])._repr_html_()).cells
    assert cells == ["position", "kappa", "0", "0.5", "1", "1", "item", "theta", "0", "0.1", "1", "0.3", "2", "0.2"]


def test_a_notebook_shows_the_regret_at_powers_of_ten_and_escapes_names() -> None:
    shown = Reader(replace(simulated(), policy=HOSTILE, params={HOSTILE: HOSTILE})._repr_html_())
    assert shown.cells[:5] == ["rounds", "regret", "standard error", "median", "95 %"]
    assert shown.cells[5:] == ["10", "2", "1", "2", "2.9", "20,000", "40,000", "20,000", "40,000", "58,000"]
    assert shown.text.count(HOSTILE) == 3
    assert "script" not in shown.tags


def simulated() -> sw.Result:
    regret = np.array([[1.0, 1.0, 20_000.0], [3.0, 7.0, 60_000.0]])
    return sw.Result("uniform", {}, sw.PBM(np.ones(3), np.ones(2)), 0, 0, np.array([10, 15, 20_000]), regret, 0.1)
