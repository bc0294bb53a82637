"""`python -m benchmarks.tracker`: what tracker.js costs a page of 1,000 elements, in Chromium.

All numbers are processor time that the main thread spends in scripts, from the start of the page until the views are
sent. The page has no other script, so they include loading, compiling and starting tracker.js.
"""

import shutil
import sys
import tempfile
import threading
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import numpy as np
from playwright.sync_api import BrowserContext, sync_playwright

from benchmarks.dashboard import start
from benchmarks.measure import Row, report

LOADS, DISPLAYS, ELEMENTS = 9, 20, 50
MILLISECONDS = 2_500  # until a view was sent


def page_of(script: str, size: int) -> str:
    """Displays of square elements of this many pixels."""
    link = '<a data-slotwise-position="p{}" style="width: {}px; height: {}px">item</a>'
    links = "".join(link.format(number, size, size) for number in range(ELEMENTS))
    displays = DISPLAYS * f'<div data-slotwise-token="a.b" style="display: flex; flex-wrap: wrap">{links}</div>'
    return f"<!doctype html><meta charset=utf-8>{script}{displays}"


class Quiet(SimpleHTTPRequestHandler):
    """Serves files, and logs nothing."""

    def log_message(self, *_: object) -> None:
        pass


def script_milliseconds(context: BrowserContext, address: str) -> float:
    tab = context.new_page()
    session = context.new_cdp_session(tab)
    session.send("Performance.enable", {"timeDomain": "threadTicks"})  # processor time: other programs do not count
    tab.goto(address)
    tab.wait_for_timeout(MILLISECONDS)
    measured = {row["name"]: row["value"] for row in session.send("Performance.getMetrics")["metrics"]}
    tab.close()
    return float(1e3 * measured["ScriptDuration"])


def main() -> bool:
    path = shutil.which("chromium") or shutil.which("google-chrome")
    if path is None:
        print("benchmarks.tracker: Chromium is not installed, so nothing is measured")
        return True
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        server = start(Path(folder))
        script = f'<script src="http://127.0.0.1:{server.port}/tracker.js" defer></script>'
        pages = {"screens": page_of(script, 200), "sight": page_of(script, 20)}
        pages["alone"] = pages["screens"].replace("data-slotwise-", "data-")
        for name, html in pages.items():
            (Path(folder) / f"{name}.html").write_text(html)
        site = ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=folder))
        threading.Thread(target=site.serve_forever, daemon=True).start()
        browser = playwright.chromium.launch(executable_path=path, args=["--no-sandbox"])
        context = browser.new_context()
        times: dict[str, list[float]] = {name: [] for name in pages}
        for _ in range(LOADS):
            for name, found in times.items():
                found.append(script_milliseconds(context, f"http://127.0.0.1:{site.server_port}/{name}.html"))
        browser.close()
        site.shutdown()
        server.end()
    medians = {name: float(np.median(found)) for name, found in times.items()}
    size = f"{DISPLAYS * ELEMENTS:,} elements of {DISPLAYS} displays"
    rows = [
        Row(f"{size} on several screens: all of tracker.js", medians["screens"], "ms", 5.0),
        Row(f"{size}, all in sight at once: all of tracker.js", medians["sight"], "ms"),
        Row("a page without displays: all of tracker.js", medians["alone"], "ms"),
    ]
    return report("tracker.js", "tracker", rows)


if __name__ == "__main__":
    sys.exit(not main())
