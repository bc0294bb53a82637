"""The alert rules and the dashboard are valid, and they use metrics that exist."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from slotwise.service.metrics import Metrics
from tests.programs import needed, succeeds

ROOT = Path(__file__).parent.parent.parent
PROMETHEUS = ROOT / "deploy" / "prometheus"
OPERATIONS = ROOT / "docs" / "operations.md"
SUFFIXES = {"counter": ["_total"], "gauge": [""], "histogram": ["_bucket", "_sum", "_count"]}


@pytest.fixture
def promtool() -> str:
    return needed("promtool", "the alert rules are not checked")


def alerts() -> dict[str, str]:
    """The expression of each alert."""
    (group,) = yaml.safe_load((PROMETHEUS / "alerts.yml").read_text())["groups"]
    return {rule["alert"]: rule["expr"] for rule in group["rules"]}


def dashboard() -> Any:
    return json.loads((ROOT / "deploy" / "grafana" / "slotwise.json").read_text())


def dashboard_expressions() -> list[str]:
    shown = [target["expr"] for panel in dashboard()["panels"] for target in panel["targets"]]
    return [expression.replace("$__rate_interval", "5m") for expression in shown]


def time_series() -> set[str]:
    """The names that Prometheus gets."""
    families = Metrics().registry.collect()
    return {family.name + suffix for family in families for suffix in SUFFIXES[family.type]}


def metrics_in(text: str) -> set[str]:
    return set(re.findall(r"\bslotwise_\w+", text))


def test_the_rules_are_valid_and_fire_when_they_should(promtool: str) -> None:
    succeeds(promtool, "check", "rules", "alerts.yml", cwd=PROMETHEUS)
    succeeds(promtool, "test", "rules", "alerts_test.yml", cwd=PROMETHEUS)


@pytest.mark.parametrize("file", ["prometheus.yml", "compose.yml"])
def test_the_configuration_of_prometheus_is_valid(promtool: str, file: str) -> None:
    assert "1 rule files found" in succeeds(promtool, "check", "config", file, cwd=PROMETHEUS)


def test_every_alert_is_tested_to_fire_and_not_to_fire() -> None:
    tests = yaml.safe_load((PROMETHEUS / "alerts_test.yml").read_text())["tests"]
    cases = [case for test in tests for case in test["alert_rule_test"]]
    assert {case["alertname"] for case in cases if case.get("exp_alerts")} == set(alerts())
    assert {case["alertname"] for case in cases if not case.get("exp_alerts")} == set(alerts())


def test_every_metric_of_the_alerts_exists() -> None:
    assert metrics_in("\n".join(alerts().values())) <= time_series()


def test_the_dashboard_shows_every_metric_and_no_other() -> None:
    shown = metrics_in("\n".join(dashboard_expressions()))
    assert shown <= time_series()
    families = {family.name for family in Metrics().registry.collect()}
    assert {name for name in families if not any(series.startswith(name) for series in shown)} == set()


def test_every_expression_of_the_dashboard_is_valid(promtool: str, tmp_path: Path) -> None:
    rules = [{"record": f"panel_{k}", "expr": expression} for k, expression in enumerate(dashboard_expressions())]
    (tmp_path / "rules.yml").write_text(yaml.safe_dump({"groups": [{"name": "panels", "rules": rules}]}))
    assert f"{len(rules)} rules found" in succeeds(promtool, "check", "rules", tmp_path / "rules.yml")


def test_panels_do_not_overlap() -> None:
    used = set[tuple[int, int]]()
    for panel in dashboard()["panels"]:
        box = panel["gridPos"]
        cells = {(x, y) for x in range(box["x"], box["x"] + box["w"]) for y in range(box["y"], box["y"] + box["h"])}
        assert not cells & used, panel["title"]
        assert max(x for x, _ in cells) < 24, panel["title"]
        used |= cells


def test_every_alert_is_documented() -> None:
    rows = re.findall(r"^\| `(Slotwise\w+)` \|", OPERATIONS.read_text(), flags=re.MULTILINE)
    assert rows == list(alerts())
