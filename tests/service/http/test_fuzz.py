"""The OpenAPI description against a real server, by Schemathesis, with all of its checks and a fixed seed."""

import subprocess
import sys
from pathlib import Path

import pytest

from slotwise.service.verify import verify
from tests.service.running_service import ITEMS, POSITIONS, process

# what a schema cannot say: names that must exist, fields that must agree (422), a version that must be the present one;
# most calls are about a page that exists, and is not redefined meanwhile. In its stateful phase Schemathesis takes a
# valid call that it made from a link for a wrong one (its issue 2983); wrong ones are made in the phases before that
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
        found = subprocess.run([*command, *options, "--no-shrink"], cwd=tmp_path, capture_output=True, text=True)
        assert found.returncode == 0, found.stdout[-20_000:]
        assert "Tested:" in found.stdout
        metrics = server.http.get("/metrics").text.splitlines()
        assert not [line for line in metrics if 'status="5' in line and 'route="readyz"' not in line]
        assert server.http.get("/readyz").status_code == 200
        server.process.terminate()
        assert server.process.communicate(timeout=20)[1] == "", "the service complained"
    assert verify(store).differences == []
