"""The example site, examples/shop_site.py, in its own process beside a real service, which also stops.

The site waits longer than usual for the service, because the machine may be busy.
"""

import importlib.util
import json
import os
import re
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import httpx
import pytest
from playwright.sync_api import Page

from slotwise.client.sample import SHOP
from slotwise_client import Client, Options
from tests.chromium import running_browser
from tests.command_line import run_command
from tests.service.running_service import Process, process
from tests.waiting import HANG, wait_until

ROOT = Path(__file__).parent.parent.parent
SITE = ROOT / "examples" / "shop_site.py"
HOSTILE = """<b>"it's" & more<b>"""
# What Chromium 150 sends for navigator.sendBeacon("/clicked", JSON.stringify({token, position})), recorded byte by byte
# by a server that echoed it. The names in braces are filled in.
BEACON = (
    "POST /clicked HTTP/1.1\r\n"
    "Host: {host}\r\n"
    "Connection: keep-alive\r\n"
    "Content-Length: {length}\r\n"
    'sec-ch-ua-platform: "Linux"\r\n'
    "User-Agent: Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) HeadlessChrome/150.0.0.0 "
    "Safari/537.36\r\n"
    'sec-ch-ua: "Not;A=Brand";v="8", "Chromium";v="150"\r\n'
    "Content-Type: text/plain;charset=UTF-8\r\n"
    "sec-ch-ua-mobile: ?0\r\n"
    "Accept: */*\r\n"
    "Origin: http://{host}\r\n"
    "Sec-Fetch-Site: same-origin\r\n"
    "Sec-Fetch-Mode: no-cors\r\n"
    "Sec-Fetch-Dest: empty\r\n"
    "Referer: http://{host}/\r\n"
    "Accept-Encoding: gzip, deflate, br, zstd\r\n"
    "Accept-Language: en-US,en;q=0.9\r\n"
    "\r\n"
    "{body}"
)


class Link(NamedTuple):
    """A link of the rendered page."""

    position: str
    token: str
    text: str


def links(html: str) -> list[Link]:
    pattern = r'data-token="(.*?)" data-position="(.*?)">(.*?)</a>'
    return [Link(position, token, text) for token, position, text in re.findall(pattern, html)]


@contextmanager
def running_site(slotwise: str) -> Iterator[httpx.Client]:
    """The site as its documentation starts it, on a free port."""
    settings = os.environ | {"SLOTWISE_URL": slotwise, "SLOTWISE_TIMEOUT": str(HANG), "PORT": "0"}
    site = subprocess.Popen([sys.executable, SITE], env=settings, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL)
    assert site.stderr is not None
    try:
        printed = ""
        while not (address := re.search(r"Running on (http://\S+)", printed)):
            line = site.stderr.readline().decode()
            assert line, printed
            printed += line
        with httpx.Client(base_url=address[1], timeout=HANG) as client:
            yield client
    finally:
        site.terminate()
        site.wait()
        site.stderr.close()


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Process]:
    with process(tmp_path_factory.mktemp("store") / "store.db") as running:
        assert run_command("pages", "apply", str(SHOP), "--url", running.address).exit_code == 0
        yield running


@pytest.fixture(scope="module")
def site(service: Process) -> Iterator[httpx.Client]:
    with running_site(service.address) as client:
        yield client


def send_beacon(site: httpx.Client, body: str) -> bytes:
    """Send the bytes of a browser, and return the status line of the answer."""
    host = f"{site.base_url.host}:{site.base_url.port}"
    with socket.create_connection((site.base_url.host, site.base_url.port or 80), timeout=HANG) as connection:
        connection.sendall(BEACON.format(host=host, length=len(body.encode()), body=body).encode())
        return connection.makefile("rb").readline()


def clicked_positions(service: Process, link: Link) -> list[str]:
    """The positions of the link's display that were clicked, as the log of the service has them."""
    lines = [json.loads(line) for line in service.http.get("/v1/pages/shop/log").text.splitlines()]
    display = [line for line in lines if line["display"] == link.token.partition(".")[0]]
    assert len(display) in (0, 6)  # a display is committed after it was shown
    return [line["position"] for line in display if line["clicked"]]


def body_of(link: Link) -> str:
    """The text that the page's script sends."""
    return json.dumps({"token": link.token, "position": link.position}, separators=(",", ":"))


def test_the_page_shows_a_display_and_a_beacon_brings_its_click(service: Process, site: httpx.Client) -> None:
    shown = links(site.get("/").text)
    assert [link.position for link in shown] == service.http.get("/v1/pages/shop").json()["layouts"]["default"]
    assert len({link.token for link in shown}) == 1
    assert send_beacon(site, body_of(shown[1])).startswith(b"HTTP/1.1 204 ")
    wait_until(lambda: clicked_positions(service, shown[1]) == [shown[1].position])
    assert site.get(f"/items/{shown[1].text}").status_code == 200


