"""`slotwise pages` on a real service."""

from collections.abc import Callable
from pathlib import Path

import pytest

from slotwise.checks import BadInput
from slotwise.client.apply import _apply_spec
from slotwise.client.apply import apply as bring
from slotwise.client.http_client import HttpClient
from slotwise.client.page_file import page_of
from slotwise.client.pages import fetch_page
from tests.command_line import CommandResult
from tests.service.running_service import Process


@pytest.fixture
def apply(service: Process, page: str, slotwise, tmp_path: Path) -> Callable[..., CommandResult]:
    """Writes a page file, without its first line, and applies it."""

    def apply_file(text: str, *options: str) -> CommandResult:
        file = tmp_path / "page.toml"
        file.write_text(f'page = "{page}"\n{text}')
        return slotwise("pages", "apply", str(file), "--url", service.address, *options)

    return apply_file


@pytest.fixture
def show(service: Process, page: str, slotwise) -> Callable[..., CommandResult]:
    """Shows the page of the test."""
    return lambda *options: slotwise("pages", "show", page, "--url", service.address, *options)


def changes(result: CommandResult) -> list[str]:
    return result.json()["changes"]


def send_click(service: Process, page: str) -> None:
    display = service.http.post(f"/v1/pages/{page}/recommendations", json={}).json()
    click = {"type": "click", "token": display["token"], "position": "hero"}
    service.http.post("/v1/events", json={"events": [click]})


FIRST = """
positions = ["hero", "left"]
[items]
hat = {}
tie = { state = "paused" }
[pins]
hero = "hat"
"""
SECOND = """
positions = ["hero", "left", "right"]
holdout = 0.25
[items]
hat = { prior = { clicks = 2, views = 10 } }
bag = {}
[pins]
left = "hat"
"""


def test_apply_lists_the_changes_and_a_second_apply_has_none(apply, service: Process, page: str) -> None:
    result = apply(FIRST)
    assert result.exit_code == 0
    assert [line.split()[:2] for line in result.stdout.splitlines()] == [
        ["page", page], ["item", "hat"], ["item", "tie"], ["pin", "default/hero:"],
    ]  # fmt: skip
    before = service.http.get(f"/v1/pages/{page}").json()
    again = apply(FIRST)
    assert (again.exit_code, len(again.stdout.splitlines())) == (0, 1)
    assert changes(apply(FIRST, "--json")) == []
    assert service.http.get(f"/v1/pages/{page}").json() == before
    second = apply(SECOND)
    assert second.exit_code == 0
    for line in (
        "holdout: 0.0 -> 0.25",
        'layouts: {"default":["hero","left"]} -> {"default":["hero","left","right"]}',
        'item hat, prior: null -> {"clicks":2.0,"views":10.0}',
        "item bag ",
        "pin default/hero: hat ",
        "pin default/left: hat",
        "--exact",  # what the file does not name is left as it is, and listed
        "item tie",
    ):
        assert line in second.stdout, line
    after = service.http.get(f"/v1/pages/{page}").json()
    assert after["pins"] == {"default": {"left": "hat"}}
    assert [(row["item"], row["state"]) for row in after["items"]] == [
        ("hat", "active"), ("tie", "paused"), ("bag", "active"),
    ]  # fmt: skip


def test_exact_removes_items_and_pins_that_the_file_does_not_name(apply, service: Process, page: str) -> None:
    apply(SECOND)
    service.http.put(f"/v1/pages/{page}/items/sock", json={"valid_until": 5e9})
    service.http.put(f"/v1/pages/{page}/pins/default/right", json={"item": "sock"})
    assert "pin default/right" in apply(SECOND).stdout
    answer = apply(SECOND, "--exact", "--json").json()
    assert (answer["page"], answer["unnamed"]) == (page, [])
    item, pin = answer["changes"]
    assert item == 'item sock, state: "active" -> "retired"'
    assert pin.startswith("pin default/right: sock ")
    shown = service.http.get(f"/v1/pages/{page}").json()
    assert shown["items"][-1]["state"] == "retired"
    assert shown["items"][-1]["valid_until"] == 5e9
    assert shown["pins"] == {"default": {"left": "hat"}}
    assert changes(apply(SECOND, "--exact", "--json")) == []


def test_an_item_pinned_to_a_removed_position_can_be_pinned_again(apply, service: Process, page: str) -> None:
    apply(FIRST)
    result = apply('positions = ["left"]\nitems = { hat = {} }\npins = { left = "hat" }')
    assert result.exit_code == 0, result.stderr
    assert service.http.get(f"/v1/pages/{page}").json()["pins"] == {"default": {"left": "hat"}}


