"""The JavaScript client: its own tests, its types, its package, and agreement with the Python client."""

import json
import random
import subprocess
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest

from slotwise.service.web.tracker_script import TRACKER
from slotwise_client import DefaultOrder, Display, DisplayItem
from slotwise_client.display import DisplayRequest
from slotwise_client.fallback import fallback_display
from slotwise_client.version import __version__
from tests.clients.node import ROOT, SITES, find_node, require_packages, run_node
from tests.service.running_service import ITEMS, POSITIONS, Process

CLIENT = ROOT / "clients" / "js"


def test_the_tests_in_javascript_pass() -> None:
    output = run_node("--test", "tests/clients/client.test.mjs")
    assert "# fail 0" in output
    assert "# tests 22" in output


def test_calls_have_spans_of_opentelemetry() -> None:
    require_packages()
    output = run_node("--test", "tests/clients/tracing.test.mjs")
    assert "# fail 0" in output
    assert "# tests 3" in output


def random_case(rng: random.Random) -> dict[str, Any]:
    def some(names: list[str]) -> list[str]:
        return rng.sample(names, rng.randrange(len(names) + 1))

    fields: dict[str, Any] = {"excluded": some(ITEMS), "pinned": dict(zip(some(POSITIONS), some(ITEMS), strict=False))}
    if rng.random() < 0.5:
        fields["eligible"] = some(ITEMS)
    if rng.random() < 0.7:
        fields["default"] = {"positions": some(POSITIONS), "items": some(ITEMS)}
    rows = [DisplayItem(*row, "learnt") for row in zip(some(POSITIONS), some(ITEMS), strict=False)]
    last = Display("shop", "desktop", tuple(rows), left_out=("footer",)) if rng.random() < 0.7 else None
    return {"fields": fields, "last": last}


def test_both_clients_show_the_same_while_the_service_is_away() -> None:
    rng = random.Random(1)
    cases = [random_case(rng) for _ in range(300)]
    sent = [{"fields": case["fields"], "last": case["last"] and as_json(case["last"])} for case in cases]
    shown = json.loads(run_node("tests/clients/fallback_displays.mjs", text=json.dumps(sent)))
    for case, (layout, items, left_out, source) in zip(cases, shown, strict=True):
        fields = dict(case["fields"])
        if "default" in fields:
            fields["default"] = DefaultOrder(**fields["default"])
        display = fallback_display(DisplayRequest("shop", "r1", fields), case["last"], "away")  # type: ignore[arg-type]
        expected = (display.layout, [row._asdict() for row in display.items], list(display.left_out), display.source)
        assert (layout, items, left_out, source) == expected, case


def as_json(display: Display) -> dict[str, Any]:
    return asdict(display) | {"items": [row._asdict() for row in display.items]}


END = """
import { Client } from "./clients/js/src/index.js";
const client = new Client(process.argv[1], { timeoutMs: 60_000, exitTimeoutMs: 60_000, flushMs: 60_000 });
client.click(await client.recommend(process.argv[2]), "hero");
"""


def test_a_program_in_node_that_ends_sends_its_events(service: Process, page: str) -> None:
    service.http.put(f"/v1/pages/{page}", json={"positions": POSITIONS}).raise_for_status()
    service.http.put(f"/v1/pages/{page}/items/hat", json={}).raise_for_status()
    service.http.put(f"/v1/pages/{page}/items/tie", json={}).raise_for_status()
    service.http.put(f"/v1/pages/{page}/items/bag", json={}).raise_for_status()
    run_node("--input-type=module", "--eval", END, service.address, page)
    counts = service.http.get(f"/v1/pages/{page}/state").raise_for_status().json()["counts"]
    assert sum(row["clicks"] for row in counts) == 1


def test_the_types_are_right() -> None:
    find_node()
    require_packages()
    options = ["--noEmit", "--strict", "--target", "es2022", "--module", "nodenext", "--types", "node"]
    source = SITES / "typed_use.ts"  # in the folder of the packages, so that the compiler finds them
    types = TRACKER.with_suffix(".d.ts").relative_to(ROOT)
    source.write_text((Path(__file__).parent / "typed_use.ts").read_text().replace("TRACKER", f"../../{types}"))
    try:
        run_node(
            "examples/sites/node_modules/typescript/bin/tsc",
            *options,
            str(source),
            "--typeRoots",
            f"{SITES}/node_modules/@types",
        )
    finally:
        source.unlink()


def test_the_package_can_be_installed_from_its_folder(tmp_path: Path) -> None:
    find_node()
    described = json.loads((CLIENT / "package.json").read_text())
    assert described["version"] == __version__
    assert "dependencies" not in described
    packed = subprocess.run(["npm", "pack", "--dry-run", "--json"], cwd=CLIENT, capture_output=True, text=True)
    if packed.returncode != 0:
        pytest.skip(f"npm does not run: {packed.stderr[:200]}")
    names = {file["path"] for file in json.loads(packed.stdout)[0]["files"]}
    sources = {str(path.relative_to(CLIENT)) for path in (CLIENT / "src").iterdir()}
    assert names == sources | {"package.json", "README.md", "LICENSE"}
