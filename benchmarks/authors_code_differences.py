"""`python -m benchmarks.authors_code_differences`: what the authors' public code does differently, and what it costs.

Each row changes one thing: the sampler of PBM-TS, the prior of PB-MHB, the clicks of the simulator, the SVD of greedy,
and what epsilon-greedy replaces. Runs are paired and have 1e4 rounds. Everything takes five minutes on one core.
"""

import json
import sys
import time
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

import slotwise as sw
from benchmarks.authors_code import pb_mhb_cell_prior, pbm_ts_proposal_only
from benchmarks.authors_code.dependent_clicks_pbm import DependentClicksPBM
from slotwise.paper.named_click_models import SIMULATED, setting
from slotwise.simulation.result import Result

ROUNDS, RUNS, SEED = 10_000, 200, 17
RESULTS = Path(__file__).parent / "results" / "authors_code_differences.json"


class Version(NamedTuple):
    policy: str | ModuleType
    params: dict[str, Any]
    one_draw: bool = False


VERSIONS = {
    "PBM-TS": Version("pbm_ts", {}),
    "PBM-TS, proposal only": Version(pbm_ts_proposal_only, {}),
    "PB-MHB": Version("pb_mhb", {}),
    "PB-MHB, 0.5 per cell": Version(pb_mhb_cell_prior, {}),
    "PB-MHB, one draw per display": Version("pb_mhb", {}, one_draw=True),
    "greedy": Version("greedy", {}),
    "greedy, one draw per display": Version("greedy", {}, one_draw=True),
    "greedy, fill=mean": Version("greedy", {"fill": "mean"}),
    "greedy, fill=authors": Version("greedy", {"fill": "authors"}),
    "ε-greedy, c = 100": Version("epsilon_greedy", {"c": 100.0}),
    "ε-greedy, c = 100, replace=display": Version("epsilon_greedy", {"c": 100.0, "replace": "display"}),
}


def run(version: Version, name: str, runs: int, rounds: int) -> Result:
    model = setting(name)
    visitors = DependentClicksPBM(model.theta, model.kappa) if version.one_draw else model
    return sw.simulate(version.policy, visitors, rounds=rounds, runs=runs, seed=SEED, params=version.params)


def summary(result: Result) -> dict[str, list[float]]:
    """Mean regret and its standard error at each power of ten from 1,000 rounds on."""
    ends = [k for k, t in enumerate(result.rounds) if t in (1_000, 10_000, 100_000)]
    mean, error = result.mean(), result.standard_error()
    return {str(result.rounds[k]): [round(float(mean[k]), 1), round(float(error[k]), 1)] for k in ends}


def main(runs: int = RUNS, rounds: int = ROUNDS) -> None:
    table: dict[str, dict[str, dict[str, list[float]]]] = {}
    for label, version in VERSIONS.items():
        table[label] = {name: summary(run(version, name, runs, rounds)) for name in SIMULATED}
        cells = [
            f"{name} {mean:.1f} ± {error:.1f}" for name, row in table[label].items() for mean, error in row.values()
        ]
        print(f"{label:36s}", "; ".join(cells), flush=True)
        content = {"date": time.strftime("%Y-%m-%d"), "runs": runs, "rounds": rounds, "seed": SEED, "regret": table}
        RESULTS.write_text(json.dumps(content, indent=1) + "\n")


if __name__ == "__main__":
    main(*(int(float(argument)) for argument in sys.argv[1:]))
