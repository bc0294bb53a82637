"""Charts as pages: in a real browser, they fill the window of a phone, a laptop and a wide screen."""

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from slotwise.charts import fit_chart, learning_chart, rank_chart, ratio_chart, regret_chart, save_chart
from slotwise.inference.sampling.diagnosis import Diagnosis
from tests.charts.test_charts import RESULTS
from tests.chromium import Chromium
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
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Chromium]:
    with Chromium(tmp_path_factory.mktemp("profile")) as chromium:
        yield chromium


def measure(browser: Chromium, page: Path, width: int, height: int) -> dict[str, Any]:
    browser.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)
    browser.open(page.as_uri())
    deadline = time.monotonic() + HANG
    while not browser.evaluate("document.documentElement.dataset.drawn"):
        assert time.monotonic() < deadline
        time.sleep(0.05)
    measured: dict[str, Any] = browser.evaluate(MEASURE)
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
def test_a_chart_fills_the_window(name: str, browser: Chromium, tmp_path: Path) -> None:
    page = tmp_path / f"{name}.html"
    save_chart(CHARTS[name](), page)
    for width, height in WINDOWS:
        measured = measure(browser, page, width, height)
        assert measured["scroll"] <= width == measured["width"]  # no horizontal scrolling
        for chart_width, chart_height in measured["charts"]:
            assert 0.75 * measured["content"] <= chart_width <= measured["content"] + 1
            assert chart_height >= 120
        if len(measured["charts"]) == 1 and name != "ranks":
            assert measured["charts"][0][0] == pytest.approx(measured["content"], abs=2)
            assert 0.3 * height <= measured["charts"][0][1] <= height
        assert min(measured["fonts"]) >= 8  # text stays readable: it is not scaled down with the chart
    assert [request["url"] for request in browser.requests] == [page.as_uri()] * len(WINDOWS)
    browser.requests.clear()


def test_names_with_html_are_drawn_as_text(browser: Chromium, tmp_path: Path) -> None:
    title = "<!--<script> </script> <img src=x onerror=document.title='broken'>"
    save_chart(regret_chart(RESULTS, title=title), tmp_path / "page.html")
    assert measure(browser, tmp_path / "page.html", 800, 600)["charts"]
    assert browser.evaluate("document.querySelector('h1').textContent") == title
    assert browser.evaluate("document.title") == title


def test_a_chart_follows_the_window(browser: Chromium, tmp_path: Path) -> None:
    save_chart(regret_chart(RESULTS), tmp_path / "page.html")
    wide = measure(browser, tmp_path / "page.html", 1200, 800)
    browser.call("Emulation.setDeviceMetricsOverride", width=500, height=800, deviceScaleFactor=1, mobile=False)
    deadline = time.monotonic() + HANG
    while browser.evaluate("document.documentElement.dataset.drawn") == str(wide["content"]):
        assert time.monotonic() < deadline
        time.sleep(0.05)
    narrow = browser.evaluate(MEASURE)
    assert narrow["charts"][0][0] == pytest.approx(narrow["content"], abs=2)
    assert narrow["content"] < 500
