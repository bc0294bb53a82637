"""`slotwise pages` on a real service."""

import json
from pathlib import Path

import pytest

from slotwise.checks import BadInput
from slotwise.client.apply import _apply_spec
from slotwise.client.apply import apply as bring
from slotwise.client.http_client import HttpClient
from slotwise.client.page_file import page_of
from slotwise.client.pages import fetch_page
from tests.cli.typed import typed
from tests.service.running_service import Process


@pytest.fixture
def apply(service: Process, page: str, monkeypatch, capsys, tmp_path: Path):
    """Write a page file, apply it; the exit code, and what was told."""

    def applied(text: str, *options: str) -> tuple[int, str]:
        file = tmp_path / "page.toml"
        file.write_text(f'page = "{page}"\n{text}')
        code = typed(monkeypatch, "pages", "apply", str(file), "--url", service.address, *options)
        told = capsys.readouterr()
        return code, told.out + told.err

    return applied


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


def test_apply_says_what_changed_and_changes_nothing_twice(apply, service: Process, page: str) -> None:
    assert apply(FIRST) == (
        0,
        f"  page {page} created\n  item hat created\n  item tie created\n  pin default/hero: hat\n",
    )
    before = service.http.get(f"/v1/pages/{page}").json()
    assert apply(FIRST) == (0, f"page {page}: nothing to change\n")
    assert service.http.get(f"/v1/pages/{page}").json() == before
    code, told = apply(SECOND)
    assert code == 0
    for line in (
        "holdout: 0.0 -> 0.25",
        'layouts: {"default":["hero","left"]} -> {"default":["hero","left","right"]}',
        'item hat, prior: null -> {"clicks":2.0,"views":10.0}',
        "item bag created",
        "pin default/hero: hat taken away",
        "pin default/left: hat",
        "on the page but not in the file, left as they are",
        "item tie",
    ):
        assert line in told, line
    after = service.http.get(f"/v1/pages/{page}").json()
    assert after["pins"] == {"default": {"left": "hat"}}
    assert [(row["item"], row["state"]) for row in after["items"]] == [
        ("hat", "active"), ("tie", "paused"), ("bag", "active"),
    ]  # fmt: skip


def test_exact_takes_away_what_the_file_does_not_name(apply, service: Process, page: str) -> None:
    apply(SECOND)
    service.http.put(f"/v1/pages/{page}/items/sock", json={"valid_until": 5e9})
    service.http.put(f"/v1/pages/{page}/pins/default/right", json={"item": "sock"})
    assert "pin default/right" in apply(SECOND)[1]
    code, told = apply(SECOND, "--exact", "--json")
    assert code == 0
    changes = ['item sock, state: "active" -> "retired"', "pin default/right: sock taken away"]
    assert json.loads(told) == {"page": page, "changes": changes, "unnamed": []}
    shown = service.http.get(f"/v1/pages/{page}").json()
    assert shown["items"][-1]["state"] == "retired"
    assert shown["items"][-1]["valid_until"] == 5e9
    assert shown["pins"] == {"default": {"left": "hat"}}
    assert apply(SECOND, "--exact")[1] == f"page {page}: nothing to change\n"


def test_a_pin_leaves_a_position_that_goes_away(apply, service: Process, page: str) -> None:
    apply(FIRST)
    code, told = apply('positions = ["left"]\nitems = { hat = {} }\npins = { left = "hat" }')
    assert code == 0, told
    assert service.http.get(f"/v1/pages/{page}").json()["pins"] == {"default": {"left": "hat"}}


def test_a_page_that_somebody_else_changed_meanwhile_is_let_alone(service: Process, page: str) -> None:
    file = page_of({"page": page, "positions": ["hero"]})
    with HttpClient(service.address) as remote:
        bring(remote, file)
        before, etag = fetch_page(remote, page)
        service.http.patch(f"/v1/pages/{page}", json={"holdout": 0.5})
        with pytest.raises(BadInput, match="was changed by somebody else meanwhile: try again"):
            _apply_spec(remote, page_of({"page": page, "positions": ["left"]}), before, etag)
    assert service.http.get(f"/v1/pages/{page}").json()["layouts"] == {"default": ["hero"]}


def test_many_changes_are_not_all_listed(apply) -> None:
    items = "\n".join(f"item{k} = {{}}" for k in range(1500))
    code, told = apply(f'positions = ["hero"]\n[items]\n{items}')
    assert code == 0
    assert "and 1,481 more" in told
    assert len(told.splitlines()) == 21