@pytest.mark.parametrize(
    ("body", "status"), [("", 400), ("token=a", 400), ("[1]", 400), ("{}", 204), ('{"token": "forged"}', 204)]
)
def test_a_beacon_that_is_no_click_does_no_harm(site: httpx.Client, body: str, status: int) -> None:
    assert send_beacon(site, body).startswith(b"HTTP/1.1 %d " % status)


def test_a_visitor_cannot_send_other_events(service: Process, site: httpx.Client) -> None:
    link = links(site.get("/").text)[0]
    display = link.token.partition(".")[0]
    forged = json.dumps({"type": "discard", "display": display, "token": None, "position": link.position})
    assert send_beacon(site, forged).startswith(b"HTTP/1.1 204 ")
    assert send_beacon(site, body_of(link)).startswith(b"HTTP/1.1 204 ")
    wait_until(lambda: clicked_positions(service, link) == [link.position])  # the display was not discarded


def test_names_are_escaped(service: Process, site: httpx.Client) -> None:
    service.http.post("/v1/pages/shop/items:batch", json={"items": [{"item": HOSTILE}]}).raise_for_status()
    service.http.put("/v1/pages/shop/pins/default/top-left", json={"item": HOSTILE}).raise_for_status()
    html = site.get("/").text
    assert "&lt;b&gt;&#34;it&#39;s&#34; &amp; more&lt;b&gt;" in html
    assert HOSTILE not in html
    service.http.delete("/v1/pages/shop/pins/default/top-left").raise_for_status()


def test_a_click_in_a_browser_reaches_the_service(service: Process, site: httpx.Client) -> None:
    with running_browser() as browser:
        tab = browser.new_page()
        tab.goto(str(site.base_url))
        (link,) = [link for link in read_links(tab) if link.position == "top-middle"]
        with tab.expect_request("**/clicked") as sent:
            tab.click("a[data-position=top-middle]")
        tab.wait_for_url("**/items/*")
        wait_until(lambda: clicked_positions(service, link) == ["top-middle"])
        body, headers = sent.value.post_data, sent.value.headers
    assert body == body_of(link)
    assert f"\r\nContent-Type: {headers['content-type']}\r\n" in BEACON, "as in the bytes recorded above"


def read_links(tab: Page) -> list[Link]:
    script = "[...document.links].map(a => [a.dataset.position, a.dataset.token, a.text])"
    return [Link(*values) for values in tab.evaluate(script)]


def test_without_the_service_visitors_see_the_last_good_display(service: Process, site: httpx.Client) -> None:
    """This stops the service that the tests above use."""
    before = links(site.get("/").text)
    assert service.stop() == 0
    away = site.get("/")
    assert away.status_code == 200
    assert [link.position for link in links(away.text)] == [link.position for link in before]
    assert {link.token for link in links(away.text)} == {""}, "there is no display whose clicks could be sent"
    assert send_beacon(site, body_of(before[0])).startswith(b"HTTP/1.1 204 ")


def hang(connection: socket.socket) -> None:
    """Never answer."""


def close(connection: socket.socket) -> None:
    connection.accept()[0].close()


def answer_rubbish(connection: socket.socket) -> None:
    accepted = connection.accept()[0]
    accepted.recv(10_000)
    accepted.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 7\r\n\r\nrubbish")
    accepted.close()


@pytest.mark.parametrize("behave", [hang, close, answer_rubbish])
def test_a_service_that_hangs_or_answers_rubbish_is_away(
    behave: Callable[[socket.socket], None], site_module: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In this process, with Flask's own client: only what the site makes of the answer matters here."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        client = Client(f"http://127.0.0.1:{listening.getsockname()[1]}", options=Options(discard_unanswered=False))
        monkeypatch.setattr(site_module, "slotwise", client)
        thread = threading.Thread(target=behave, args=(listening,))
        thread.start()
        answer = site_module.app.test_client().get("/")
        thread.join()
    assert answer.status_code == 200
    assert [link.text for link in links(answer.text)][:2] == ["straw hat", "silk scarf"]
    assert {link.token for link in links(answer.text)} == {""}
    client.close()


@pytest.fixture
def site_module() -> Any:
    """The site, imported."""
    spec = importlib.util.spec_from_file_location("shop_site", SITE)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_documentation_shows_the_site() -> None:
    page = (ROOT / "docs" / "service.md").read_text()
    assert f"```python\n{SITE.read_text()}```" in page
