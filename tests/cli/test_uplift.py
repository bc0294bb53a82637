"""`slotwise uplift`."""

from pathlib import Path

import pytest

from tests.inference.uplift.exported_log import Traffic, write_log


def test_it_reports_the_uplift_of_each_page(tmp_path: Path, slotwise) -> None:
    better = [Traffic(day, "learnt", 800, 0.3) for day in range(3)] + [
        Traffic(day, "holdout", 400, 0.15) for day in range(3)
    ]
    few = [Traffic(0, "learnt", 50, 0.2), Traffic(0, "holdout", 20, 0.2)]
    files = [
        str(write_log(tmp_path / "shop.ndjson", better, value=2.0)),
        str(write_log(tmp_path / "blog.ndjson", few, "blog")),
    ]
    both = [path.read_text() for path in map(Path, files)]
    (tmp_path / "all.ndjson").write_text("".join(both))
    result = slotwise("uplift", files[0], "--json").json()["shop"]
    assert result["ready"]
    assert result["clicks"]["low"] < 1.0 < result["clicks"]["high"]
    assert result["value"]["difference"] == pytest.approx(2.0 * result["clicks"]["difference"])
    assert slotwise("uplift", files[1], "--json").json()["blog"]["ready"] is False
    text = slotwise("uplift", str(tmp_path / "all.ndjson")).stdout
    assert "shop: learnt earns" in text
    assert "blog: not enough data yet" in text


def test_a_log_without_holdout_is_refused(tmp_path: Path, slotwise) -> None:
    path = str(write_log(tmp_path / "log.ndjson", [Traffic(0, "learnt", 20, 0.5)]))
    slotwise("uplift", path).assert_refused("'shop'", "'holdout'", "learnt")
    slotwise("uplift", path, "--baseline", "learnt").assert_refused("--baseline")
    slotwise("uplift", str(tmp_path / "none.ndjson")).assert_refused("none.ndjson")
