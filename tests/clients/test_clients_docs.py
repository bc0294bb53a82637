"""The page about the clients: its examples run, and its tables list every option, method and outcome."""

import dataclasses
import re
import subprocess
import sys
from pathlib import Path
from typing import get_args

import pytest

from slotwise.client.sample import SHOP
from slotwise_client import AsyncClient, Client, Options
from slotwise_client.event import EventStatus
from tests.command_line import run_command
from tests.service.running_service import Process

ROOT = Path(__file__).parent.parent.parent
TEXT = (ROOT / "docs" / "clients.md").read_text()
URL = "http://127.0.0.1:8000"


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", TEXT, flags=re.DOTALL)


def rows(column: str) -> dict[str, str]:
    """The first two columns of the table whose first heading this is, by the names in the first one."""
    table = TEXT.partition(f"\n| {column} |")[2].partition("\n\n")[0]
    found = re.findall(r"^\| (`.*?) \| (.*?) \|", table, flags=re.MULTILINE)
    return {name: second for first, second in found for name in re.findall(r"`(\w+)", first)}


@pytest.fixture(scope="module")
def shop(service: Process) -> Process:
    assert run_command("pages", "apply", str(SHOP), "--url", service.address).exit_code == 0
    return service


def test_the_example_in_python_runs(shop: Process) -> None:
    (code,) = blocks("python")
    done = subprocess.run([sys.executable, "-c", code.replace(URL, shop.address)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "top-middle" in done.stdout


def test_every_option_is_documented_with_its_default() -> None:
    defaults = {field.name: str(field.default) for field in dataclasses.fields(Options)}
    assert rows("option") == defaults


def test_every_outcome_is_documented() -> None:
    assert set(rows("outcome")) == set(get_args(EventStatus))


def test_every_method_is_documented() -> None:
    public = {name for kind in (Client, AsyncClient) for name in dir(kind) if not name.startswith("_")}
    assert set(rows("method")) == public
