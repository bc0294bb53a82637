"""`slotwise pages` on a real service."""

import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from slotwise.checks import BadInput
from slotwise.client.apply import apply as bring
from slotwise.client.apply import carry_out
from slotwise.client.http_client import HttpClient
from slotwise.client.page_file import page_of
from slotwise.client.page_plan import plan
from slotwise.client.pages import fetch_page
from slotwise.service.pages.limits import MOST_COUNTS
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


def test_states_that_the_file_does_not_give_stay_unless_exact(apply, service: Process, page: str) -> None:
    apply(SECOND)
    for item, state in (("hat", "paused"), ("bag", "retired")):
        service.http.patch(f"/v1/pages/{page}/items/{item}", json={"state": state}).raise_for_status()
    answer = apply(SECOND.replace("views = 10", "views = 20"), "--json").json()
    assert [change.split(",")[:2] for change in answer["changes"]] == [["item hat", ' prior: {"clicks":2.0']]
    assert answer["unnamed"] == ['item hat, state: "paused"', 'item bag, state: "retired"']
    assert states(service, page) == {"hat": "paused", "bag": "retired"}
    apply(SECOND.replace("bag = {}", 'bag = { state = "active" }'))
    assert states(service, page) == {"hat": "paused", "bag": "active"}
    apply(SECOND, "--exact")
    assert states(service, page) == {"hat": "active", "bag": "active"}


def states(service: Process, page: str) -> dict[str, str]:
    return {row["item"]: row["state"] for row in service.http.get(f"/v1/pages/{page}").json()["items"]}


def test_retiring_keeps_what_another_client_changed_meanwhile(service: Process, page: str) -> None:
    with HttpClient(service.address) as client:
        bring(client, page_of({"page": page, "positions": ["hero"], "items": {"hat": {}, "tie": {}}}))
        smaller = page_of({"page": page, "positions": ["hero"], "items": {"hat": {}}})
        before, etag = fetch_page(client, page)
        prior = {"clicks": 2.0, "views": 10.0}
        service.http.patch(f"/v1/pages/{page}/items/tie", json={"prior": prior}).raise_for_status()
        carry_out(client, smaller, plan(before, smaller, exact=True), etag)
    item = service.http.get(f"/v1/pages/{page}/items/tie").json()
    assert (item["state"], item["prior"]) == ("retired", prior)


@pytest.mark.parametrize("first", ["", FIRST], ids=["new", "existing"])
def test_a_dry_run_lists_the_changes_and_makes_none(apply, service: Process, page: str, first: str) -> None:
    def stored() -> list[tuple[int, str | None]]:
        paths = ["", "/items/hat", "/items/tie", "/items/bag"]
        answers = [service.http.get(f"/v1/pages/{page}{path}") for path in paths]
        return [(answer.status_code, answer.headers.get("etag")) for answer in answers]

    assert not first or apply(first).exit_code == 0
    before = stored()
    options = ("--exact", "--json")
    planned = apply(SECOND, "--dry-run", *options)
    assert planned.exit_code == 1, "there is something to change"
    assert stored() == before
    dry, made = json.loads(planned.stdout), apply(SECOND, *options).json()
    assert (dry["dry_run"], made["dry_run"]) == (True, False)
    assert dry["changes"] == made["changes"]
    if first:
        assert dry["changes"] == [
            'layouts: {"default":["hero","left"]} -> {"default":["hero","left","right"]}', "holdout: 0.0 -> 0.25",
            'item hat, prior: null -> {"clicks":2.0,"views":10.0}', "item bag created",
            'item tie, state: "paused" -> "retired"', "pin default/hero: hat removed", "pin default/left: hat",
        ]  # fmt: skip
    else:
        assert dry["changes"] == [
            f'page {page} created, layouts: {{"default":["hero","left","right"]}}, holdout: 0.25',
            'item hat created, prior: {"clicks":2.0,"views":10.0}', "item bag created", "pin default/left: hat",
        ]  # fmt: skip
    again = apply(SECOND, "--dry-run")
    assert (again.exit_code, again.stdout) == (0, f"page {page}: nothing to change\n")


def test_a_dry_run_lists_every_change(apply) -> None:
    result = apply('positions = ["hero"]\n[items]\n' + "\n".join(f"item{k} = {{}}" for k in range(50)), "--dry-run")
    assert result.exit_code == 1
    assert "would change" in result.stdout.splitlines()[0]
    assert len(result.stdout.splitlines()) == 52


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
        changed = page_of({"page": page, "positions": ["left"]})
        with pytest.raises(BadInput, match="changed"):
            carry_out(client, changed, plan(before, changed), etag)
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
    names = [f"name{k}" for k in range(50)]
    most = MOST_COUNTS // (
        51 * 51
    )  # segments and none; positions and priors; the two positions before were never shown
    items = "\n".join(f"item{k} = {{}}" for k in range(most))
    result = apply(f"positions = {names}\nsegments = {names}\n[items]\n{items}")
    result.assert_refused(service.address, f"'item{most - 2}'", f"{most + 1:,} items")  # two items were there before


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


