"""Schemathesis tests a real server against its OpenAPI document, with all checks and a fixed seed."""

import subprocess
import sys
from pathlib import Path

import pytest

from slotwise.service.verify import verify
from tests.service.running_service import ITEMS, POSITIONS, process
from tests.waiting import HANG

# A schema cannot express that names must exist, that fields must agree (422), or that a version must be current: valid
# data may get these statuses. Most requests are for a page that exists and is not redefined during the test. In its
# stateful phase Schemathesis counts valid requests made from links as invalid (its issue 2983); the other phases send
# invalid requests.
CONFIG = """
[checks.positive_data_acceptance]
expected-statuses = ["2xx", 404, 409, 412, 422]

[phases.stateful.checks]
negative_data_rejection.enabled = false

[parameters]
"path.page" = "shop"
"path.layout" = "default"
"path.position" = "hero"

[[operations]]
include-operation-id = ["get_item", "patch_item", "delete_item"]
parameters = { "path.item" = "hat" }

[[operations]]
include-operation-id = ["put_page", "get_page", "patch_page", "delete_page"]
parameters = { "path.page" = "other" }
"""


@pytest.mark.parametrize("examples", [6, pytest.param(300, marks=pytest.mark.soak)])
def test_fuzzing_finds_nothing_undocumented(tmp_path: Path, examples: int) -> None:
    store = tmp_path / "store.db"
    (tmp_path / "schemathesis.toml").write_text(CONFIG)
    with process(store) as server:
        server.http.put("/v1/pages/shop", json={"positions": POSITIONS}).raise_for_status()
        rows = [{"item": item} for item in ITEMS]
        server.http.post("/v1/pages/shop/items:batch", json={"items": rows}).raise_for_status()
        command = [Path(sys.executable).with_name("schemathesis"), "run", f"{server.address}/openapi.json"]
        options = ["--checks", "all", "--seed", "1", "--max-examples", str(examples), "--continue-on-failure"]
        finished = subprocess.run([*command, *options, "--no-shrink"], cwd=tmp_path, capture_output=True, text=True)
        assert finished.returncode == 0, finished.stdout[-20_000:]
        assert "Tested:" in finished.stdout
        metrics = server.http.get("/metrics").text.splitlines()
        assert not [line for line in metrics if 'status="5' in line and 'route="readyz"' not in line]
        assert server.http.get("/readyz").status_code == 200
        server.process.terminate()
        assert server.process.communicate(timeout=HANG)[1] == "", "the service wrote to stderr"
    assert verify(store).differences == []
