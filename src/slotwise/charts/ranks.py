"""Rank plots: whether the chains of a sampler agree."""

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from slotwise.charts.axes import COLOURS
from slotwise.checks import BadInput

if TYPE_CHECKING:
    from slotwise.inference.sampling.diagnosis import Diagnosis

RANK_BINS = 20


def rank_chart(diagnosis: "Diagnosis", most: int = 12, title: str = "") -> Any:
    """Rank plots of the variables with the fewest effective samples, at most `most` of them.

    Each chain's draws are ranked among those of all chains. When the chains agree, every chain has as many draws in
    each part of the ranks, and its line stays at 1.
    """
    import altair as alt

    worth = np.where(np.isfinite(diagnosis.ess), diagnosis.ess, np.inf)
    chosen = sorted(np.argsort(worth)[:most].tolist())
    chosen = [variable for variable in chosen if np.isfinite(worth[variable])]
    if not chosen:
        raise BadInput("no variable moves, so there is nothing to draw")
    rows = [row for variable in chosen for row in _rank_rows(diagnosis, variable)]
    base = alt.Chart(alt.InlineData(values=rows)).properties(width=170, height=90)
    line = base.mark_line(interpolate="step-after", strokeWidth=1.5).encode(
        x=alt.X("rank:Q", title="rank", axis=alt.Axis(format="%", values=[0, 0.5, 1]), scale=alt.Scale(domain=[0, 1])),
        y=alt.Y("share:Q", title="draws / expected", scale=alt.Scale(domainMin=0)),
        color=alt.Color("chain:N", scale=alt.Scale(range=COLOURS)),
    )
    names = [diagnosis.names[variable] for variable in chosen]
    noise = diagnosis.draws.shape[1] / RANK_BINS
    notes = [
        f"{diagnosis.sampler}: {len(diagnosis.draws)} chains of {diagnosis.draws.shape[1]:,} draws; "
        f"worst variable worth {diagnosis.ess[diagnosis.worst]:,.0f} independent ones",
        f"chains that agree stay at 1; independent draws would scatter by {1 / math.sqrt(noise):.2f}",
    ]
    heading = alt.TitleParams(title or "Ranks of each chain's draws", subtitle=notes, anchor="start")
    facet = alt.Facet("variable:N", sort=names, title=None, header=alt.Header(labelFontWeight="bold"))
    return line.facet(facet, columns=4).properties(title=heading).configure_view(stroke=None)


def _rank_rows(diagnosis: "Diagnosis", variable: int) -> list[dict[str, Any]]:
    """The share of each chain's draws in each bin of the ranks, 1 being what chains that agree have."""
    ranks = diagnosis.ranks[:, :, variable]
    each = ranks.shape[1]
    rows = []
    for chain, own in enumerate(ranks):
        counted, _ = np.histogram(own, bins=RANK_BINS, range=(0.5, ranks.size + 0.5))
        shares = (counted * RANK_BINS / each).tolist()
        rows += [
            {"variable": diagnosis.names[variable], "chain": chain + 1, "rank": k / RANK_BINS, "share": share}
            for k, share in enumerate([*shares, shares[-1]])  # the last step ends at 1
        ]
    return rows
