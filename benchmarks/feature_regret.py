"""`python -m benchmarks.feature_regret [runs]`: what features of new items gain, and what features of noise cost.

A page has learnt for 10,000 rounds with 100 items. Then 100 new items arrive, and the regret is counted over the next
1,000 rounds. The logit of theta is Gaussian with mean -2.5 and variance 1. Five features explain half of this variance.
Ten other features are noise. The kappas are those of the setting `standard`. All policies start from the same counts.
One policy is given the true regression: no other way to learn it can be better, except by chance.
"""

import json
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import slotwise as sw
from slotwise.checks import Floats
from slotwise.clickmodels._click_model import ItemFeatures
from slotwise.counts import Counts, restore
from slotwise.jit import source_digest
from slotwise.paper.named_click_models import setting
from slotwise.policies import feature_ts, slot_ts
from slotwise.simulation.simulate import counts_after
from slotwise.simulation.simulation_loop import loop_of

RESULTS = Path(__file__).parent / "results" / "feature_regret.json"
SEED, OLD, NEW, BEFORE, AFTER = 72_001, 100, 100, 10_000, 1_000
INTERCEPT, VARIANCE, SHARE = -2.5, 1.0, 0.5  # of logit theta; the share that the features explain
USEFUL, NOISE = 5, 10
SETTLING = 300


class World:
    """The truth of one run."""

    def __init__(self, run: int) -> None:
        rng = np.random.default_rng([SEED, run])
        self.features = rng.standard_normal((OLD + NEW, USEFUL))
        self.noise = rng.standard_normal((OLD + NEW, NOISE))
        effects = rng.standard_normal(USEFUL)
        effects *= np.sqrt(SHARE * VARIANCE) / np.linalg.norm(effects)
        self.means = INTERCEPT + self.features @ effects
        self.spread = float(np.sqrt((1 - SHARE) * VARIANCE))
        self.etas = self.means + self.spread**2 / 2  # theta has about the mean e^eta
        logits = self.means + self.spread * rng.standard_normal(OLD + NEW)
        self.theta, self.kappa = 1 / (1 + np.exp(-logits)), setting("standard").kappa
        self.counts = self._counts(run)

    def _counts(self, run: int) -> Counts:
        known = counts_after("slot_ts", sw.PBM(self.theta[:OLD], self.kappa), BEFORE, seed=SEED, run=run)
        clicks, skips = np.zeros((2, OLD + NEW, self.kappa.size))
        clicks[:OLD], skips[:OLD] = known.clicks, known.skips
        return Counts(clicks, skips, known.displays)


def regret_of(world: World, module: Any, params: Any, knows_regression: bool, run: int) -> float:
    """The regret of a policy over the rounds after the new items came."""
    rng, visitors = np.random.default_rng([SEED, run, 1]), np.random.default_rng([SEED, run, 2])
    model = sw.PBM(world.theta, world.kappa)
    state = module.init(params, model.n_items, model.n_positions, rng)
    restore(state.counts, world.counts.clicks, world.counts.skips, world.counts.displays)
    if knows_regression:
        state.regression.parameters[:] = 0.0, 1.0  # eta is the only feature
    theta, kappa = np.empty(model.n_items), np.empty(model.n_positions)
    for _ in range(SETTLING):
        module.score(params, state, rng, theta, kappa)
    regret, rounds = np.zeros(1), np.array([AFTER])
    progress = np.zeros(2, np.int64)
    loop_of(module, model.kernels)(
        params, state, model.arrays(), model.best_display(), rounds, 0, visitors, rng, progress, regret
    )
    return float(regret[0])


def with_features(values: Floats, **settings: Any) -> feature_ts.Params:
    return feature_ts.Params(features=ItemFeatures(np.ascontiguousarray(values)), **settings)


