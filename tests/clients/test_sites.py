"""The example sites: each shows displays, reports clicks, and goes on when the service stops."""

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from slotwise.client.sample import SHOP
from tests.clients.node import SITES, find_node, require_packages
from tests.command_line import run_command
from tests.service.running_service import Process, process
from tests.waiting import HANG, wait_until

PYTHON_SITES = ["fastapi_site.py", "django_site.py"]
NODE_SITES = ["express_site.js", "node_site.js", "react_site.js"]
LINK = re.compile(r'data-token="(.*?)" data-position="(.*?)">(.*?)</a>')
HOSTILE = """<b>"it's" & more<b>"""


class Site:
    """A site as its documentation starts it, on a free port."""

    def __init__(self, file: Path, slotwise: str) -> None:
        program = sys.executable if file.suffix == ".py" else find_node()
        settings = os.environ | {"SLOTWISE_URL": slotwise, "PORT": "0"}
        self.process = subprocess.Popen(
            [program, str(file)], env=settings, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        )

    def connect(self) -> None:
        assert self.process.stdout is not None
        printed = ""
        while not (address := re.search(r"unning on (http://\S+)", printed)):
            line = self.process.stdout.readline()
            assert line, printed
            printed += line
        self.http = httpx.Client(base_url=address[1], timeout=HANG)

    def links(self) -> list[tuple[str, str, str]]:
        """The token, position and text of each link."""
        return LINK.findall(self.http.get("/").raise_for_status().text)

    def stop(self) -> None:
        self.http.close()
        self.process.terminate()
        self.process.communicate(timeout=HANG)


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Process]:
    with process(tmp_path_factory.mktemp("store") / "store.db") as running:
        assert run_command("pages", "apply", str(SHOP), "--url", running.address).exit_code == 0
        yield running


def start(service: Process, names: list[str]) -> Iterator[dict[str, Site]]:
    sites = {name: Site(SITES / name, service.address) for name in names}
    for site in sites.values():
        site.connect()
    yield sites
    for site in sites.values():
        site.stop()


@pytest.fixture(scope="module")
def python_sites(service: Process) -> Iterator[dict[str, Site]]:
    yield from start(service, PYTHON_SITES)


@pytest.fixture(scope="module")
def node_sites(service: Process) -> Iterator[dict[str, Site]]:
    find_node()
    require_packages()
    yield from start(service, NODE_SITES)


@pytest.fixture(params=[*PYTHON_SITES, *NODE_SITES])
def site(request: pytest.FixtureRequest) -> Site:
    """Each site in turn."""
    fixture = "python_sites" if request.param in PYTHON_SITES else "node_sites"
    found: Site = request.getfixturevalue(fixture)[request.param]
    return found


def clicks(service: Process) -> int:
    counts = service.http.get("/v1/pages/shop/state").raise_for_status().json()["counts"]
    return sum(row["clicks"] for row in counts)


def learnt_links(site: Site) -> list[tuple[str, str, str]]:
    """Links of a display of the service. On a busy machine, the first ones may not arrive in time."""
    shown = site.links()
    wait_until(lambda: bool(shown[0][0]) or bool(shown.clear() or shown.extend(site.links())), pause=0.1)
    return shown


def test_a_site_shows_a_display_and_reports_its_click(service: Process, site: Site) -> None:
    before = clicks(service)
    shown = learnt_links(site)
    assert [position for _, position, _ in shown] == service.http.get("/v1/pages/shop").json()["layouts"]["default"]
    token, position, _ = shown[1]
    assert site.http.post("/clicked", params={"token": token, "position": position}).status_code == 204
    wait_until(lambda: clicks(service) == before + 1)


def test_a_forged_click_does_no_harm(service: Process, site: Site) -> None:
    before = clicks(service)
    for forged in ({"token": "forged", "position": "top-left"}, {"token": "", "position": ""}, {}):
        assert site.http.post("/clicked", params=forged).status_code in (204, 422)
    assert site.links()
    assert clicks(service) == before


def test_names_are_escaped(service: Process, site: Site) -> None:
    service.http.post("/v1/pages/shop/items:batch", json={"items": [{"item": HOSTILE}]}).raise_for_status()
    service.http.put("/v1/pages/shop/pins/default/top-left", json={"item": HOSTILE}).raise_for_status()
    wait_until(lambda: "more" in site.http.get("/").text, pause=0.1)
    assert HOSTILE not in site.http.get("/").text
    service.http.delete("/v1/pages/shop/pins/default/top-left").raise_for_status()


def test_a_site_goes_on_without_the_service(service: Process, site: Site) -> None:
    """The first of these tests stops the service."""
    if service.process.poll() is None:
        service.kill()
    shown = site.links()
    assert len(shown) == 6
    assert {token for token, _, _ in shown} == {""}
    assert site.http.post("/clicked", params={"token": "", "position": "top-left"}).status_code == 204
