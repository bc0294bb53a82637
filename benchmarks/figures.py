"""`python -m benchmarks.figures`: the figures of the documentation, drawn anew from fresh runs."""

from pathlib import Path

import slotwise as sw
from slotwise.paper.settings import setting

FIGURES = Path(__file__).parent.parent / "docs" / "figures"


def regret() -> None:
    results = [sw.simulate(policy, setting("standard")) for policy in ("pb_mhb", "uniform", "oracle")]
    FIGURES.mkdir(parents=True, exist_ok=True)
    sw.save_chart(sw.regret_chart(results, title="PB-MHB on the standard setting"), FIGURES / "regret.svg")


if __name__ == "__main__":
    regret()
