"""The report in a real browser, wide and narrow, without a network."""

import html
import re
import threading
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from slotwise.paper.claims.claim import HOLDS, IN_PART, NOT
from slotwise.paper.experiments import EXPERIMENTS as ALL
from slotwise.paper.output.figures import QUICK
from slotwise.paper.output.markdown import render_markdown
from slotwise.paper.output.publish import publish
from slotwise.paper.output.sections import left_out, make_provenance, summarize_verdicts
from slotwise.paper.statistics import Measurement
from tests.chromium import running_browser
from tests.paper import made_up_results as made_up
from tests.waiting import HANG

EXPERIMENTS = ["fig-warm", "fig-spread", "tab-time", "tab-data", "fig-behavioral"]
CHARTS = 6  # regret, distributions, times and their growth, regret, choice of c
MEASURE = """() => {
  const root = document.documentElement, pictures = [...document.querySelectorAll(".interactive svg.marks")];
  return {
    charts: Number(root.dataset.charts), pictures: pictures.length, wide: root.scrollWidth,
    requests: performance.getEntriesByType("resource").map((one) => one.name),
    cut: [...document.querySelectorAll("#tab-data .box")].filter((one) => one.scrollWidth > one.clientWidth).length,
    narrowest: Math.min(...pictures.map((one) => one.clientWidth)),
  };
}"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("report")
    publish(made_up.made_up_reproduction(EXPERIMENTS), out, "slotwise reproduce <quick & dirty>")
    return out


@pytest.fixture(scope="module")
def address(folder: Path) -> Iterator[str]:
    class Quiet(SimpleHTTPRequestHandler):
        def log_message(self, *words: object) -> None:
            """Print nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(folder))) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


@pytest.mark.parametrize(("width", "scheme"), [(390, "dark"), (1200, "light")])
def test_every_chart_is_drawn_without_network_requests(width: int, scheme: Any, address: str) -> None:
    messages: list[str] = []
    with running_browser() as browser:
        tab = browser.new_page(viewport={"width": width, "height": 800}, color_scheme=scheme)
        tab.set_default_timeout(1e3 * HANG)
        tab.on("console", lambda message: messages.append(message.text))
        tab.on("pageerror", lambda error: messages.append(str(error)))
        tab.goto(f"{address}/report.html")
        tab.wait_for_selector("html[data-charts]", state="attached")
        tab.locator(".view").first.click()
        tab.wait_for_selector(".interactive[data-drawn=fig-warm-log-x]", state="attached")
        measured = tab.evaluate(MEASURE)
    assert messages == []
    assert measured["charts"] == measured["pictures"] == CHARTS
    assert measured["requests"] == []
    assert measured["wide"] <= width  # no horizontal scrolling
    assert width < 800 or measured["cut"] == 0  # on a phone, the table scrolls inside its box
    assert measured["narrowest"] > 0.7 * width - 100


def test_the_report_has_all_that_a_reader_needs(folder: Path) -> None:
    page = (folder / "report.html").read_text()
    text = page[: page.index('<script id="specifications"')]
    assert QUICK in text
    assert "slotwise reproduce &lt;quick &amp; dirty&gt;" in text
    assert text.count("<h1>") == 1
    for anchor in re.findall(r'href="#([^"]+)"', text):
        assert f'id="{anchor}"' in text, anchor
    for image in re.findall("<img[^>]*>", text):
        assert re.search('alt="[^"]{20,}"', image), image[:80]
    assert not re.search(r'(src|href)="(?!#|data:)', text)
    for verdict in ("holds", "does-not-hold"):
        assert f'class="badge {verdict}"' in text
    for judgement in made_up.made_up_reproduction(EXPERIMENTS).judgements:
        assert f'id="claim-{judgement.claim.name}"' in text


def test_the_report_says_which_experiments_were_left_out(folder: Path) -> None:
    for name in ("report.html", "paper.md"):
        text = " ".join((folder / name).read_text()[:30_000].split())
        assert f"5 of the paper's 10 experiments: {', '.join(EXPERIMENTS)}." in html.unescape(text)
        assert "very experiment" not in text
        assert "every claim" not in text
    everything = made_up.made_up_reproduction(list(ALL))
    assert left_out(everything) == ""
    assert "Every experiment of" in render_markdown(everything, [], make_provenance("slotwise reproduce"))


@pytest.mark.parametrize(
    ("verdicts", "text"),
    [
        ([HOLDS], "Of 1 claim, 1 holds, 0 hold in part, 0 do not hold."),
        ([HOLDS, HOLDS, IN_PART, NOT], "Of 4 claims, 2 hold, 1 holds in part, 1 does not hold."),
    ],
)
def test_one_claim_is_singular(verdicts: list[str], text: str) -> None:
    (judged,) = made_up.made_up_reproduction(["tab-data"]).judgements
    judgements = [judged._replace(verdict=verdict) for verdict in verdicts]
    assert summarize_verdicts(judgements) == text


def test_an_interval_is_readable_beside_numbers_with_commas() -> None:
    assert str(Measurement(2561.0, 2554.0, 2568.0)) == "2,561 (2,554 to 2,568)"


def test_figures_data_and_page_are_next_to_the_report(folder: Path) -> None:
    for name in ("fig-warm", "fig-spread", "tab-time", "tab-time-growth", "fig-behavioral", "fig-behavioral-choice"):
        assert (folder / "figures" / f"{name}.svg").read_text().startswith("<svg")
        assert (folder / "figures" / f"{name}.png").read_bytes().startswith(b"\x89PNG")
        assert f"(figures/{name}.svg)" in (folder / "paper.md").read_text()
    for view in ("fig-warm-log-x", "fig-warm-ratio"):
        assert (folder / "figures" / f"{view}.svg").exists()
        assert not (folder / "figures" / f"{view}.png").exists()  # a quick reproduction draws other views as SVG only
    assert (folder / "data" / "fig-warm.csv").read_text().startswith("part,setting,policy,runs,round,mean")
    assert (folder / "data" / "times" / "tab-time.csv").exists()
    assert not (folder / "data" / "tab-time.csv").exists()  # times are separate from reproducible numbers


def test_csv_and_parquet_hold_the_same(folder: Path) -> None:
    import pyarrow.parquet as parquet

    lines = (folder / "data" / "fig-warm.csv").read_text().splitlines()
    rows = parquet.read_table(folder / "data" / "fig-warm.parquet").to_pylist()
    assert len(rows) == len(lines) - 1
    assert [str(value) for value in rows[7].values()] == next(csv_rows(lines, 8))


def csv_rows(lines: list[str], first: int) -> Iterator[list[str]]:
    import csv

    return csv.reader(lines[first:])