def test_what_the_service_refuses_is_told(apply, service: Process, page: str) -> None:
    assert apply(FIRST)[0] == 0
    code, told = apply('positions = ["hero"]\nretention = 5')
    assert code == 2
    assert "retention: 5 is shorter than the click_window" in told
    items = "\n".join(f"item{k} = {{}}" for k in range(10_001))
    code, told = apply(f'positions = ["hero"]\n[items]\n{items}')
    assert code == 2
    assert told.startswith(f"error: {service.address} refuses item 'item9998': 10,001 items are too many for a page, ")
    assert len(told.splitlines()) == 1


def test_list_and_show(apply, service: Process, page: str, monkeypatch, capsys) -> None:
    apply(FIRST)
    for _ in range(30):
        shown = service.http.post(f"/v1/pages/{page}/recommendations", json={}).json()
        click = {"type": "click", "token": shown["token"], "position": "hero"}
        service.http.post("/v1/events", json={"events": [click]})
    assert typed(monkeypatch, "pages", "list", "--url", service.address) == 0
    assert page in capsys.readouterr().out
    assert typed(monkeypatch, "pages", "list", "--url", service.address, "--json") == 0
    row = next(row for row in json.loads(capsys.readouterr().out) if row["page"] == page)
    assert row == {"page": page, "mode": "learn", "policy": "slot_ts", "layouts": {"default": 2}, "active_items": 1}
    assert typed(monkeypatch, "pages", "show", page, "--url", service.address) == 0
    told = capsys.readouterr().out
    assert all(word in told for word in ("30 displays learnt from", "hero", "hat", "paused", "visibility"))
    assert typed(monkeypatch, "pages", "show", page, "--url", service.address, "--json") == 0
    answer = json.loads(capsys.readouterr().out)
    assert answer["pins"] == {"default": {"hero": "hat"}}
    assert sum(cell["clicks"] for cell in answer["insights"]["counts"]) == 30


def test_what_is_not_known_is_shown_as_a_dash(apply, service: Process, page: str, monkeypatch, capsys) -> None:
    apply(FIRST)

    def shown() -> tuple[list[str], list[str]]:
        assert typed(monkeypatch, "pages", "show", page, "--url", service.address) == 0
        lines = capsys.readouterr().out.splitlines()
        hero = next(line for line in lines if " hero " in line)
        return lines, [cell.strip() for cell in hero.split("│")]

    lines, hero = shown()
    assert "0 displays learnt from" in lines
    assert hero == ["default", "hero", "-", "hat", "-"]
    display = service.http.post(f"/v1/pages/{page}/recommendations", json={}).json()
    click = {"type": "click", "token": display["token"], "position": "hero"}
    service.http.post("/v1/events", json={"events": [click]})
    service.http.delete(f"/v1/pages/{page}/pins/default/hero")  # insights of a page that changed are made anew
    lines, hero = shown()
    assert "1 display learnt from (learnt 1 display, 1 click)" in lines
    assert hero[:4] == ["default", "hero", "-", ""], "one position alone does not tell how visible it is"
    assert hero[4].startswith("hat (")


def test_a_name_is_not_markup(apply, service: Process, page: str, monkeypatch, capsys) -> None:
    told = apply('positions = ["hero"]\n[items]\n"[bold]hat" = {}')[1]
    assert "item [bold]hat created" in told
    assert typed(monkeypatch, "pages", "show", page, "--url", service.address) == 0
    assert "[bold]hat" in capsys.readouterr().out


@pytest.mark.parametrize("command", [["list"], ["show", "shop"], ["apply", "page.toml"]])
def test_a_service_that_is_not_there_is_told_in_one_line(command, monkeypatch, capsys, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "page.toml").write_text('page = "shop"\npositions = ["hero"]')
    assert typed(monkeypatch, "pages", *command, "--url", "http://127.0.0.1:9") == 2
    told = capsys.readouterr().err
    assert told == "error: http://127.0.0.1:9 does not answer: connection refused; `slotwise serve --dev` starts one\n"


def test_https_is_told_to_be_http(service: Process, monkeypatch, capsys) -> None:
    assert typed(monkeypatch, "pages", "list", "--url", service.address.replace("http:", "https:")) == 2
    told = capsys.readouterr().err
    assert "does not answer: " in told
    assert told.endswith("; the service speaks http, not https\n")


@pytest.mark.parametrize("command", [["pages", "show", ""], ["load", "--page", ""], ["load", "--create", "--page", ""]])
def test_a_page_without_a_name_is_refused(command, service: Process, monkeypatch, capsys) -> None:
    assert typed(monkeypatch, *command, "--url", service.address) == 2
    assert capsys.readouterr().err == "error: the name of the page is empty\n"


def test_a_page_that_is_not_there_is_told(service: Process, monkeypatch, capsys) -> None:
    assert typed(monkeypatch, "pages", "show", "nowhere", "--url", service.address) == 2
    assert "unknown page 'nowhere'" in capsys.readouterr().err
