"""A chart that shows how a setting was chosen: regret against the values of the setting."""

from collections.abc import Sequence
from typing import Any

from slotwise.charts.common import COLOURS, framed, import_altair, log_axis_around


def choice_chart(rows: Sequence[dict[str, Any]], title: str, notes: Sequence[str] = ()) -> Any:
    """Regret against c for each setting, with the chosen c circled.

    Rows: setting, c, regret, standard_error, chosen.
    """
    alt = import_altair()

    points = [
        row
        | {"low": max(row["regret"] - row["standard_error"], row["regret"] / 10)}
        | {"high": row["regret"] + row["standard_error"]}
        for row in rows
    ]
    x = alt.X("c:Q", title="c", **log_axis_around(alt, [row["c"] for row in rows], 1.5))
    ends = [row[end] for row in points for end in ("low", "high")]
    y = {"title": "regret at the last round", **log_axis_around(alt, ends, 1.1)}
    settings = list(dict.fromkeys(row["setting"] for row in rows))
    scale = alt.Scale(domain=settings, range=COLOURS[: len(settings)])
    colour = alt.Color("setting:N", title=None, scale=scale, legend=alt.Legend(symbolOpacity=1))
    base = alt.Chart(alt.InlineData(values=points)).encode(x=x, color=colour)
    tooltip = ["setting:N", alt.Tooltip("c:Q"), alt.Tooltip("regret:Q", format=",.1f")]
    layers = [
        base.mark_area(opacity=0.2).encode(y=alt.Y("low:Q", **y), y2="high:Q"),
        base.mark_line(strokeWidth=2).encode(y=alt.Y("regret:Q", **y)),
        base.mark_point(size=50, filled=True, opacity=1).encode(y=alt.Y("regret:Q", **y), tooltip=tooltip),
        base.mark_point(size=260, filled=False, strokeWidth=2.5, opacity=1)
        .encode(y=alt.Y("regret:Q", **y))
        .transform_filter("datum.chosen"),
    ]
    return framed(alt, layers, title, [*notes, "bands: one standard error; circled: the chosen c"])
