"""`slotwise keys`, on a store and through a running service, and the commands that send a key."""

import getpass
import re
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from slotwise.client.keys import StoreKeys
from tests.command_line import COMMAND, CommandResult, run_command
from tests.service.running_service import Process
from tests.waiting import HANG, wait_until


class KeyedService:
    """A service that requires keys, and an admin key of it."""

    def __init__(self, folder: Path) -> None:
        self.store = folder / "store.db"
        serve = [*COMMAND, "serve", "--store", f"sqlite:///{self.store}", "--port", "0", "--quiet"]
        self.refused = subprocess.run(serve, capture_output=True, text=True, timeout=HANG)
        command = self.refused.stderr.partition("create one: slotwise ")[2].split()
        assert command, self.refused
        self.admin = run_command(*command, "--json").json()["key"]
        self.process = Process(self.store, dev=False)
        self.process.wait_until_ready()

    def run(self, *arguments: str) -> CommandResult:
        return run_command("keys", *arguments, "--store", f"sqlite:///{self.store}")

    def status(self, key: str, path: str = "/v1/version") -> int:
        return self.process.http.get(path, headers={"authorization": f"Bearer {key}"}).status_code


@pytest.fixture(scope="module")
def keyed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KeyedService]:
    service = KeyedService(tmp_path_factory.mktemp("keyed"))
    try:
        yield service
    finally:
        service.process.kill()


def test_serve_refuses_to_start_without_an_active_key(keyed: KeyedService) -> None:
    """The fixture has started it with the printed command."""
    assert (keyed.refused.returncode, keyed.refused.stdout) == (2, "")
    assert len(keyed.refused.stderr.splitlines()) == 1
    assert keyed.process.http.get("/livez").status_code == 200
    assert keyed.process.http.get("/v1/pages").status_code == 401
    assert keyed.status(keyed.admin, "/v1/keys") == 200


def test_a_key_is_created_rotated_and_revoked_while_the_service_runs(keyed: KeyedService) -> None:
    options = ("--pages", "shop,other", "--expires", "90d", "--rate", "100")
    new = keyed.run("create", "--name", "job", "--scope", "read,feedback", *options, "--json").json()
    assert set(new) == {"id", "key"}
    created = time.monotonic()
    wait_until(lambda: keyed.status(new["key"]) == 200)
    row = next(row for row in keyed.run("list", "--json").json() if row["id"] == new["id"])
    assert (row["name"], row["scopes"], row["pages"], row["rate"]) == (
        "job",
        ["read", "feedback"],
        ["shop", "other"],
        100.0,
    )
    assert row["expires"] - row["created"] == 90 * 86400.0
    second = keyed.run("rotate", new["id"], "--overlap", "1h", "--json").json()
    wait_until(lambda: keyed.status(second["key"]) == 200)
    assert keyed.status(new["key"]) == 200
    assert "revoked" in keyed.run("revoke", new["id"]).stdout
    wait_until(lambda: keyed.status(new["key"]) == 401)
    assert keyed.status(second["key"]) == 200
    assert time.monotonic() - created < HANG
    shown = keyed.run("list").stdout
    assert new["id"] in shown
    assert new["key"] not in shown
    changes = keyed.run("history", "--json").json()["changes"]
    assert [(change["action"], change["subject"]) for change in changes[:4]] == [
        ("revoke_key", new["id"]),
        ("create_key", second["id"]),
        ("rotate_key", new["id"]),
        ("create_key", new["id"]),
    ]
    assert {change["name"] for change in changes} == {f"user {getpass.getuser()}"}
    assert new["id"] in keyed.run("history", "--before", str(changes[2]["number"])).stdout


