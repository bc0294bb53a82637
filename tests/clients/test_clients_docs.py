"""The page about the clients: its examples run, and its tables list every option, method and outcome."""

import dataclasses
import json
import re
import subprocess
import sys
from pathlib import Path
from typing import get_args

import pytest

from slotwise.client.sample import SHOP
from slotwise_client import AsyncClient, Client, Options
from slotwise_client.event import EventStatus
from tests.clients.node import run_node
from tests.command_line import run_command
from tests.service.running_service import Process

ROOT = Path(__file__).parent.parent.parent
TEXT = (ROOT / "docs" / "clients.md").read_text()
URL = "http://127.0.0.1:8000"


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", TEXT, flags=re.DOTALL)


def table(first_heading: str) -> list[list[str]]:
    """The cells of the table that begins with this heading."""
    text = TEXT.partition(f"\n| {first_heading} |")[2].partition("\n\n")[0]
    return [[cell.strip() for cell in line[1:-1].split("|")] for line in text.splitlines()[2:]]


def names(cells: list[str]) -> set[str]:
    return {name for cell in cells for name in re.findall(r"`(\w+)", cell)}


def defaults(rows: list[list[str]], column: int) -> dict[str, str]:
    """The options in a column and their defaults in the next one."""
    cells = [[cell.strip("` ") for cell in row] for row in rows]
    return {row[column]: row[column + 1] for row in cells if row[column]}


@pytest.fixture(scope="module")
def shop(service: Process) -> Process:
    assert run_command("pages", "apply", str(SHOP), "--url", service.address).exit_code == 0
    return service


def test_the_example_in_python_runs(shop: Process) -> None:
    (code,) = blocks("python")
    done = subprocess.run([sys.executable, "-c", code.replace(URL, shop.address)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "top-middle" in done.stdout


def test_the_example_in_javascript_runs(shop: Process) -> None:
    (code,) = blocks("js")
    local = code.replace(URL, shop.address).replace('"slotwise-client"', '"./clients/js/src/index.js"')
    assert "top-middle" in run_node("--input-type=module", "--eval", local)


def test_every_option_in_python_is_documented_with_its_default() -> None:
    fields = {field.name: str(field.default) for field in dataclasses.fields(Options)}
    assert defaults(table("Python option"), 0) == fields


def test_every_option_in_javascript_is_documented_with_its_default() -> None:
    code = 'import { DEFAULTS } from "./clients/js/src/options.js"; console.log(JSON.stringify(DEFAULTS))'
    options = json.loads(run_node("--input-type=module", "--eval", code))
    assert defaults(table("Python option"), 2) == {name: json.dumps(value) for name, value in options.items()}


def test_every_outcome_is_documented() -> None:
    assert names([row[0] for row in table("outcome")]) == set(get_args(EventStatus))


def test_every_method_is_documented() -> None:
    public = {name for kind in (Client, AsyncClient) for name in dir(kind) if not name.startswith("_")}
    assert names([row[0] for row in table("Python")]) == public
    code = """import { Client } from "./clients/js/src/index.js";
    console.log(JSON.stringify(Object.getOwnPropertyNames(Client.prototype)))"""
    in_javascript = set(json.loads(run_node("--input-type=module", "--eval", code))) - {"constructor"}
    assert names([row[1] for row in table("Python")]) == in_javascript
