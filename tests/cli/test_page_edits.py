"""`slotwise pages pin|unpin|pause|resume|retire` on a real service, and the examples of all commands about pages."""

from collections.abc import Callable
from typing import Any

import pytest
import typer.main

from slotwise.cli import app
from tests.command_line import CommandResult
from tests.service.running_service import Process

ITEMS = ["straw hat", "silk scarf", "bow tie"]
COMMANDS = typer.main.get_command(app).commands["pages"].commands  # type: ignore[attr-defined]


@pytest.fixture
def pages(service: Process, page: str, slotwise) -> Callable[..., CommandResult]:
    """Defines a page with two layouts and three items; then runs commands on it: pages("pin", "hero", "bow tie")."""
    layouts = {"desktop": ["hero", "left"], "mobile": ["first"]}
    service.http.put(f"/v1/pages/{page}", json={"layouts": layouts}).raise_for_status()
    rows = [{"item": item, "prior": {"clicks": 1, "views": 10}} for item in ITEMS]
    service.http.post(f"/v1/pages/{page}/items:batch", json={"items": rows}).raise_for_status()
    return lambda command, *arguments: slotwise("pages", command, page, *arguments, "--url", service.address)


def states(service: Process, page: str) -> dict[str, str]:
    rows = service.http.get(f"/v1/pages/{page}").json()["items"]
    assert all(row["prior"] == {"clicks": 1, "views": 10} for row in rows), "only the state changes"
    return {row["item"]: row["state"] for row in rows}


def test_pause_resume_and_retire(pages, service: Process, page: str) -> None:
    for command, items, lines, wanted in (
        ("pause", ITEMS[:2], ["straw hat: active -> paused", "silk scarf: active -> paused"], "paused paused active"),
        ("pause", ITEMS[1:], ["silk scarf: already paused", "bow tie: active -> paused"], "paused paused paused"),
        ("resume", ITEMS[:1], ["straw hat: paused -> active"], "active paused paused"),
        ("retire", ITEMS[2:], ["bow tie: paused -> retired"], "active paused retired"),
        ("resume", ITEMS[2:], ["bow tie: retired -> active"], "active paused active"),
    ):
        result = pages(command, *items)
        assert (result.exit_code, result.stdout.splitlines()) == (0, lines)
        assert states(service, page) == dict(zip(ITEMS, wanted.split(), strict=True))
    answer = pages("pause", ITEMS[0], "--json").json()
    assert answer == {"page": page, "items": [{"item": ITEMS[0], "before": "active", "after": "paused"}]}


@pytest.mark.parametrize("command", ["pause", "resume", "retire"])
def test_an_item_that_does_not_exist_is_refused_and_nothing_changes(
    pages, service: Process, page: str, command: str
) -> None:
    before = states(service, page)
    pages(command, "silk scarf", "straw cat").assert_refused(page, "'straw cat'", "did you mean 'straw hat'?")
    pages(command, "xyz").assert_refused("'xyz'", f"slotwise pages show {page}")
    assert states(service, page) == before


def test_pin_for_a_time(pages, service: Process, page: str) -> None:
    position = ("left", "bow tie", "--layout", "desktop")
    result = pages("pin", *position, "--from", "2000-01-01T00:00:00Z", "--until", "2001-01-01T01:00:00+01:00")
    assert "no pin -> bow tie, from 2000-01-01T00:00:00Z, until 2001-01-01T00:00:00Z" in " ".join(result.stdout.split())
    assert "no longer pinned" in " ".join((result.stdout + result.stderr).split())
    pins = service.http.get(f"/v1/pages/{page}").json()["pins"]
    assert pins == {"desktop": {"left": {"item": "bow tie", "from": 946684800.0, "until": 978307200.0}}}
    pages("pin", *position, "--until", "2001-01-01T01:00:00").assert_refused("--until", "time zone")
    pages("pin", *position, "--from", "soon").assert_refused("--from", "'soon'")


def test_pin_and_unpin(pages, service: Process, page: str) -> None:
    def pins() -> Any:
        return service.http.get(f"/v1/pages/{page}").json()["pins"]

    desktop = ("--layout", "desktop")
    assert pages("pin", "hero", "bow tie", *desktop).stdout == "desktop/hero: no pin -> bow tie\n"
    assert pages("pin", "hero", "straw hat", *desktop).stdout == "desktop/hero: bow tie -> straw hat\n"
    assert pages("pin", "hero", "straw hat", *desktop).stdout == "desktop/hero: already straw hat\n"
    assert pins() == {"desktop": {"hero": "straw hat"}}
    pages("pin", "left", "straw hat", *desktop).assert_refused("409", "already pinned to 'hero'; unpin it there first")
    answer = pages("unpin", "hero", *desktop, "--json").json()
    assert (answer["layout"], answer["before"], answer["after"]) == ("desktop", "straw hat", None)
    assert pages("unpin", "hero", *desktop).stdout == "desktop/hero: nothing is pinned\n"
    assert pins() == {}
    assert pages("pause", "bow tie").exit_code == 0
    paused = pages("pin", "first", "bow tie", "--layout", "mobile")
    assert paused.exit_code == 0
    assert "bow tie is paused" in paused.stderr


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (("pin", "hero", "straw hat"), ("several layouts", "--layout", "desktop, mobile")),
        (("pin", "hero", "straw hat", "--layout", "tv"), ("layout 'tv'", "desktop, mobile")),
        (("pin", "top", "straw hat", "--layout", "desktop"), ("position of layout desktop 'top'", "hero, left")),
        (("pin", "hero", "straw cat", "--layout", "desktop"), ("'straw cat'", "'straw hat'")),
        (("unpin", "hero"), ("several layouts",)),
        (("unpin", "top", "--layout", "mobile"), ("'top'", "first")),
    ],
    ids=["no layout", "layout", "position", "item", "unpin no layout", "unpin position"],
)
def test_an_unknown_name_is_refused(pages, service: Process, page: str, arguments: Any, named: Any) -> None:
    pages(*arguments).assert_refused(*named)
    assert service.http.get(f"/v1/pages/{page}").json()["pins"] == {}


@pytest.mark.parametrize("command", ["pause", "retire"])
def test_a_page_that_does_not_exist_is_refused(service: Process, slotwise, command: str) -> None:
    slotwise("pages", command, "nowhere", "hat", "--url", service.address).assert_refused("page 'nowhere'")
