"""The pages about the service are complete and correct: every call, field and metric has an entry, examples run."""

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer.main

from slotwise.cli import app
from slotwise.policies import policies
from slotwise.policies._policy_module import can_serve, find
from slotwise.service.settings import NAMES, RELOADABLE, declaration, read_settings
from tests.programs import needed
from tests.service.running_service import Process, process

ROOT = Path(__file__).parent.parent.parent
SERVICE, HTTP_API, OPERATIONS = (ROOT / "docs" / name for name in ("service.md", "http_api.md", "operations.md"))
# documented once, below the table of calls
EVERYWHERE = {"400", "401", "403", "408", "413", "415", "422", "429", "503"}
URL = "http://127.0.0.1:8000"


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Process]:
    with process(tmp_path_factory.mktemp("store") / "store.db") as running:
        yield running


@pytest.fixture(scope="module")
def openapi(service: Process) -> Any:
    return service.http.get("/openapi.json").json()


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", SERVICE.read_text(), flags=re.DOTALL)


def run(service: Process, command: list[str]) -> str:
    paths = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, env=os.environ | {"PATH": paths})
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def shop(service: Process) -> Process:
    """The service after the first step of "Five minutes", which the later steps need."""
    first = blocks("sh")[0].splitlines()[0]
    assert first.startswith("slotwise pages apply")
    run(service, ["sh", "-ec", f"{first} --url {service.address}"])
    return service


def test_the_commands_of_five_minutes_run(shop: Process) -> None:
    needed("curl", "the commands with it are not run")
    answers = []
    for block in blocks("sh"):
        for line in block.splitlines():
            typed = line.replace(URL, shop.address)
            typed += f" --url {shop.address}" if line.startswith("slotwise") else ""
            answers.append(run(shop, ["sh", "-ec", typed.replace("--rounds 5000", "--rounds 300")]))
    applied, display, event, load, shown = answers
    assert "nothing to change" in applied
    assert json.loads(display)["id"] == "view-1"
    assert json.loads(event) == {"results": [{"status": "accepted"}]}
    assert "300 rounds" in load
    assert all(word in shown for word in ("visibility", "silk scarf", "visitors see", "best without pins"))


def test_the_example_in_python_runs(shop: Process) -> None:
    code = blocks("python")[0]
    output = run(shop, [sys.executable, "-c", code.replace(URL, shop.address)])
    assert "top-middle" in output
    assert "{'results': [{'status': 'accepted'}]}" in output


def test_the_example_in_javascript_runs(shop: Process) -> None:
    (code,) = blocks("js")
    node = needed("node", "the example in JavaScript is not run")
    output = run(shop, [node, "--input-type=module", "--eval", code.replace(URL, shop.address)])
    assert "top-middle" in output
    assert "status: 'accepted'" in output


def test_metrics_have_the_names_that_are_documented(service: Process) -> None:
    kinds = re.findall(r"^# TYPE (\w+) (\w+)$", service.http.get("/metrics").text, flags=re.MULTILINE)
    shown = {name for name, _ in kinds if not name.endswith("_created")}
    documented = re.findall(r"^\| `(slotwise_\w+)` \|", OPERATIONS.read_text(), flags=re.MULTILINE)
    assert sorted(documented) == sorted(shown)


def test_the_policies_that_serve_are_documented() -> None:
    (row,) = re.findall(r"^\| `policy`, `params` \| slot_ts \| (.*) \|$", SERVICE.read_text(), flags=re.MULTILINE)
    assert re.findall(r"`(\w+)`", row) == [name for name in policies() if can_serve(find(name))]


def calls() -> dict[str, set[str]]:
    """The table of calls: each with its own statuses."""
    return {call: set(statuses.split()) for call, _, statuses in rows_of_calls()}


def rows_of_calls() -> list[tuple[str, str, str]]:
    row = r"^\| `([A-Z]+ \S+)` \| .* \| (\w+) \| ([\d ]+) \|$"
    return re.findall(row, HTTP_API.read_text(), flags=re.MULTILINE)


def test_every_call_is_documented_with_its_scope() -> None:
    from slotwise.service.http.app import all_routes

    needed = {
        f"{route.method} {route.path}": route.needs for route in all_routes() if route.name != "root" and not route.web
    }
    assert {call: scope for call, scope, _ in rows_of_calls()} == needed


