"""The distribution of regret over runs: one histogram for each policy."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from slotwise.charts.common import COLOURS, framed, import_altair, log_axis
from slotwise.checks import BadInput, Floats

BINS_PER_DECADE = 12
ROW_HEIGHT = 64
BAR_HEIGHT = 0.85  # of the highest bar, in rows


def spread_chart(finals: Mapping[str, Floats], title: str = "", notes: Sequence[str] = ()) -> Any:
    """The distribution of regret over runs, on a logarithmic axis. `finals` maps names to the regret of each run."""
    alt = import_altair()

    values = np.concatenate(list(finals.values())) if finals else np.zeros(0)
    if not (values > 0).any():
        raise BadInput("no results to draw; at least one run must have a positive regret")
    edges = _edges(float(values[values > 0].min()), float(values.max()))
    names = list(finals)
    rows = [row for k, name in enumerate(names) for row in _bars(name, len(names) - 1 - k, finals[name], edges)]
    medians = [
        {
            "policy": name,
            "base": len(names) - 1 - k,
            "top": len(names) - 1 - k + BAR_HEIGHT,
            "median": float(np.median(finals[name])),
        }
        for k, name in enumerate(names)
    ]
    x = log_axis(alt, edges[0], edges[-1])
    label = f"{names[::-1]!r}[datum.value]"
    y = alt.Y(
        "low:Q",
        title=None,
        scale=alt.Scale(domain=[0, len(names)], nice=False),
        axis=alt.Axis(
            values=list(range(len(names))), labelExpr=label, labelBaseline="bottom", ticks=False, labelLimit=150
        ),
    )
    colour = alt.Color("policy:N", legend=None, scale=alt.Scale(domain=names, range=COLOURS[: len(names)]))
    bars = (
        alt.Chart(alt.InlineData(values=rows))
        .mark_rect(opacity=0.75)
        .encode(
            x=alt.X("from:Q", title="regret at the last round (clicks lost)", **x),
            x2="to:Q",
            y=y,
            y2="high:Q",
            color=colour,
            tooltip=["policy:N", "runs:Q", alt.Tooltip("from:Q", format=",.0f"), alt.Tooltip("to:Q", format=",.0f")],
        )
    )
    median_lines = (
        alt.Chart(alt.InlineData(values=medians))
        .mark_rule(strokeWidth=2, strokeDash=[3, 2], color="#888")
        .encode(
            x=alt.X("median:Q", scale=x["scale"]),
            y=alt.Y("base:Q"),
            y2="top:Q",
            tooltip=["policy:N", alt.Tooltip("median:Q", format=",.1f")],
        )
    )
    all_notes = [*notes, "share of runs, each histogram on its own scale; dashed: the median"]
    return framed(alt, [bars, median_lines], title or "Regret of each run", all_notes, ROW_HEIGHT * len(names))


def _edges(low: float, high: float) -> list[float]:
    first = math.floor(BINS_PER_DECADE * math.log10(low))
    last = math.floor(BINS_PER_DECADE * math.log10(high)) + 1
    return [10 ** (k / BINS_PER_DECADE) for k in range(first, last + 1)]


def _bars(name: str, base: int, values: Floats, edges: list[float]) -> list[dict[str, Any]]:
    counts, _ = np.histogram(values, edges)
    unit = BAR_HEIGHT / max(int(counts.max()), 1)
    return [
        {"policy": name, "from": low, "to": high, "low": base, "high": base + unit * int(n), "runs": int(n)}
        for low, high, n in zip(edges[:-1], edges[1:], counts, strict=True)
        if n
    ]
