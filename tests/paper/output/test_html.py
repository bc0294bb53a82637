"""The report in a real browser, wide and narrow, without a network."""

import html
import json
import re
import shutil
import subprocess
import threading
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from slotwise.paper.claims.claim import HOLDS, IN_PART, NOT
from slotwise.paper.experiments import EXPERIMENTS as ALL
from slotwise.paper.output.figures import QUICK
from slotwise.paper.output.markdown import render_markdown
from slotwise.paper.output.publish import publish
from slotwise.paper.output.sections import left_out, make_provenance, summarize_verdicts
from slotwise.paper.statistics import Measurement
from tests.paper import made_up_results as made_up

EXPERIMENTS = ["fig-warm", "fig-spread", "tab-time", "tab-data", "fig-behavioral"]
CHARTS = 6  # regret, distributions, times and their growth, regret, choice of c
PROBE = """<!doctype html><body style="margin:0"><iframe style="border:0;height:800px"></iframe><pre></pre><script>
const frame = document.querySelector("iframe");
frame.style.width = location.search.slice(1) + "px";
frame.onload = async () => {
  const page = frame.contentDocument, root = page.documentElement;
  while (!("charts" in root.dataset)) await new Promise((go) => setTimeout(go, 50));
  const button = page.querySelector(".view");
  button.click();
  while (page.querySelector(".interactive").dataset.drawn === page.querySelector(".interactive").dataset.chart)
    await new Promise((go) => setTimeout(go, 50));
  document.querySelector("pre").textContent = "FOUND" + JSON.stringify({
    charts: Number(root.dataset.charts),
    pictures: page.querySelectorAll(".interactive svg.marks").length,
    drawn: page.querySelector(".interactive").dataset.drawn,
    wide: root.scrollWidth, width: root.clientWidth,
    requests: frame.contentWindow.performance.getEntriesByType("resource").map((one) => one.name),
    cut: [...page.querySelectorAll("#tab-data .box")].filter((one) => one.scrollWidth > one.clientWidth).length,
    narrowest: Math.min(...[...page.querySelectorAll(".interactive svg.marks")].map((one) => one.clientWidth)),
  }) + "END";
};
frame.src = "report.html";
</script>"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("report")
    publish(made_up.made_up_reproduction(EXPERIMENTS), out, "slotwise reproduce <quick & dirty>")
    (out / "probe.html").write_text(PROBE)
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


def browse(address: str, options: list[str]) -> tuple[str, str]:
    """The final DOM of the page, and the messages of the browser's console."""
    browser = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if browser is None:
        pytest.skip("Chromium is not installed, so the report is not tested in a browser: install the package chromium")
    options = [*options, "--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking", "--dump-dom"]
    options += ["--enable-logging=stderr", "--virtual-time-budget=120000"]
    options += ["--host-resolver-rules=MAP * ~NOTFOUND , EXCLUDE 127.0.0.1"]
    done = subprocess.run([browser, *options, address], capture_output=True, text=True, timeout=600)
    messages = [line for line in done.stderr.splitlines() if "CONSOLE" in line]
    return done.stdout, "\n".join(messages)


@pytest.mark.parametrize("width", [390, 1200])
def test_every_chart_is_drawn_without_network_requests(width: int, address: str) -> None:
    scheme = ["--blink-settings=preferredColorScheme=0"] if width == 390 else []
    page, messages = browse(f"{address}/probe.html?{width}", [f"--window-size={width + 200},900", *scheme])
    match = re.search("FOUND(.*?)END", page.rpartition("<pre>")[2], flags=re.DOTALL)
    assert match, messages
    measured = json.loads(html.unescape(match[1]))
    assert messages == ""
    assert measured["charts"] == measured["pictures"] == CHARTS
    assert measured["drawn"] == "fig-warm-log-x"  # after a click on the button below it
    assert measured["requests"] == []
    assert measured["wide"] <= measured["width"] <= width  # no horizontal scrolling
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
