"""`python -m benchmarks.slot_ids_regret [group ...]`: the regret of slot_ids relative to that of pb_mhb.

Three numbers are compared: the mean, the 95th percentile, and the mean of the worst 2 % of the runs. pb_mhb has
`reference=none` and the same visitors. The seeds differ from those of the trials that led to slot_ids. Two rejected
variants were measured with them too. `itself` compares pb_mhb with itself under another seed, which shows the ratios
that chance alone produces. All groups together take hours. Results are saved after each setting, and settings that the
file already has are not measured again. A number as the last argument is a share of the runs.
"""

import json
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

import slotwise as sw
from slotwise.checks import Floats
from slotwise.jit import source_digest
from slotwise.paper.named_click_models import SETTINGS, SIMULATED, setting

RESULTS = Path(__file__).parent / "results" / "slot_ids_regret.json"
BASELINE: tuple[str, dict[str, Any]] = ("pb_mhb", {"reference": "none"})
POLICY: tuple[str, dict[str, Any]] = ("slot_ids", {})
SEED, OTHER_SEED = 90_001, 90_002
YANDEX_KAPPA = [1.0, 0.55, 0.37, 0.28, 0.22]


@dataclass(frozen=True)
class Group:
    """Click models to compare the policies on, all with the same number of runs and rounds."""

    models: dict[str, sw.PBM]
    runs: int
    rounds: int = 100_000
    delay: int = 0
    policy: tuple[str, dict[str, Any]] = POLICY
    seed: int = SEED  # of the policy; the baseline always has SEED
    limits: dict[str, float] = field(default_factory=dict)


def most_visible_last(name: str) -> sw.PBM:
    model = setting(name)
    return sw.PBM(model.theta, model.kappa[::-1].copy())


def random_instance(k: int) -> sw.PBM:
    rng = np.random.default_rng([SEED, k])
    return sw.PBM(rng.beta(1.0, 8.0, 20), rng.random(4))


def groups() -> dict[str, Group]:
    paper = {name: setting(name) for name in SETTINGS}
    simulated = {name: setting(name) for name in SIMULATED}
    limits = {"mean": 1.02, "95 %": 1.05, "worst 2 %": 1.15}
    return {
        "itself": Group(paper, 400, policy=BASELINE, seed=OTHER_SEED),
        "paper": Group(paper, 400, limits=limits),
        "most visible last": Group({name: most_visible_last(name) for name in SIMULATED}, 400, limits=limits),
        "random": Group({f"instance {k}": random_instance(k) for k in range(40)}, 20),
        "delay": Group(simulated, 100, delay=100, limits={"mean": 1.0}),
        "yandex-like": Group({"gaps of 0.002": sw.PBM(0.06 - 0.002 * np.arange(10), YANDEX_KAPPA)}, 400, limits=limits),
        "long": Group(simulated, 50, rounds=1_000_000, limits={"mean": 1.0}),
    }


def worst(regret: Floats) -> float:
    """The mean of the worst 2 % of the runs."""
    return float(np.sort(regret)[-max(1, round(regret.size / 50)) :].mean())


def summary(regret: Floats) -> dict[str, float]:
    return {
        "mean": float(regret.mean()),
        "error": float(regret.std(ddof=1) / regret.size**0.5),
        "95 %": float(np.quantile(regret, 0.95)),
        "worst 2 %": worst(regret),
        "largest": float(regret.max()),
    }


def last_regret(version: tuple[str, dict[str, Any]], model: sw.PBM, group: Group, runs: int, seed: int) -> Floats:
    policy, params = version
    result = sw.simulate(policy, model, group.rounds, runs, seed, params, checkpoints=[group.rounds], delay=group.delay)
    return result.regret[:, -1]


def compare(group: Group, model: sw.PBM, runs: int, baselines: dict[tuple[Any, ...], Floats]) -> dict[str, Any]:
    """Compare the policies on one click model. `baselines` keeps the baseline's regrets, which groups share."""
    key = (model.theta.tobytes(), model.kappa.tobytes(), group.rounds, group.delay, runs)
    if key not in baselines:
        baselines[key] = last_regret(BASELINE, model, group, runs, SEED)
    ours, theirs = last_regret(group.policy, model, group, runs, group.seed), baselines[key]
    policy, baseline = summary(ours), summary(theirs)
    return {
        "runs": runs,
        "policy": policy,
        "baseline": baseline,
        "ratio": {name: policy[name] / baseline[name] for name in ("mean", "95 %", "worst 2 %", "largest")},
        "error of the mean ratio": float(np.std(ours - theirs, ddof=1) / runs**0.5 / theirs.mean()),
    }


def report(name: str, group: Group, rows: dict[str, Any]) -> None:
    for setting_name, row in rows.items():
        ratios = "  ".join(f"{what} {value:.3f}" for what, value in row["ratio"].items())
        print(f"{name:18s} {setting_name:14s} {row['runs']:4d} runs  {ratios}  +- {row['error of the mean ratio']:.3f}")
    for what in ("mean", "95 %", "worst 2 %"):
        ratios = np.array([row["ratio"][what] for row in rows.values()])
        limit = group.limits.get(what)
        verdict = "" if limit is None else f", limit {limit}: {int((ratios > limit).sum())} above it"
        typical = np.exp(np.log(ratios).mean())
        print(f"{name:18s} {what}: geometric mean {typical:.3f}, largest {ratios.max():.3f}{verdict}")


def main(names: list[str], share: float = 1.0) -> None:
    """Measure these groups, or all of them, with this share of their runs."""
    digest = source_digest("slotwise.policies.slot_ids", "slotwise.policies.pb_mhb")
    saved = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
    if saved.get("sources") != digest:
        saved = {"sources": digest, "seed": SEED, "groups": {}}
    baselines: dict[tuple[Any, ...], Floats] = {}
    for name, group in groups().items():
        if names and name not in names:
            continue
        rows = saved["groups"].setdefault(name, {})
        for setting_name, model in group.models.items():
            runs = max(2, round(group.runs * share))
            if rows.get(setting_name, {}).get("runs", 0) < runs:
                rows[setting_name] = compare(group, model, runs, baselines)
                saved["date"] = time.strftime("%Y-%m-%d")
                RESULTS.write_text(json.dumps(saved, indent=1) + "\n")
        report(name, group, rows)


if __name__ == "__main__":
    shares = [float(argument) for argument in sys.argv[1:] if argument.replace(".", "").isdigit()]
    main([argument for argument in sys.argv[1:] if not argument.replace(".", "").isdigit()], *shares)
