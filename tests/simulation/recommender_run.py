"""One run of a simulation, one call at a time, as a page does it. Run as a program, it prints the displays as JSON."""

import json
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import slotwise as sw
from slotwise.simulation.simulate import generators

MODEL = sw.PBM([0.7, 0.5, 0.35, 0.2, 0.1, 0.05], [0.9, 0.4, 0.65])
SEED, RUN = 21, 2


@dataclass
class RecommenderRun:
    displays: list[list[int]] = field(default_factory=list)
    regret: list[float] = field(default_factory=list)


def expected_clicks(truth: sw.PBM, display: list[int]) -> float:
    total = 0.0
    for position, item in enumerate(display):
        total += float(truth.theta[item]) * float(truth.kappa[position])
    return total


def run_recommender(
    rounds: int, policy: str, params: Mapping[str, Any], seed: int = SEED, run: int = RUN
) -> RecommenderRun:
    """Run a Recommender with the visitors and the randomness that the simulator uses for this run."""
    visitors, rng = generators(seed, run)
    truth = MODEL.shuffled(visitors)
    items, positions = [f"item {k}" for k in range(6)], ["left", "middle", "right"]
    page = sw.Recommender(items, positions, policy=policy, params=params, seed=rng)
    best = expected_clicks(truth, truth.best_display().tolist())
    done, lost = RecommenderRun(), 0.0
    for _ in range(rounds):
        named = page.recommend()
        display = [items.index(named[position]) for position in positions]
        draws = [visitors.random() for _ in positions]
        clicks = [draws[k] < truth.theta[item] * truth.kappa[k] for k, item in enumerate(display)]
        page.learn(named, clicked=[position for position, clicked in zip(positions, clicks, strict=True) if clicked])
        lost += best - expected_clicks(truth, display)
        done.displays.append(display)
        done.regret.append(lost)
    return done


VERSIONS: dict[str, tuple[str, dict[str, Any]]] = {
    "first": ("pb_mhb", {"reference": "first"}),
    "none": ("pb_mhb", {"reference": "none"}),
    "slot_ids": ("slot_ids", {"draws": 8}),
}

if __name__ == "__main__":
    rounds = int(sys.argv[1])
    json.dump({name: run_recommender(rounds, *version).displays for name, version in VERSIONS.items()}, sys.stdout)