def test_every_call_is_documented_with_its_statuses(openapi: Any) -> None:
    described = {
        f"{method.upper()} {path}": set(call["responses"]) - EVERYWHERE
        for path, methods in openapi["paths"].items()
        for method, call in methods.items()
    }
    assert calls() == described
    assert all(status in HTTP_API.read_text() for status in EVERYWHERE)


def test_every_field_is_documented(openapi: Any) -> None:
    page = HTTP_API.read_text()
    for name, schema in openapi["components"]["schemas"].items():
        for field in schema.get("properties", {}):
            assert f"`{field}`" in page or f'"{field}"' in page, f"{field} of {name}"


def test_the_json_of_the_http_interface_is_valid() -> None:
    shown = re.findall(r"```json\n(.*?)```", HTTP_API.read_text(), flags=re.DOTALL)
    assert len(shown) >= 4
    for block in shown:
        json.loads(block)


def test_requests_in_the_documentation_are_accepted(service: Process) -> None:
    """Sends the first JSON object for pages and for recommendations, to a page that has the names in them."""
    page = HTTP_API.read_text()
    section = {name: page.partition(f"\n## {name}\n")[2] for name in ("Pages", "Recommendations")}
    spec, request = (re.findall(r"```json\n(.*?)```", section[name], flags=re.DOTALL)[0] for name in section)
    headers = {"Content-Type": "application/json"}
    assert service.http.put("/v1/pages/shown", content=spec, headers=headers).status_code == 201
    layouts = {"positions": None, "layouts": {"desktop": ["hero", "left"]}}
    assert service.http.put("/v1/pages/shown", json=json.loads(spec) | layouts).status_code == 200
    rows = [{"item": item} for item in ("hat", "tie", "bag")]
    assert service.http.post("/v1/pages/shown/items:batch", json={"items": rows}).status_code == 200
    answer = service.http.post("/v1/pages/shown/recommendations", content=request, headers=headers)
    assert answer.status_code == 201
    assert answer.json()["items"][0] == {"position": "hero", "item": "bag", "reason": "pinned"}


PAGES_COMMANDS = typer.main.get_command(app).commands["pages"].commands  # type: ignore[attr-defined]


@pytest.mark.parametrize("name", sorted(PAGES_COMMANDS))
def test_every_option_of_pages_is_documented(name: str) -> None:
    page = (ROOT / "docs" / "command_line.md").read_text()
    section = re.split(r"\n##", page.partition(f"### slotwise pages {name}\n")[2])[0]
    assert section, f"slotwise pages {name} has no section"
    for parameter in PAGES_COMMANDS[name].params:
        for option in parameter.opts:
            assert option == "--help" or f"`{option}`" in section, option


def test_the_page_file_of_the_documentation_is_valid(tmp_path: Path) -> None:
    from slotwise.client.page_file import read_page

    (shown,) = re.findall(r"```toml\n(.*?)```", (ROOT / "docs" / "command_line.md").read_text(), flags=re.DOTALL)
    (tmp_path / "page.toml").write_text(shown)
    winter = {"item": "rain coat", "from": 1793491200.0, "until": 1803859200.0}
    assert read_page(tmp_path / "page.toml").pins == {"default": {"left": "straw hat", "right": winter}}


def test_the_table_of_settings_is_that_of_the_code() -> None:
    """Names, order, defaults, and which settings a reload applies."""
    text = (ROOT / "docs" / "configuration.md").read_text().partition("## Settings")[2].partition("\n\n`slotwise")[0]
    rows = re.findall(r"^\| `(\w+)` \|([^|]*)\|([^|]*)\|", text, flags=re.MULTILINE)
    shown = [(name, default.strip(), applied.strip()) for name, default, applied in rows]

    def default(name: str) -> str:
        value = declaration(name).default
        return "" if value is None else str(value).lower() if isinstance(value, bool) else str(value)

    assert shown == [(name, default(name), "applied" if name in RELOADABLE else "") for name in NAMES]


def test_the_configuration_file_of_the_documentation_is_valid(tmp_path: Path) -> None:
    (shown,) = re.findall(r"```toml\n(.*?)```", (ROOT / "docs" / "configuration.md").read_text(), flags=re.DOTALL)
    (tmp_path / "service.toml").write_text(shown)
    assert read_settings({}, {}, tmp_path / "service.toml").trust_proxy == "unix"