def test_show_says_what_a_template_shares(apply, show, service: Process, page: str) -> None:
    assert apply(f'template = "grid-of-{page}"\n{FIRST}').exit_code == 0
    assert apply(f'template = "grid-of-{page}"\n{FIRST}').stdout == f"page {page}: nothing to change\n"
    send_click(service, page)
    line = next(line for line in show().stdout.splitlines() if line.startswith("template"))
    assert line.startswith(f"template grid-of-{page}: 1 page, 1 displays; too few clicks")
    assert show("--json").json()["template"] == f"grid-of-{page}"


def test_show_says_what_learning_earns(apply, show, service: Process, page: str) -> None:
    apply("positions = ['hero', 'left']\nholdout = 0.5\nlearnt_share = 1.0\n[items]\nhat = {}\ntie = {}")
    assert "not enough data yet: no displays of the variant learnt" in show().stdout
    clicks = []
    for k in range(140):
        display = service.http.post(f"/v1/pages/{page}/recommendations", json={"unit": f"visitor {k}"}).json()
        clicks.append({"type": "click", "token": display["token"], "position": "hero"})
    service.http.post("/v1/events", json={"events": clicks}).raise_for_status()
    service.http.patch(
        f"/v1/pages/{page}", json={"click_window": 3600}
    ).raise_for_status()  # insights are computed again
    text = " ".join(show().stdout.split())
    assert "learnt earns 0 % more clicks than random order, between " in text
    assert "after 140 displays" in text
    assert "of the possible gain is realised" in text


def test_unknown_values_are_printed_as_a_dash(apply, show, service: Process, page: str) -> None:
    def hero(lines: list[str]) -> list[str]:
        return [cell.strip() for cell in next(line for line in lines if " hero " in line).split("│")]

    apply(FIRST)
    lines = show().stdout.splitlines()
    assert any("0 displays" in line for line in lines)
    assert hero(lines) == ["hero", "-", "hat (pinned)", "-"]
    send_click(service, page)
    service.http.delete(f"/v1/pages/{page}/pins/default/hero")  # a change of the page discards its cached insights
    lines = show().stdout.splitlines()
    assert any("(learnt 1 display, 1 click)" in line for line in lines)
    assert hero(lines)[:2] == ["hero", "-"], "the visibility of a single position is unknown"
    assert hero(lines)[2].startswith("hat (")
    assert hero(lines)[3] == hero(lines)[2], "without pins, visitors see what is best"


COUNTED = """
positions = ["hero", "left"]
[items]
hat = {}
tie = {}
bag = {}
"""


def import_counts(service: Process, page: str, segment: str | None = None) -> None:
    """2,000 displays of each item at each position: hat is the most attractive item, hero the most visible position."""
    cells = [
        {"item": item, "layout": "default", "position": position, "segment": segment, "clicks": clicks, "skips": skips}
        for item, theta in (("hat", 0.5), ("tie", 0.3), ("bag", 0.1))
        for position, kappa in (("hero", 1.0), ("left", 0.5))
        for clicks, skips in [(2000 * theta * kappa, 2000 * (1 - theta * kappa))]
    ]
    service.http.put(f"/v1/pages/{page}/state", json={"displays": 6000, "counts": cells}).raise_for_status()


def positions(result: CommandResult) -> dict[str, tuple[str, ...]]:
    """What visitors see, and what would be best, by position."""
    rows = [[cell.strip() for cell in line.split("│")] for line in result.stdout.splitlines()]
    return {row[0]: tuple(row[2:]) for row in rows if row[0] in ("hero", "left")}


def test_show_has_what_visitors_see_beside_what_would_be_best(apply, show, service: Process, page: str) -> None:
    apply(COUNTED)
    import_counts(service, page)
    best = {"hero": "hat (100%)", "left": "tie (100%)"}
    assert positions(show()) == {position: (item, item) for position, item in best.items()}
    service.http.put(f"/v1/pages/{page}/pins/default/hero", json={"item": "bag"}).raise_for_status()
    assert positions(show()) == {"hero": ("bag (pinned)", best["hero"]), "left": ("hat (100%)", best["left"])}
    service.http.patch(f"/v1/pages/{page}/items/bag", json={"state": "paused"}).raise_for_status()
    paused = show()
    assert positions(paused) == {position: (item, item) for position, item in best.items()}
    assert "bag is pinned to default/hero, without effect: it is paused" in paused.stdout
    service.http.patch(f"/v1/pages/{page}", json={"mode": "shadow", "default_order": ["tie"]}).raise_for_status()
    order = {"hero": "tie (default order)", "left": "hat (default order)"}
    in_shadow = show()
    assert positions(in_shadow) == {position: (order[position], best[position]) for position in order}
    lines = " ".join(in_shadow.stdout.split())
    assert "mode learn would show: hero hat (100%); left tie (100%)" in lines
    assert re.search(r"attractiveness x visibility in default order: hero tie 0\.\d+ \[.*\]; left hat 0\.\d+ \[", lines)
    assert "clicks do not determine" not in lines


