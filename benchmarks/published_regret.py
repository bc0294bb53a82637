"""`python -m benchmarks.published_regret`: regret on the settings of other papers, for docs/published_regret.md.

A setting is the paper's own, or one on which the authors' code was run. What others measured is part of the data below.
"""

import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

import slotwise as sw
from slotwise.clickmodels._click_model import ClickModel
from slotwise.paper.named_click_models import setting

ROOT = Path(__file__).parent.parent
PAGE = ROOT / "docs" / "published_regret.md"
RESULTS = Path(__file__).parent / "results" / "published_regret.json"
BEGIN, END = "<!-- begin of the measured table -->", "<!-- end of the measured table -->"
SEED = 80_001


class Published(NamedTuple):
    """A policy on a setting, with the regret that others measured and where it is from."""

    policy: str
    setting: str
    visitors: ClickModel
    rounds: int
    runs: int
    theirs: str
    source: str
    params: Mapping[str, Any] = MappingProxyType({})


def cascade(positions: int) -> ClickModel:
    """The setting of "Cascading Bandits": as many attractive items as positions."""
    return sw.Cascade([0.2] * positions + [0.05] * (16 - positions), positions)


def rank1(size: int) -> ClickModel:
    """A setting of "Stochastic Rank-1 Bandits": one row and one column are better by 0.2."""
    return sw.Rank1([0.9] + [0.7] * (size - 1), [0.9] + [0.7] * (size - 1))


MEMORY = "the paper's table, quoted from memory"
CODE = "the authors' code, 5 to 10 runs"
PUBLISHED: Sequence[Published] = [
    *(
        Published(policy, f"16 items, {k} positions", cascade(k), 100_000, 20, theirs, MEMORY)
        for policy, published in (
            ("cascade_ucb1", {2: "about 1,290", 4: "about 987", 8: "about 575"}),
            ("cascade_kl_ucb", {2: "about 358", 4: "about 275", 8: "about 149"}),
        )
        for k, theirs in published.items()
    ),
    *(
        Published(policy, name, setting(name), 10_000, 100, theirs, CODE, params)
        for policy, params, published in (
            ("grab", {}, {"standard": "213", "near-zero": "170", "near-one": "486"}),
            ("top_rank", {"horizon": 10_000}, {"standard": "408", "near-zero": "324", "near-one": "1,377"}),
        )
        for name, theirs in published.items()
    ),
    Published(
        "rank1_elim", "8 items, 8 positions", rank1(8), 2_000_000, 20, "about 17,500", MEMORY, {"horizon": 2_000_000}
    ),
]


def measure(share: float) -> list[dict[str, float | str]]:
    found: list[dict[str, float | str]] = []
    for each in PUBLISHED:
        runs = max(2, round(share * each.runs))
        result = sw.simulate(
            each.policy, each.visitors, rounds=each.rounds, runs=runs, seed=SEED, params=dict(each.params)
        )
        regret, error = float(result.mean()[-1]), float(result.standard_error()[-1])
        found.append({"policy": each.policy, "setting": each.setting, "runs": runs, "regret": regret, "error": error})
        print(f"{each.policy}, {each.setting}: {regret:,.0f} +- {error:,.0f}, others {each.theirs}", flush=True)
    return found


def table(found: Sequence[dict[str, float | str]]) -> str:
    lines = ["| policy | setting | rounds | slotwise | others | source |", "| --- | --- | --- | --- | --- | --- |"]
    for each, ours in zip(PUBLISHED, found, strict=True):
        link = f"[{each.policy}](policies/{each.policy}.md)"
        regret = f"{ours['regret']:,.0f} ± {ours['error']:,.0f}"
        lines.append(f"| {link} | {each.setting} | {each.rounds:,} | {regret} | {each.theirs} | {each.source} |")
    return "\n".join(lines)


def main() -> None:
    share = float(sys.argv[1]) if len(sys.argv) > 1 else 1.0
    found = measure(share)
    if share == 1.0:
        RESULTS.write_text(json.dumps(found, indent=1) + "\n")
        before, _, rest = PAGE.read_text().partition(BEGIN)
        PAGE.write_text(f"{before}{BEGIN}\n{table(found)}\n{END}{rest.partition(END)[2]}")


if __name__ == "__main__":
    main()
