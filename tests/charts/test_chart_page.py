"""Charts as pages: in a real browser, they fill the window of a phone, a laptop and a wide screen."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from playwright.sync_api import Page

from slotwise.charts import fit_chart, learning_chart, rank_chart, ratio_chart, regret_chart, save_chart
from slotwise.inference.sampling.diagnosis import Diagnosis
from tests.charts.test_charts import RESULTS
from tests.chromium import running_browser
from tests.cli.small_fits import small_fits
from tests.waiting import HANG

WINDOWS = [(400, 800), (1200, 800), (2000, 1100)]
MEASURE = """(() => {
  const root = document.documentElement, parts = [...document.querySelectorAll(".part svg.marks")];
  const box = (element) => element.getBoundingClientRect();
  return { width: innerWidth, content: Number(root.dataset.drawn), scroll: root.scrollWidth,
    charts: parts.map((svg) => [box(svg).width, box(svg).height]),
    fonts: parts.flatMap((svg) => [...svg.querySelectorAll("text")].map((text) => box(text).height)) };
})()"""


@pytest.fixture(scope="module")
def tab() -> Iterator[Page]:
    with running_browser() as browser:
        tab = browser.new_page()
        tab.set_default_timeout(1e3 * HANG)
        yield tab


def measure(tab: Page, page: Path, width: int, height: int) -> dict[str, Any]:
    tab.set_viewport_size({"width": width, "height": height})
    tab.goto(page.as_uri())
    tab.wait_for_selector("html[data-drawn]", state="attached")
    measured: dict[str, Any] = tab.evaluate(MEASURE)
    return measured


def a_diagnosis() -> Diagnosis:
    draws = np.random.default_rng(1).random((2, 100, 9))
    ranks = np.argsort(np.argsort(draws.reshape(200, 9), axis=0), axis=0).reshape(2, 100, 9) + 1.0
    ess, zeros = np.full(9, 100.0), np.zeros(9)
    names = [f"theta {k}" for k in range(9)]
    return Diagnosis("mixing", names, draws, ess, ess, zeros, zeros, zeros, ranks, {}, 1, 1, 1.0)


CHARTS = {
    "regret": lambda: regret_chart(RESULTS, title="A long title that must wrap on a phone: " + "hats and ties " * 5),
    "ratio": lambda: ratio_chart(RESULTS[:2]),
    "learning": lambda: learning_chart([(10, 0.5), (20, 0.1)], at_random=0.7),
    "ranks": lambda: rank_chart(a_diagnosis()),
    "fits": lambda: fit_chart(small_fits(5)),
}


@pytest.mark.parametrize("name", CHARTS)
def test_a_chart_fills_the_window(name: str, tab: Page, tmp_path: Path) -> None:
    page, requests = tmp_path / f"{name}.html", list[str]()
    save_chart(CHARTS[name](), page)
    tab.on("request", lambda request: requests.append(request.url))
    for width, height in WINDOWS:
        measured = measure(tab, page, width, height)
        assert measured["scroll"] <= width == measured["width"]  # no horizontal scrolling
        for chart_width, chart_height in measured["charts"]:
            assert 0.75 * measured["content"] <= chart_width <= measured["content"] + 1
            assert chart_height >= 120
        if len(measured["charts"]) == 1 and name != "ranks":
            assert measured["charts"][0][0] == pytest.approx(measured["content"], abs=2)
            assert 0.3 * height <= measured["charts"][0][1] <= height
        assert min(measured["fonts"]) >= 8  # text stays readable: it is not scaled down with the chart
    assert requests == [page.as_uri()] * len(WINDOWS)


def test_names_with_html_are_drawn_as_text(tab: Page, tmp_path: Path) -> None:
    title = "<!--<script> </script> <img src=x onerror=document.title='broken'>"
    save_chart(regret_chart(RESULTS, title=title), tmp_path / "page.html")
    assert measure(tab, tmp_path / "page.html", 800, 600)["charts"]
    assert tab.text_content("h1") == title
    assert tab.title() == title


def test_a_chart_follows_the_window(tab: Page, tmp_path: Path) -> None:
    save_chart(regret_chart(RESULTS), tmp_path / "page.html")
    wide = measure(tab, tmp_path / "page.html", 1200, 800)
    tab.set_viewport_size({"width": 500, "height": 800})
    tab.wait_for_selector(f"html:not([data-drawn='{wide['content']}'])", state="attached")
    narrow = tab.evaluate(MEASURE)
    assert narrow["charts"][0][0] == pytest.approx(narrow["content"], abs=2)
    assert narrow["content"] < 500