def test_show_fits_into_80_columns_with_a_pin(apply, service: Process, page: str, slotwise) -> None:
    wide = COUNTED.replace("hero", "bottom-middle").replace("hat = {}", '"linen shirts" = {}')
    apply(wide + '[pins]\nbottom-middle = "linen shirts"\n')
    cells = [
        {"item": item, "layout": "default", "position": position, "segment": None, "clicks": 300, "skips": 700}
        for item in ("linen shirts", "tie")
        for position in ("bottom-middle", "left")
    ]
    service.http.put(f"/v1/pages/{page}/state", json={"displays": 2000, "counts": cells}).raise_for_status()
    shown = slotwise("pages", "show", page, "--url", service.address, width=80).stdout.splitlines()
    (row,) = [line for line in shown if line.startswith(" bottom-middle")]
    assert re.search(r"\d\.\d\d \[\d\.\d\d, \d\.\d\d\] │ linen shirts \(pinned\) │", row)
    assert "click_window 1 day," in " ".join(shown[:3])


def test_show_names_the_layouts_if_there_are_several(apply, show, service: Process, page: str) -> None:
    apply(
        COUNTED.replace('positions = ["hero", "left"]', 'layouts = { desktop = ["hero", "left"], mobile = ["hero"] }')
    )
    service.http.put(f"/v1/pages/{page}/pins/mobile/hero", json={"item": "bag"}).raise_for_status()
    rows = [[cell.strip() for cell in line.split("│")] for line in show().stdout.splitlines()]
    assert ["desktop", "left", "-", "-", "-"] in rows
    assert ["mobile", "hero", "-", "bag (pinned)", "-"] in rows


def test_show_speaks_of_the_sampler_only_if_asked(apply, show, service: Process, page: str) -> None:
    apply(COUNTED)
    import_counts(service, page)
    plain, verbose = show().stdout, show("--verbose").stdout
    words = ("draws", "effective sample size", "sweeps", "chains")
    assert not any(word in plain for word in words)
    assert all(word in verbose for word in words)


def test_show_a_segment(apply, show, service: Process, page: str) -> None:
    apply('segments = ["new"]\n' + COUNTED)
    import_counts(service, page, "new")
    whole, segment = show(), show("--segment", "new")
    assert "visitors without a segment" in whole.stdout
    assert positions(segment) == {"hero": ("hat (100%)",) * 2, "left": ("tie (100%)",) * 2}
    attractiveness = {
        line.split("│")[0].strip(): line.split("│")[2].strip() for line in segment.stdout.splitlines()[-3:]
    }
    assert attractiveness["hat"].startswith("0.4") or attractiveness["hat"].startswith("0.5")
    assert "hat  │ active │ - " in whole.stdout, "nothing was counted without a segment"
    show("--segment", "old").assert_refused("'old'", "new")


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


def test_values_and_categories_are_applied_and_shown(apply: Callable[..., CommandResult], show) -> None:
    text = 'positions = ["hero"]\nmost_per_category = 1\n[items]\nhat = { value = 2.5, category = "head" }\ncap = {}\n'
    apply(text)
    assert changes(apply(text, "--json")) == []
    lines = show().stdout.splitlines()
    assert "most_per_category 1" in " ".join(" ".join(lines).split())
    (heads,) = [line for line in lines if "attractiveness" in line]
    assert [head.strip() for head in re.split("[│┃]", heads)][:4] == ["item", "state", "value", "category"]
    (hat,) = [line for line in lines if "2.5" in line]
    assert [cell.strip() for cell in re.split("[│┃]", hat)][:4] == ["hat", "active", "2.5", "head"]
    apply('positions = ["hero"]\n[items]\nhat = {}\n', "--exact")
    assert "category" not in show().stdout


def test_pins_with_times_are_applied_and_shown(apply: Callable[..., CommandResult], show) -> None:
    text = 'positions = ["hero", "left"]\n[items]\nhat = {}\ncap = {}\ntie = {}\n[pins]\n'
    timed = (
        text
        + 'hero = { item = "hat", from = 2000-01-01T00:00:00Z }\nleft = { item = "cap", from = 2100-01-01T00:00:00Z }'
    )
    assert "pin default/left: cap, from 2100-01-01T00:00:00Z" in changes(apply(timed, "--json"))
    assert changes(apply(timed, "--json")) == []
    lines = " ".join(show().stdout.split())
    assert "hat is pinned to default/hero for a time (hat, from 2000-01-01T00:00:00Z)" in lines
    assert "cap is pinned to default/left, without effect: it is not pinned yet" in lines
    ended = text + 'hero = "tie"\nleft = { item = "hat", until = 2001-01-01T00:00:00Z }'
    assert changes(apply(ended, "--json"))[0] == "pin default/hero: hat, from 2000-01-01T00:00:00Z removed"
    assert "it is no longer pinned" in " ".join(show().stdout.split())
