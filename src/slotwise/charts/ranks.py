"""Rank plots, which show whether the chains of a sampler agree."""

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from slotwise.charts.common import COLOURS, import_altair, title_with_notes
from slotwise.checks import BadInput

if TYPE_CHECKING:
    from slotwise.inference.sampling.diagnosis import Diagnosis

RANK_BINS = 20


def rank_chart(diagnosis: "Diagnosis", most: int = 12, title: str = "") -> Any:
    """Rank plots of up to `most` variables: those with the smallest effective sample sizes.

    The draws of each chain are ranked among the draws of all chains. If the chains agree, every chain has the same
    share of draws in each bin of ranks, and its line stays at 1.
    """
    alt = import_altair()

    ess = np.where(np.isfinite(diagnosis.ess), diagnosis.ess, np.inf)
    chosen = sorted(np.argsort(ess)[:most].tolist())
    chosen = [variable for variable in chosen if np.isfinite(ess[variable])]
    if not chosen:
        raise BadInput("no variable has an effective sample size, so there is nothing to draw")
    rows = [row for variable in chosen for row in _rank_rows(diagnosis, variable)]
    base = alt.Chart(alt.InlineData(values=rows)).properties(width=170, height=90)
    line = base.mark_line(interpolate="step-after", strokeWidth=1.5).encode(
        x=alt.X("rank:Q", title="rank", axis=alt.Axis(format="%", values=[0, 0.5, 1]), scale=alt.Scale(domain=[0, 1])),
        y=alt.Y("share:Q", title="draws / expected", scale=alt.Scale(domainMin=0)),
        color=alt.Color("chain:N", scale=alt.Scale(range=COLOURS)),
    )
    names = [diagnosis.names[variable] for variable in chosen]
    per_bin = diagnosis.draws.shape[1] / RANK_BINS
    notes = [
        f"{diagnosis.sampler}: {len(diagnosis.draws)} chains of {diagnosis.draws.shape[1]:,} draws; "
        f"smallest effective sample size {diagnosis.ess[diagnosis.worst]:,.0f}",
        f"chains that agree stay near 1; the standard deviation for independent draws is {1 / math.sqrt(per_bin):.2f}",
    ]
    heading = title_with_notes(alt, title or "Ranks of each chain's draws", notes)
    facet = alt.Facet("variable:N", sort=names, title=None, header=alt.Header(labelFontWeight="bold"))
    return line.facet(facet, columns=4).properties(title=heading).configure_view(stroke=None)


def _rank_rows(diagnosis: "Diagnosis", variable: int) -> list[dict[str, Any]]:
    """The share of each chain's draws in each bin of ranks, divided by the share that chains have when they agree."""
    ranks = diagnosis.ranks[:, :, variable]
    n_draws = ranks.shape[1]
    rows = []
    for chain, chain_ranks in enumerate(ranks):
        counts, _ = np.histogram(chain_ranks, bins=RANK_BINS, range=(0.5, ranks.size + 0.5))
        shares = (counts * RANK_BINS / n_draws).tolist()
        rows += [
            {"variable": diagnosis.names[variable], "chain": chain + 1, "rank": k / RANK_BINS, "share": share}
            for k, share in enumerate([*shares, shares[-1]])  # the last step ends at 1
        ]
    return rows
