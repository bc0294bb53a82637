"""`slotwise logs open-bandit`: the folder has the documented form, and the Open Bandit Pipeline reads it."""

import csv
import json
import os
import subprocess
from pathlib import Path

import pytest

from slotwise.logs.open_bandit_export import ITEM_COLUMNS, LINE_COLUMNS
from tests.inference.off_policy.exported_log import log_lines, without, write
from tests.waiting import HANG

ITEMS = ["bag", "belt", "hat", "scarf", "tie"]  # numbered in this order
READER = Path(__file__).parent / "read_open_bandit.py"
PYTHON = os.environ.get("SLOTWISE_OBP_PYTHON", "")


def rows(path: Path) -> list[dict[str, str]]:
    with path.open(newline="") as text:
        return list(csv.DictReader(text))


def test_the_folder_has_the_files_and_columns_of_the_dataset(tmp_path: Path, slotwise) -> None:
    lines = log_lines(200, 100)
    lines[0]["propensity"] = None
    lines += [line | {"shown": 0, "clicked": 0} for line in log_lines(10, 0, seed=1)]
    result = slotwise("logs", "open-bandit", write(tmp_path / "log.ndjson", lines), str(tmp_path / "out"))
    assert result.exit_code == 0, result.stderr
    assert "597 lines" in result.stdout
    assert "3 lines left out" in result.stderr
    written, items = (rows(tmp_path / "out/random/all" / name) for name in ("all.csv", "item_context.csv"))
    assert tuple(written[0]) == LINE_COLUMNS
    assert tuple(items[0]) == ITEM_COLUMNS
    assert [(row["item_id"], row["item_feature_1"]) for row in items] == [(str(k), n) for k, n in enumerate(ITEMS)]
    assert float(items[1]["item_feature_0"]) == 3.0
    expected = [line for line in lines[3:600] if line["shown"]]
    assert [row[""] for row in written] == [str(k) for k in range(597)]
    found = [(ITEMS[int(row["item_id"])], int(row["position"]), int(row["click"])) for row in written]
    order = {"hero": 1, "left": 2, "right": 3}
    assert found == [(line["item"], order[line["position"]], line["clicked"]) for line in expected]
    assert {row["propensity_score"] for row in written} == {"0.2"}
    assert written[0]["timestamp"] == "2023-11-14 22:13:21.000000+00:00"
    assert slotwise("fit", str(tmp_path / "out/random/all/all.csv"), "--format", "open-bandit").exit_code == 0


def test_other_variants_are_another_behaviour_policy(tmp_path: Path, slotwise) -> None:
    log = write(tmp_path / "log.ndjson", log_lines(20, 50))
    assert slotwise("logs", "open-bandit", log, str(tmp_path / "out"), "--variant", "learnt").exit_code == 0
    assert len(rows(tmp_path / "out/bts/all/all.csv")) == 150


def test_refusals(tmp_path: Path, slotwise) -> None:
    out = str(tmp_path / "out")
    unknown = write(tmp_path / "unknown.ndjson", without(log_lines(20, 0), "propensity"))
    slotwise("logs", "open-bandit", unknown, out).assert_refused("propensities")
    learnt = write(tmp_path / "learnt.ndjson", log_lines(0, 20))
    slotwise("logs", "open-bandit", learnt, out).assert_refused("'holdout'")
    pages = write(tmp_path / "pages.ndjson", log_lines(20, 0) + log_lines(20, 0, seed=1, page="blog"))
    slotwise("logs", "open-bandit", pages, out).assert_refused("--page")
    assert slotwise("logs", "open-bandit", pages, out, "--page", "blog").exit_code == 0
    (tmp_path / "file").write_text("")
    slotwise("logs", "open-bandit", pages, str(tmp_path / "file"), "--page", "blog").assert_refused("cannot write")


@pytest.mark.skipif(not PYTHON, reason="SLOTWISE_OBP_PYTHON does not name a Python with the package obp")
def test_the_open_bandit_pipeline_reads_it(tmp_path: Path, slotwise) -> None:
    """Also compares its inverse propensity estimate with ours. It averages over positions, and ours adds them up."""
    log = write(tmp_path / "log.ndjson", log_lines(1000, 1000, segment="new"))
    for variant, policy in (("holdout", "random"), ("learnt", "bts")):
        assert slotwise("logs", "open-bandit", log, str(tmp_path / "out"), "--variant", variant).exit_code == 0
        command = [PYTHON, str(READER), policy, str(tmp_path / "out")]
        done = subprocess.run(command, capture_output=True, text=True, timeout=HANG)
        assert done.returncode == 0, done.stderr
        read = json.loads(done.stdout)
        assert (read["rounds"], read["actions"], read["positions"]) == (3000, 5, 3)
        assert read["action_context"] == [5, 2]
        if policy == "random":
            own = slotwise("evaluate", log, "--order", "bag,belt,hat", "--json").json()["clicks"]
            assert 3.0 * read["inverse_propensity"] == pytest.approx(own["inverse_propensity"]["value"])
