"""`python -m benchmarks.kappa_alarms`: how often the test of a template raises a false alarm. It takes 8 minutes.

The test says whether the pages of a template have the same kappas. Its law is that of counts whose numbers of views are
given. But pages choose their displays by what they have counted, and pages of a template by what all of them have. So
the visitors of eight pages with the same kappas are simulated as in `benchmarks.template_regret`. The level of the test
is 5 %, and the limit is three standard errors above.
"""

import sys
from pathlib import Path

import numpy as np

from benchmarks.measure import Row, report
from benchmarks.template_regret import CHECKPOINTS, SEED, SHARED, Template, eight_pages, play_together
from slotwise.counts import Counts
from slotwise.inference.template_fits import compare_kappas

RUNS, LEVEL = 200, 0.05
MOST = LEVEL + 3.0 * (LEVEL * (1.0 - LEVEL) / RUNS) ** 0.5


def raises_alarm(name: str, run: int, k: int) -> bool:
    """Whether the test says, after the last round, that the kappas differ."""
    rng = np.random.default_rng([SEED + 1, run, k])
    pages = eight_pages(rng, same=True)
    play_together(pages, Template(pages, SHARED[name], rng) if name in SHARED else None)
    return compare_kappas([Counts.of(page.counts) for page in pages]).differ


def main() -> bool:
    rows = []
    for k, name in enumerate(("alone", *SHARED)):
        alarms = sum(raises_alarm(name, run, k) for run in range(RUNS))
        rows.append(Row(f"{name}: false alarms in {RUNS} runs of {CHECKPOINTS[-1]:,} rounds", alarms / RUNS, "", MOST))
    return report("False alarms of the test of a template", Path(__file__).stem, rows)


if __name__ == "__main__":
    sys.exit(not main())
