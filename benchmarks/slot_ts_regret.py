"""`python -m benchmarks.slot_ts_regret`: compare the regret of slot_ts and pb_mhb, in half an hour on two cores.

There are 200 paired runs of 1e5 rounds in every setting of the paper. The simulated settings are repeated with the most
visible position last. As on a real page, neither policy assumes that the first position is the most visible
(`reference=none`).
"""

import json
import sys
import time
from pathlib import Path

import numpy as np

import slotwise as sw
from slotwise.paper.named_click_models import SETTINGS, SIMULATED, setting

ROUNDS, RUNS, SEED = 100_000, 200, 11
RESULTS = Path(__file__).parent / "results" / "slot_ts_regret.json"
POLICIES = {
    "pb_mhb": ("pb_mhb", {"reference": "none"}),
    "slot_ts": ("slot_ts", {}),
}


def models() -> dict[str, sw.PBM]:
    settings = {name: setting(name) for name in SETTINGS}
    for name in SIMULATED:
        model = setting(name)
        settings[f"{name}, most visible last"] = sw.PBM(model.theta, model.kappa[::-1].copy())
    return settings


def compare(model: sw.PBM, runs: int, rounds: int) -> dict[str, dict[str, float]]:
    """Mean, standard error and 95th percentile of each policy's regret, and its paired difference to pb_mhb."""
    results = {
        label: sw.simulate(policy, model, rounds=rounds, runs=runs, seed=SEED, params=params)
        for label, (policy, params) in POLICIES.items()
    }
    rows = {}
    for label, result in results.items():
        difference = result.difference(results["pb_mhb"])
        rows[label] = {
            "regret": float(result.mean()[-1]),
            "error": float(result.standard_error()[-1]),
            "median": float(np.median(result.regret[:, -1])),
            "95 %": float(result.quantiles([0.95])[0, -1]),
            "minus pb_mhb": float(difference.mean[-1]),
            "its error": float(difference.standard_error[-1]),
        }
    return rows


def main(runs: int = RUNS, rounds: int = ROUNDS) -> None:
    table = {}
    for name, model in models().items():
        table[name] = compare(model, runs, rounds)
        for label, row in table[name].items():
            print(f"{name:32s} {label:22s}", *(f"{what} {value:8.1f} " for what, value in row.items()), flush=True)
        content = {"date": time.strftime("%Y-%m-%d"), "runs": runs, "rounds": rounds, "seed": SEED, "regret": table}
        RESULTS.write_text(json.dumps(content, indent=1) + "\n")


if __name__ == "__main__":
    main(*(int(float(argument)) for argument in sys.argv[1:]))