def test_keys_through_the_service(keyed: KeyedService, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SLOTWISE_KEY", keyed.admin)
    at = ("--url", keyed.process.address)
    new = run_command("keys", "create", *at, "--name", "web", "--scope", "serve", "--json").json()
    assert keyed.status(new["key"], "/v1/pages") == 403  # it applies at once, but lacks the scope
    second = run_command("keys", "rotate", new["id"], *at, "--overlap", "0s", "--json").json()
    assert [keyed.status(key, "/v1/pages") for key in (new["key"], second["key"])] == [401, 403]
    run_command("keys", "revoke", second["id"], *at)
    listed = run_command("keys", "list", *at, "--json").json()
    assert {row["status"] for row in listed if row["name"] == "web"} == {"expired", "revoked"}
    run_command("keys", "revoke", "none", *at).assert_refused("404")
    run_command("keys", "list", *at, "--key", new["key"]).assert_refused("401", "expired")


def test_commands_send_the_key(keyed: KeyedService, monkeypatch: pytest.MonkeyPatch) -> None:
    at = ("--url", keyed.process.address)
    run_command("pages", "list", *at).assert_refused("401", "key")
    assert run_command("pages", "list", *at, "--key", keyed.admin, "--json").json() == []
    monkeypatch.setenv("SLOTWISE_KEY", keyed.admin)
    load = ("--create", "--page", "loaded", "--theta", ".5,.4,.3", "--kappa", "1,.5", "--rounds", "40", "--rate", "max")
    report = run_command("load", *load, *at, "--json").json()
    assert report["rounds"] == 40
    assert (report["recommendations"]["errors"], report["events"]["errors"]) == ({}, {})
    assert [row["page"] for row in run_command("pages", "list", *at, "--json").json()] == ["loaded"]
    assert run_command("pages", "pause", "loaded", "item1", *at).exit_code == 0


def test_a_mistyped_key_is_not_sent_and_not_repeated(keyed: KeyedService) -> None:
    wrong = keyed.admin[:-1] + ("A" if keyed.admin[-1] != "A" else "B")
    refused = run_command("pages", "list", "--url", keyed.process.address, "--key", wrong)
    refused.assert_refused("mistyped")
    assert wrong[:20] not in refused.stderr


def test_a_key_is_printed_once_and_the_store_does_not_have_it(tmp_path: Path) -> None:
    store = tmp_path / "store.db"
    created = run_command("keys", "create", "--store", f"sqlite:///{store}", "--name", "root", "--scope", "admin")
    key = re.findall(r"sw_\w{38}", created.stdout)[0]
    assert key not in created.stderr
    assert all(key[3:35].encode() not in file.read_bytes() for file in tmp_path.iterdir())
    assert key not in run_command("keys", "list", "--store", f"sqlite:///{store}", "--json").stdout


def test_commands_read_the_address_of_the_store_from_the_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("SLOTWISE_STORE", "sqlite:///shop.db")
    id = run_command("keys", "create", "--name", "a", "--scope", "read", "--json").json()["id"]
    assert run_command("backup", "copy.db", "--json").json()["path"] == "copy.db"
    assert run_command("verify", "--json").json()["differences"] == []
    assert run_command("logs", "export", "log.csv").exit_code == 0
    run_command("restore", "copy.db").assert_refused("shop.db", "--replace")
    monkeypatch.setenv("SLOTWISE_STORE", "sqlite:///restored.db")
    assert run_command("restore", "copy.db", "--json").json()["path"] == "restored.db"
    assert [row["id"] for row in run_command("keys", "list", "--json").json()] == [id]
    run_command("verify", "--store", "sqlite:///none.db").assert_refused("none.db")
    run_command("keys", "list", "--url", "http://127.0.0.1:1").assert_refused("127.0.0.1:1")
    assert sorted(path.name for path in tmp_path.glob("*.db")) == ["copy.db", "restored.db", "shop.db"]


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (["create", "--name", "a", "--scope", "root"], ["'root'"]),
        (["create", "--name", "a b", "--scope", "read"], ["name"]),
        (["create", "--name", "a", "--scope", "browser"], ["/pages", "/origins"]),
        (
            ["create", "--name", "a", "--scope", "browser", "--pages", "shop", "--origins", "https://shop.example/"],
            ["origins[0]", "needed: scheme and host"],
        ),
        (["create", "--name", "a", "--scope", "read,"], ["--scope", "commas"]),
        (["create", "--name", "a", "--scope", "read", "--expires", "soon"], ["--expires", "90d"]),
        (["create", "--name", "a", "--scope", "read", "--rate", "0"], ["rate"]),
        (["list"], ["no store", "slotwise keys create"]),
        (["list", "--url", "http://127.0.0.1:1"], ["exclude"]),
        (["revoke", "none"], ["no store"]),
    ],
)
def test_invalid_options_are_rejected(tmp_path: Path, arguments: list[str], named: list[str]) -> None:
    run_command("keys", *arguments, "--store", f"sqlite:///{tmp_path}/store.db").assert_refused(*named)


def test_the_demo_runs_with_a_key(tmp_path: Path, slotwise_process: Any) -> None:
    store = tmp_path / "store.db"
    key = StoreKeys(store).create({"name": "demo", "scopes": ["admin"]})["key"]
    options = ("--store", f"sqlite:///{store}", "--key", key, "--port", "0", "--rounds", "50", "--rate", "max")
    done = slotwise_process("demo", *options, "--headless")
    assert done.exit_code == 0, done.stderr
    assert "50 rounds" in done.stdout