def one_run(run: int) -> dict[str, float]:
    """The regret of each policy in one run."""
    world = World(run)
    policies: dict[str, tuple[Any, Any, bool]] = {
        "slot_ts": (slot_ts, slot_ts.Params(prior=int(slot_ts.ThetaPrior.FALLING)), False),
        "no features": (feature_ts, with_features(np.empty((0, 0))), False),
        "features": (feature_ts, with_features(world.features), False),
        "features and noise": (feature_ts, with_features(np.hstack([world.features, world.noise])), False),
        "noise": (feature_ts, with_features(world.noise), False),
        "true regression": (feature_ts, with_features(world.etas[:, None], learn=False), True),
    }
    return {name: regret_of(world, *policy, run) for name, policy in policies.items()}


def summary(regrets: dict[str, list[float]]) -> dict[str, Any]:
    """Means with standard errors, ratios to slot_ts, and the share of the possible gain."""
    values = {name: np.array(listed) for name, listed in regrets.items()}
    plain, informed = values["slot_ts"], values["true regression"]
    rows: dict[str, Any] = {}
    for name, regret in values.items():
        ratio = regret.mean() / plain.mean()
        gain = (plain.mean() - regret.mean()) / (plain.mean() - informed.mean())
        root = len(regret) ** 0.5
        rows[name] = {
            "mean": regret.mean(),
            "error": regret.std(ddof=1) / root,
            "ratio": ratio,
            "error of the ratio": (regret - ratio * plain).std(ddof=1) / root / plain.mean(),
            "gain": gain,
            "error of the gain": (plain - regret - gain * (plain - informed)).std(ddof=1)
            / root
            / (plain - informed).mean(),
        }
    return rows


def measure(runs: int, after_run: Callable[[int, dict[str, Any]], None] = lambda *_: None) -> dict[str, Any]:
    """The summary over this number of runs."""
    regrets: dict[str, list[float]] = {}
    for run in range(runs):
        for name, regret in one_run(run).items():
            regrets.setdefault(name, []).append(regret)
        if run > 0:
            after_run(run + 1, summary(regrets))
    return summary(regrets)


NAMES = {
    "slot_ts": "slot_ts",
    "no features": "feature_ts without features",
    "noise": "feature_ts, 10 features of noise",
    "features": "feature_ts, 5 useful features",
    "features and noise": "feature_ts, 5 useful features and 10 of noise",
    "true regression": "given the true regression",
}


def table(document: dict[str, Any]) -> str:
    """The results as a table for docs/context.md."""
    lines = ["| policy | regret | ratio to slot_ts | gain |", "| --- | --- | --- | --- |"]
    for key, name in NAMES.items():
        row = document["policies"][key]
        regret = f"{row['mean']:.0f} ± {row['error']:.0f}"
        ratio = f"{row['ratio']:.3f} ± {row['error of the ratio']:.3f}"
        lines.append(f"| {name} | {regret} | {ratio} | {row['gain']:.2f} ± {row['error of the gain']:.2f} |")
    return f"Means over {document['runs']} runs, with one standard error:\n\n" + "\n".join(lines)


def save(runs: int, rows: dict[str, Any]) -> None:
    """Save after every run, so that an interrupted measurement is not lost."""
    document = {
        "sources": source_digest("slotwise.policies.feature_ts", "slotwise.policies.slot_ts"),
        "seed": SEED, "runs": runs, "date": time.strftime("%Y-%m-%d"), "policies": rows,
    }  # fmt: skip
    RESULTS.write_text(json.dumps(document, indent=1) + "\n")


def main(runs: int = 200) -> None:
    """Measure and save."""
    for name, row in measure(runs, save).items():
        print(
            f"{name:20s} {row['mean']:7.1f} +- {row['error']:.1f}   x {row['ratio']:.3f} +- "
            f"{row['error of the ratio']:.3f}   gain {row['gain']:.2f} +- {row['error of the gain']:.2f}"
        )


if __name__ == "__main__":
    main(*(int(argument) for argument in sys.argv[1:]))
