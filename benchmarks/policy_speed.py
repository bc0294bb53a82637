"""Time of a round of each policy at N=10, L=5, relative to the plain loop in `pb_mhb_speed`, with the paper's times."""

from pathlib import Path

import numpy as np

from benchmarks.measure import Row, alternate, ratio, report
from benchmarks.pb_mhb_speed import ROUNDS, baseline_once, simulate_once
from slotwise.paper.named_click_models import setting

# policy, settings, limit; and the milliseconds per round of the paper's Table 2, whose PB-MHB took 18
CONTENDERS = [
    ("pb_mhb", {}, 0.65, 18.0),
    ("bc_mpts", {}, 0.6, 0.3),
    ("bc_mpts", {"kappa": "svd"}, 1.0, 0.6),
    ("bc_mpts", {"kappa": "em"}, 5.0, None),
    ("pbm_ts", {}, 2.0, 4.2),
    ("pbm_ts", {"kappa": "svd"}, 2.0, 4.8),
    ("pbm_ts", {"kappa": "em"}, 5.0, None),
    ("pbm_ucb", {}, 0.3, None),
    ("pbm_pie", {}, 3.0, None),
    ("pbm_pie", {"kappa": "em"}, 5.0, None),
    ("greedy", {}, 1.0, None),
    ("greedy", {"estimator": "em"}, 5.0, None),
    ("epsilon_greedy", {}, 1.0, 0.3),
    ("epsilon_greedy", {"estimator": "em"}, 5.0, None),
]
PAPER_PB_MHB = 18.0


def main() -> bool:
    model = setting("standard")
    names = [" ".join([name, *(f"{k}={v}" for k, v in params.items())]) for name, params, _, _ in CONTENDERS]
    contenders = {"baseline": baseline_once(model)}
    contenders |= {name: simulate_once(row[0], model, **row[1]) for name, row in zip(names, CONTENDERS, strict=True)}
    seconds = alternate(contenders, turns=5)
    rows = [Row("baseline", 1e6 * float(np.median(seconds["baseline"])) / ROUNDS, "us/round")]
    for name, (_, _, limit, paper) in zip(names, CONTENDERS, strict=True):
        in_paper = f" (in the paper: {paper / PAPER_PB_MHB:.2f}x its PB-MHB)" if paper else ""
        rows.append(Row(f"{name} / baseline{in_paper}", ratio(seconds, name, "baseline"), "x", limit))
    return report("Every policy against the baseline", Path(__file__).stem, rows)