def test_a_page_that_was_changed_concurrently_is_not_overwritten(service: Process, page: str) -> None:
    file = page_of({"page": page, "positions": ["hero"]})
    with HttpClient(service.address) as client:
        bring(client, file)
        before, etag = fetch_page(client, page)
        service.http.patch(f"/v1/pages/{page}", json={"holdout": 0.5})
        with pytest.raises(BadInput, match="changed"):
            _apply_spec(client, page_of({"page": page, "positions": ["left"]}), before, etag)
    assert service.http.get(f"/v1/pages/{page}").json()["layouts"] == {"default": ["hero"]}


def test_many_changes_are_not_all_listed(apply) -> None:
    items = "\n".join(f"item{k} = {{}}" for k in range(1500))
    result = apply(f'positions = ["hero"]\n[items]\n{items}')
    assert result.exit_code == 0
    assert len(result.stdout.splitlines()) == 21
    assert "1,481 more" in result.stdout.splitlines()[-1]


def test_a_rejected_request_is_an_error(apply, service: Process, page: str) -> None:
    assert apply(FIRST).exit_code == 0
    apply('positions = ["hero"]\nretention = 5').assert_refused("retention: 5 ", "click_window")
    items = "\n".join(f"item{k} = {{}}" for k in range(10_001))
    result = apply(f'positions = ["hero"]\n[items]\n{items}')
    result.assert_refused(service.address, "'item9998'", "10,001 items")


def test_list_and_show(apply, show, service: Process, page: str, slotwise) -> None:
    apply(FIRST)
    for _ in range(30):
        send_click(service, page)
    assert page in slotwise("pages", "list", "--url", service.address).stdout
    rows = slotwise("pages", "list", "--url", service.address, "--json").json()
    assert next(row for row in rows if row["page"] == page) == {
        "page": page, "mode": "learn", "policy": "slot_ts", "layouts": {"default": 2}, "active_items": 1,
    }  # fmt: skip
    result = show()
    assert result.exit_code == 0
    assert all(word in result.stdout for word in ("30 displays", "hero", "hat", "paused", "visibility"))
    answer = show("--json").json()
    assert answer["pins"] == {"default": {"hero": "hat"}}
    assert sum(cell["clicks"] for cell in answer["insights"]["counts"]) == 30


def test_unknown_values_are_printed_as_a_dash(apply, show, service: Process, page: str) -> None:
    def hero(lines: list[str]) -> list[str]:
        return [cell.strip() for cell in next(line for line in lines if " hero " in line).split("│")]

    apply(FIRST)
    lines = show().stdout.splitlines()
    assert any("0 displays" in line for line in lines)
    assert hero(lines) == ["default", "hero", "-", "hat", "-"]
    send_click(service, page)
    service.http.delete(f"/v1/pages/{page}/pins/default/hero")  # a change of the page discards its cached insights
    lines = show().stdout.splitlines()
    assert any("(learnt 1 display, 1 click)" in line for line in lines)
    assert hero(lines)[:4] == ["default", "hero", "-", ""], "the visibility of a single position is unknown"
    assert hero(lines)[4].startswith("hat (")


def test_a_name_is_not_markup(apply, show) -> None:
    assert "item [bold]hat " in apply('positions = ["hero"]\n[items]\n"[bold]hat" = {}').stdout
    assert "[bold]hat" in show().stdout


@pytest.mark.parametrize("command", [["list"], ["show", "shop"], ["apply", "page.toml"]])
def test_a_service_that_does_not_run_gets_one_clear_line(command, slotwise, monkeypatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "page.toml").write_text('page = "shop"\npositions = ["hero"]')
    result = slotwise("pages", *command, "--url", "http://127.0.0.1:9")
    result.assert_refused("http://127.0.0.1:9", "connection refused", "slotwise serve --dev")


def test_https_to_a_service_that_speaks_http_is_refused(service: Process, slotwise) -> None:
    url = service.address.replace("http:", "https:")
    slotwise("pages", "list", "--url", url).assert_refused(url, " http ")


@pytest.mark.parametrize("command", [["pages", "show", ""], ["load", "--page", ""], ["load", "--create", "--page", ""]])
def test_a_page_without_a_name_is_refused(command, service: Process, slotwise) -> None:
    slotwise(*command, "--url", service.address).assert_refused("page", "empty")


def test_an_unknown_page_is_refused(service: Process, slotwise) -> None:
    slotwise("pages", "show", "nowhere", "--url", service.address).assert_refused("'nowhere'")
