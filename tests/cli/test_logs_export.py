"""`slotwise logs export`."""

import csv
import json
from pathlib import Path
from typing import Any

import pytest
from pyarrow import parquet

from tests.service.running_service import START, Client, ManualClock, run_scenario

FIELDS = ["display", "issued", "page", "segment", "layout", "position", "item", "shown", "clicked", "variant"]
FIELDS += ["allocation", "bucket", "value", "propensity"]


@pytest.fixture(scope="module")
def exported(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[dict[str, Any]]]:
    """A store with displays of two pages on two days, and the log that the service gives for them."""
    folder, lines, clock = tmp_path_factory.mktemp("exported"), [], ManualClock()

    async def scenario(client: Client) -> None:
        for name in ("shop", "feed"):
            await client.page(name, holdout=0.5)
        for k in range(20):
            shown = await client.recommend("shop" if k % 2 else "feed")
            if k % 3 == 0:
                await client.send({"type": "click", "token": shown["token"], "position": "hero"})
            clock.now += 7200.0
        await client.service.store.do(lambda ledger: ledger.page("shop"))  # the displays are committed before it
        for name in ("feed", "shop"):
            text = (await client.http.get(f"/v1/pages/{name}/log")).text
            lines.extend(json.loads(line) for line in text.splitlines())

    run_scenario(folder, scenario, clock)
    return folder / "store.db", lines


def rows(path: Path) -> list[dict[str, Any]]:
    if path.suffix == ".parquet":
        return list(parquet.read_table(path).to_pylist())
    if path.suffix == ".ndjson":
        return [json.loads(line) for line in path.read_text().splitlines()]
    types: dict[str, Any] = {
        "issued": float,
        "shown": int,
        "clicked": int,
        "allocation": int,
        "bucket": int,
        "value": float,
    }
    types["propensity"] = lambda text: float(text) if text else None
    with path.open(newline="") as file:
        return [{name: types.get(name, str)(value) for name, value in row.items()} for row in csv.DictReader(file)]


@pytest.mark.parametrize("suffix", ["ndjson", "parquet"])
def test_an_exported_log_has_the_sessions_that_click_models_need(
    exported: Any, tmp_path: Path, slotwise, suffix: str
) -> None:
    store, lines = exported
    output = tmp_path / f"log.{suffix}"
    slotwise("logs", "export", str(output), "--store", f"sqlite:///{store}")
    found = slotwise("fit", str(output), "--format", "slotwise", "--clicks", "auto", "--json").json()
    shown = {(line["page"], line["display"]) for line in lines if line["shown"]}
    fitted = {query["query"]: query for query in found["queries"]}
    for page in ("shop", "feed"):
        assert fitted[page]["comparison"]["sessions"] == sum(name == page for name, _ in shown)
        assert fitted[page]["clicks"] == sum(line["clicked"] for line in lines if line["page"] == page)
        assert not fitted[page]["comparison"]["sure"]  # ten displays are too few


@pytest.mark.parametrize("suffix", ["ndjson", "csv", "parquet"])
def test_every_format_has_the_lines_of_the_service(exported: Any, tmp_path: Path, slotwise, suffix: str) -> None:
    store, lines = exported
    output = tmp_path / f"log.{suffix}"
    assert slotwise("logs", "export", str(output), "--store", f"sqlite:///{store}").exit_code == 0
    assert rows(output) == lines
    assert list(lines[0]) == FIELDS
    assert len(lines) == 60
    assert sum(line["clicked"] for line in lines) == 7


def test_lines_are_filtered(exported: Any, tmp_path: Path, slotwise) -> None:
    store, lines = exported
    output = tmp_path / "log.ndjson"
    options = ["--page", "shop", "--since", "2023-11-15T00:00", "--until", "2023-11-15T12:00:00+00:00"]
    command = ["logs", "export", str(output), "--store", f"sqlite:///{store}", *options, "--variant", "holdout"]
    assert slotwise(*command).exit_code == 0
    first = 1_700_006_400.0  # 2023-11-15T00:00 in UTC
    assert first > START
    wanted = [
        line for line in lines
        if line["page"] == "shop" and line["variant"] == "holdout" and first <= line["issued"] < first + 43200
    ]  # fmt: skip
    assert rows(output) == wanted != []


@pytest.mark.parametrize(
    ("options", "named"),
    [
        (["log.txt"], (".ndjson", ".csv", ".parquet")),
        (["log.csv", "--page", "nothing"], ("'nothing'", "feed, shop")),
        (["log.csv", "--since", "yesterday"], ("--since yesterday",)),
        (["nowhere/log.csv"], ("nowhere",)),
    ],
)
def test_what_cannot_be_exported_is_refused(
    exported: Any, tmp_path: Path, slotwise, options: list[str], named: tuple[str, ...]
) -> None:
    store, _ = exported
    output = str(tmp_path / options[0])
    slotwise("logs", "export", output, *options[1:], "--store", f"sqlite:///{store}").assert_refused(*named)
    assert list(tmp_path.iterdir()) == []
