"""The table of what a template gains has the numbers of the stored results."""

import json
from pathlib import Path

ROOT = Path(__file__).parents[2]
EXPERIMENTS = json.loads((ROOT / "benchmarks/results/template_regret.json").read_text())["experiments"]


def cells(experiment: str, suffix: str) -> list[str]:
    rows = [EXPERIMENTS[experiment][name + suffix] for name in ("alone", "template", "true kappas and law")]
    shared = [f"{row['mean']:.1f} ({row['ratio']:.2f} ± {row['error of the ratio']:.2f})" for row in rows[1:]]
    return [f"{rows[0]['mean']:.1f}", *shared]


def test_the_table_has_the_stored_results() -> None:
    text = (ROOT / "docs/service.md").read_text()
    for experiment, suffixes in {
        "hundredth page, behavioral": [""],
        "eight pages, same kappas": [", 1,000 rounds", ", 10,000 rounds"],
        "eight pages, other kappas": [", 1,000 rounds", ", 10,000 rounds"],
    }.items():
        for suffix in suffixes:
            assert f"| {' | '.join(cells(experiment, suffix))} |" in text
    assert EXPERIMENTS["eight pages, other kappas"]["template: kappas differ"]["mean"] == 1.0
    assert EXPERIMENTS["eight pages, same kappas"]["template: kappas differ"]["mean"] == 1 / 20


def test_the_false_alarms_are_the_stored_ones() -> None:
    text = (ROOT / "docs/service.md").read_text()
    stored = json.loads((ROOT / "benchmarks/results/kappa_alarms.json").read_text())
    alone, template, _ = (round(200 * row["value"]) for row in stored["rows"])
    assert f"{template} of 200 runs\n  with a template, and in {alone} of 200 if" in text
