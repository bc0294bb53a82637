"""`python -m benchmarks.choosing`: policies on visitors of several click models, as the page docs/choosing.md.

Each policy meets visitors of the click model that it is made for, and of others. The order of the positions is known or
unknown to the policies. A share of the runs as an argument, such as 0.1, gives a quick trial, which is printed only.
"""

import json
import math
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import altair as alt
import numpy as np

import slotwise as sw
from slotwise.charts import save_chart
from slotwise.clickmodels._click_model import ClickModel
from slotwise.clickmodels._named_settings import NAMED_SETTINGS
from slotwise.paper.named_click_models import setting

ROOT = Path(__file__).parent.parent
PAGE, FIGURE = ROOT / "docs" / "choosing.md", ROOT / "docs" / "figures" / "choosing.svg"
RESULTS = Path(__file__).parent / "results" / "choosing.json"
BEGIN, END = "<!-- begin of the measured table -->", "<!-- end of the measured table -->"
ROUNDS, RUNS, SEED = 100_000, 20, 70_001
UNKNOWN_ORDER = [2, 0, 3, 1]

# made for, policy, settings for the PBM, settings for other visitors
POLICIES: list[tuple[str, str, dict[str, Any], dict[str, Any]]] = [
    ("PBM", "slot_ts", {}, {}),
    ("PBM", "slot_ids", {}, {}),
    ("PBM", "pb_mhb", {"reference": "none"}, {"reference": "none"}),
    ("PBM", "bc_mpts", {}, {"kappa": "em"}),
    ("PBM", "pbm_ucb", {}, {"kappa": "em"}),
    ("PBM", "grab", {}, {}),
    ("cascade", "cascade_ts", {}, {}),
    ("cascade", "ts_cascade", {}, {}),
    ("cascade", "cascade_kl_ucb", {}, {}),
    ("cascade", "cascade_ucb1", {}, {}),
    ("cascade", "pie_l", {}, {}),
    ("DCM", "dcm_kl_ucb", {}, {}),
    ("any", "top_rank", {}, {}),
    ("any", "comb_ucb", {}, {}),
    ("any", "mp_ts", {}, {}),
    ("none", "uniform", {}, {}),
]


class OrderedPBM(sw.PBM):
    """A PBM whose positions stay in order of visibility when the items are shuffled."""

    def shuffled(self, rng: np.random.Generator) -> "OrderedPBM":
        return OrderedPBM(rng.permutation(self.theta), self.kappa)


@dataclass(frozen=True)
class Measured:
    """The regret of a policy on some visitors, its standard error, and the time of a round."""

    regret: float
    error: float
    micros: float


def visitors() -> dict[str, ClickModel]:
    """The columns of the table."""
    standard, cascade, dcm = setting("standard"), NAMED_SETTINGS["cascade"], NAMED_SETTINGS["dcm"]
    return {
        "PBM, order known": OrderedPBM(standard.theta, standard.kappa),
        "PBM, order unknown": standard,
        "cascade, order known": cascade,
        "cascade, order unknown": sw.Cascade(cascade.arrays().attraction, 4, UNKNOWN_ORDER),
        "DCM, order known": dcm,
        "DCM, order unknown": sw.DCM(dcm.arrays().attraction, dcm.arrays().termination, UNKNOWN_ORDER),
    }


def measure(runs: int) -> dict[str, dict[str, Measured]]:
    found: dict[str, dict[str, Measured]] = {}
    for _, policy, for_pbm, for_others in POLICIES:
        for name, model in visitors().items():
            params = for_pbm if model.click_model == "pbm" else for_others
            result = sw.simulate(policy, model, rounds=ROUNDS, runs=runs, seed=SEED, params=params)
            measured = Measured(float(result.mean()[-1]), float(result.standard_error()[-1]), result.microseconds)
            found.setdefault(policy, {})[name] = measured
            print(f"{policy}, {name}: {result}, {measured.micros:.2f} µs", flush=True)
    return found


def table(found: dict[str, dict[str, Measured]]) -> str:
    """The regrets as Markdown, and the time of a round on a cascade."""
    columns = list(visitors())
    lines = [f"| policy | made for | {' | '.join(columns)} | µs per round |", f"| --- |{' --- |' * (len(columns) + 2)}"]
    for made_for, policy, _, _ in POLICIES:
        cells = [f"{found[policy][name].regret:,.0f} ± {found[policy][name].error:,.0f}" for name in columns]
        micros = found[policy]["cascade, order known"].micros
        lines.append(f"| [{policy}](policies/{policy}.md) | {made_for} | {' | '.join(cells)} | {micros:.2f} |")
    return "\n".join(lines)


def chart(found: dict[str, dict[str, Measured]]) -> alt.Chart:
    """A cell for each policy and kind of visitors, coloured by the regret relative to the smallest one."""
    least = {name: min(of[name].regret for of in found.values()) for name in visitors()}
    rows = [
        {
            "policy": policy,
            "visitors": name,
            "regret": f"{measured.regret:,.0f}",
            "times": max(0.0, math.log10(measured.regret / least[name])),
        }
        for policy, of in found.items()
        for name, measured in of.items()
    ]
    order, columns = [policy for _, policy, _, _ in POLICIES], list(visitors())
    base = alt.Chart(alt.InlineData(rows)).encode(
        x=alt.X("visitors:N", sort=columns, title=None, axis=alt.Axis(orient="top", labelAngle=-25, labelLimit=200)),
        y=alt.Y("policy:N", sort=order, title=None),
    )
    colour = alt.Color(
        "times:Q",
        scale=alt.Scale(scheme="yelloworangered", domain=[0, 2.5]),
        legend=alt.Legend(title=["times the", "smallest"], values=[0, 1, 2], labelExpr="pow(10, datum.value) + 'x'"),
    )
    text = base.mark_text(fontSize=11).encode(
        text="regret:N", color=alt.condition("datum.times > 1.2", alt.value("white"), alt.value("black"))
    )
    title = f"Regret after {ROUNDS:,} rounds"
    return (base.mark_rect().encode(color=colour) + text).properties(width=520, height=420, title=title)


def write(found: dict[str, dict[str, Measured]]) -> None:
    """Save the numbers, and replace the table and the figure of the page."""
    plain = {policy: {name: vars(measured) for name, measured in of.items()} for policy, of in found.items()}
    RESULTS.write_text(json.dumps(plain, indent=1) + "\n")
    before, _, rest = PAGE.read_text().partition(BEGIN)
    PAGE.write_text(f"{before}{BEGIN}\n{table(found)}\n{END}{rest.partition(END)[2]}")
    save_chart(chart(found), FIGURE)


def main() -> None:
    share = float(sys.argv[1]) if len(sys.argv) > 1 else 1.0
    found = measure(max(2, round(share * RUNS)))
    if share == 1.0:
        write(found)
    else:
        print(table(found))


if __name__ == "__main__":
    main()
