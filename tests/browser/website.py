"""A website whose pages a test writes. It has two origins, localhost and 127.0.0.1."""

import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import NamedTuple


class WebPage(NamedTuple):
    """A page, and the headers with which it is served."""

    html: str
    headers: Mapping[str, str] = {}


class Website:
    """Serves `pages`, by their paths."""

    def __init__(self, port: int) -> None:
        self.pages: dict[str, WebPage] = {}
        self.origin = f"http://localhost:{port}"

    def publish(self, html: str, headers: Mapping[str, str] | None = None) -> str:
        """Add a page, and return its address."""
        path = f"/{len(self.pages)}"
        self.pages[path] = WebPage(f"<!doctype html><meta charset=utf-8>{_NO_ICON}{html}", headers or {})
        return self.origin + path


_NO_ICON = '<link rel="icon" href="data:,">'  # otherwise the browser requests one


@contextmanager
def running_website() -> Iterator[Website]:
    """A website on a free port."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            page = site.pages.get(self.path.partition("?")[0], WebPage("<!doctype html><title>other page</title>"))
            self.send_response(200)
            for name, value in {"content-type": "text/html; charset=utf-8", **page.headers}.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(page.html.encode())

        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        site = Website(server.server_port)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield site
        server.shutdown()
