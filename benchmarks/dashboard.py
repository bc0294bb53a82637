"""`python -m benchmarks.dashboard`: what the dashboard costs the reader, in Chromium, and the service.

- The first contentful paint of the overview of 100 pages.
- The time that an update of a page of 500 items keeps the main thread of the browser.
- The throughput of recommendations while three dashboards watch the page, compared with the same service unwatched.
"""

import shutil
import socket
import sys
import tempfile
import threading
import time
from pathlib import Path

import numpy as np
from playwright.sync_api import Browser, CDPSession, sync_playwright

from benchmarks.epoll_client import encode_request, repeat, send_requests
from benchmarks.measure import Row, report
from benchmarks.running_server import RunningServer

N_PAGES, N_ITEMS, N_POSITIONS = 100, 500, 20
LOADS, UPDATES = 7, 9
CONNECTIONS, REQUESTS, TURNS, WATCHERS = 8, 6_000, 12, 3
SETTLE_SECONDS = 1.5
PAINT = "performance.getEntriesByName('first-contentful-paint')[0].startTime"
# The page itself looks for the text. Each look from outside would take processor time of the main thread.
IS_FIRST = "item => document.querySelector('#grid > li [data-dialog=unpin]')?.dataset.item === item"
MEASURED = "performance.getEntriesByName('slotwise-update').map((entry) => entry.duration)"


class Watcher:
    """Does what the script of an open page does: follows the events, and loads the page again when it changes."""

    def __init__(self, port: int) -> None:
        self.loads = 0
        self._port, self._events = port, socket.create_connection(("127.0.0.1", port))
        self._events.sendall(b"GET /dashboard/pages/shop/events HTTP/1.1\r\nhost: localhost\r\n\r\n")
        self._thread = threading.Thread(target=self._follow, daemon=True)
        self._thread.start()

    def _follow(self) -> None:
        while chunk := self._events.recv(65536):
            if b"event: changed" in chunk:
                send_requests(self._port, repeat(encode_request("/dashboard/pages/shop", b"", "GET"), 1), 1)
                self.loads += 1

    def close(self) -> None:
        self._events.shutdown(socket.SHUT_RDWR)
        self._thread.join()
        self._events.close()


def start(folder: Path) -> RunningServer:
    store = f"sqlite:///{folder / 'store.db'}"
    return RunningServer(
        [sys.executable, "-m", "slotwise", "serve", "--dev", "--store", store, "--port", "0", "--quiet"]
    )


def painting(browser: Browser, server: RunningServer) -> list[Row]:
    """The first paint of the overview."""
    for k in range(N_PAGES):
        server.define(f"page-{k:03}", 10)
    paints = []
    for _ in range(LOADS):
        context = browser.new_context()
        tab = context.new_page()
        tab.goto(f"http://127.0.0.1:{server.port}/dashboard")
        tab.wait_for_selector("#live[data-state=live]")
        paints.append(tab.evaluate(PAINT) / 1e3)
        assert tab.locator("#pages tbody tr").count() == N_PAGES
        context.close()
    return [Row(f"overview of {N_PAGES} pages: first contentful paint, median", float(np.median(paints)), "s", 1.0)]


def updating(browser: Browser, server: RunningServer) -> list[Row]:
    """The main-thread time of updates of a large page: as it opens, and when the reader asks for all items."""
    server.define("large", N_ITEMS, N_POSITIONS)
    send_requests(server.port, repeat(encode_request("/v1/pages/large/recommendations", b"{}"), 500), CONNECTIONS)
    work, merge = measure_updates(browser, server, "")
    work_of_all, merge_of_all = measure_updates(browser, server, "?items=all")
    size = f"{N_ITEMS} items x {N_POSITIONS} positions"
    return [
        Row(f"{size}: work of the main thread per update", work, "ms", 200.0),
        Row(f"{size}: time of a merge, median", merge, "ms"),
        Row(f"{size}, all listed: work of the main thread per update", work_of_all, "ms"),
        Row(f"{size}, all listed: time of a merge, median", merge_of_all, "ms"),
    ]


def measure_updates(browser: Browser, server: RunningServer, query: str) -> tuple[float, float]:
    """The work of the main thread per update and the median time of a merge, in milliseconds."""
    tab = browser.new_page()
    session = tab.context.new_cdp_session(tab)
    session.send("Performance.enable", {"timeDomain": "threadTicks"})  # processor time: other programs do not count
    tab.goto(f"http://127.0.0.1:{server.port}/dashboard/pages/large{query}")
    tab.wait_for_selector("#live[data-state=live]")
    tab.wait_for_timeout(2_000)  # the first update, which brings the insights
    n_before, before = len(tab.evaluate(MEASURED)), main_thread_seconds(session)
    for k in range(UPDATES):
        server.call("PUT", "/v1/pages/large/pins/default/position-0", {"item": f"item {k}"})
        tab.wait_for_function(IS_FIRST, arg=f"item {k}", polling=100, timeout=60_000)
    tab.wait_for_timeout(500)  # style and layout follow
    updates = tab.evaluate(MEASURED)[n_before:]
    work = 1e3 * (main_thread_seconds(session) - before) / len(updates)
    tab.close()
    return work, float(np.median(updates))


def main_thread_seconds(session: CDPSession) -> float:
    """The processor time of all tasks of the main thread: scripts, style, layout and painting."""
    metrics = session.send("Performance.getMetrics")["metrics"]
    return next(float(metric["value"]) for metric in metrics if metric["name"] == "TaskDuration")


def watching(server: RunningServer) -> list[Row]:
    """Throughput of recommendations with and without watchers. The turns alternate."""
    server.define("shop", 50)
    request = encode_request("/v1/pages/shop/recommendations", b"{}")
    rates: dict[bool, list[float]] = {True: [], False: []}
    loads = 0
    for k in range(TURNS + 1):
        for is_watched in (k % 2 == 0, k % 2 == 1):
            watchers = [Watcher(server.port) for _ in range(WATCHERS if is_watched else 0)]
            while not all(watcher.loads for watcher in watchers):
                time.sleep(0.05)
            time.sleep(SETTLE_SECONDS)  # an open page follows changes: opening it, with new insights, is not measured
            rate = send_requests(server.port, repeat(request, REQUESTS), CONNECTIONS).rate
            loads += sum(watcher.loads for watcher in watchers)
            for watcher in watchers:
                watcher.close()
            if k:  # the first turn warms up
                rates[is_watched].append(rate)
    ratio = float(np.median(np.array(rates[True]) / rates[False]))
    return [
        Row("recommend, unwatched", float(np.median(rates[False])), "/s"),
        Row(f"recommend, {WATCHERS} dashboards / none: throughput", ratio, "x", 0.95, False),
        Row("pages loaded by the dashboards meanwhile", loads, ""),
    ]


def main() -> bool:
    path = shutil.which("chromium") or shutil.which("google-chrome")
    if path is None:
        print("benchmarks.dashboard: Chromium is not installed, so nothing is measured")
        return True
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        server = start(Path(folder))
        browser = playwright.chromium.launch(executable_path=path, args=["--no-sandbox"])
        rows = [*painting(browser, server), *updating(browser, server)]
        browser.close()
        rows += watching(server)
        server.end()
    return report("The dashboard", "dashboard", rows)


if __name__ == "__main__":
    sys.exit(not main())
