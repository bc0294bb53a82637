"""Rank plots, which show whether the chains of a sampler agree."""

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from slotwise.charts.common import COLOURS, import_altair, title_with_notes
from slotwise.checks import BadInput

if TYPE_CHECKING:
    from slotwise.inference.sampling.diagnosis import Diagnosis

RANK_BINS = 20
COLUMNS = 4
ALMOST_ALL = 0.9  # the ranks of a variable with this share of equal draws say nothing about its chains


def rank_chart(diagnosis: "Diagnosis", most: int = 12, title: str = "") -> Any:
    """Rank plots of up to `most` variables: those with the smallest effective sample sizes.

    The draws of each chain are ranked among the draws of all chains. If the chains agree, every chain has the same
    share of draws in each bin of ranks, and its line stays at 1. Equal draws share their ranks evenly. A variable whose
    draws are almost all equal is left out, and a note names it.
    """
    alt = import_altair()

    ess = np.where(np.isfinite(diagnosis.ess), diagnosis.ess, np.inf)
    varying = [variable for variable in np.argsort(ess, kind="stable").tolist() if np.isfinite(ess[variable])]
    if not varying:
        raise BadInput("no variable has an effective sample size, so there is nothing to draw")
    constant = [variable for variable in varying if _equal_share(diagnosis, variable) >= ALMOST_ALL]
    chosen = sorted([variable for variable in varying if variable not in constant][:most])
    if not chosen:
        raise BadInput("the draws of every variable are almost all equal, so there is nothing to draw")
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
        *_constant_note([diagnosis.names[variable] for variable in sorted(constant)]),
    ]
    heading = title_with_notes(alt, title or "Ranks of each chain's draws", notes)
    facet = alt.Facet("variable:N", sort=names, title=None, header=alt.Header(labelFontWeight="bold"))
    panels = line.facet(facet, columns=min(COLUMNS, len(chosen)))
    # a shared axis would also be drawn below the empty places of the last row
    return panels.resolve_axis(x="independent").properties(title=heading).configure_view(stroke=None)


def _equal_share(diagnosis: "Diagnosis", variable: int) -> float:
    """The share of the most frequent value among the draws of all chains."""
    _, counts = np.unique(diagnosis.draws[:, :, variable], return_counts=True)
    return float(counts.max() / counts.sum())


def _constant_note(names: list[str]) -> list[str]:
    if not names:
        return []
    shown = ", ".join(names[:COLUMNS]) + (f" and {len(names) - COLUMNS} more" if len(names) > COLUMNS else "")
    return [f"not drawn, because at least {ALMOST_ALL:.0%} of the draws are equal: {shown}"]


def _rank_rows(diagnosis: "Diagnosis", variable: int) -> list[dict[str, Any]]:
    """The share of each chain's draws in each bin of ranks, divided by the share that chains have when they agree."""
    ranks = diagnosis.ranks[:, :, variable]
    n_draws = ranks.shape[1]
    values, which = np.unique(ranks, return_inverse=True)
    counts = [np.bincount(of_chain, minlength=len(values)) for of_chain in which.reshape(ranks.shape)]
    # equal draws have one value of `ranks`, and cover as many ranks as there are of them
    ends = np.cumsum([0, *np.sum(counts, axis=0)])
    edges = np.linspace(0, ranks.size, RANK_BINS + 1)
    rows = []
    for chain, of_chain in enumerate(counts):
        below = np.interp(edges, ends, np.cumsum([0, *of_chain]))
        shares = (np.diff(below) * RANK_BINS / n_draws).tolist()
        rows += [
            {"variable": diagnosis.names[variable], "chain": chain + 1, "rank": k / RANK_BINS, "share": share}
            for k, share in enumerate([*shares, shares[-1]])  # the last step ends at 1
        ]
    return rows
