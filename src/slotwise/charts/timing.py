"""Small charts of what was measured: the choice of a setting, times, and how time grows."""

from collections.abc import Sequence
from typing import Any

from slotwise.charts.axes import COLOURS, HEIGHT, WIDTH, log_axis, titled

Rows = Sequence[dict[str, Any]]


def choice_chart(rows: Rows, title: str, notes: Sequence[str] = ()) -> Any:
    """Regret against c for each setting, the chosen c marked. Rows: setting, c, regret, standard_error, chosen."""
    import altair as alt

    points = [
        row
        | {"low": max(row["regret"] - row["standard_error"], row["regret"] / 10)}
        | {"high": row["regret"] + row["standard_error"]}
        for row in rows
    ]
    tried = [row["c"] for row in rows]
    x = alt.X("c:Q", title="c", **log_axis(alt, min(tried) / 1.5, max(tried) * 1.5))
    span = log_axis(alt, min(row["low"] for row in points) / 1.1, max(row["high"] for row in points) * 1.1)
    y = {"title": "regret at the last round", **span}
    settings = list(dict.fromkeys(row["setting"] for row in rows))
    scale = alt.Scale(domain=settings, range=COLOURS[: len(settings)])
    colour = alt.Color("setting:N", title=None, scale=scale, legend=alt.Legend(symbolOpacity=1))
    base = alt.Chart(alt.InlineData(values=points)).encode(x=x, color=colour)
    tips = ["setting:N", alt.Tooltip("c:Q"), alt.Tooltip("regret:Q", format=",.1f")]
    layers = [
        base.mark_area(opacity=0.2).encode(y=alt.Y("low:Q", **y), y2="high:Q"),
        base.mark_line(strokeWidth=2).encode(y=alt.Y("regret:Q", **y)),
        base.mark_point(size=50, filled=True, opacity=1).encode(y=alt.Y("regret:Q", **y), tooltip=tips),
        base.mark_point(size=260, filled=False, strokeWidth=2.5, opacity=1)
        .encode(y=alt.Y("regret:Q", **y))
        .transform_filter("datum.chosen"),
    ]
    heading = titled(alt, title, [*notes, "bands of one standard error; circled: the c that was chosen"])
    chart = alt.layer(*layers).properties(width=WIDTH, height=HEIGHT, title=heading)
    return chart.configure_view(stroke=None)


def time_chart(rows: Rows, title: str, notes: Sequence[str] = ()) -> Any:
    """Milliseconds per recommendation, ours and the paper's. Rows: policy, milliseconds, paper_milliseconds."""
    import altair as alt

    both = [
        {"policy": row["policy"], "whose": whose, "milliseconds": row[column]}
        for row in rows
        for whose, column in (("slotwise", "milliseconds"), ("the paper", "paper_milliseconds"))
        if row[column] is not None
    ]
    low, high = (pick(point["milliseconds"] for point in both) for pick in (min, max))
    x = alt.X("milliseconds:Q", title="ms per recommendation", **log_axis(alt, low / 1.5, high * 1.5))
    names = [row["policy"] for row in rows]
    y = alt.Y("policy:N", title=None, sort=names, axis=alt.Axis(grid=True, gridOpacity=0.4, labelLimit=150))
    scale = alt.Scale(domain=["slotwise", "the paper"], range=COLOURS[:2])
    points = (
        alt.Chart(alt.InlineData(values=both))
        .mark_point(size=110, filled=True, opacity=1)
        .encode(
            x=x,
            y=y,
            color=alt.Color("whose:N", title=None, scale=scale),
            shape=alt.Shape("whose:N", title=None, scale=alt.Scale(domain=["slotwise", "the paper"])),
            tooltip=["policy:N", "whose:N", alt.Tooltip("milliseconds:Q", format=".2~g")],
        )
    )
    heading = titled(alt, title, list(notes))
    chart = alt.layer(points).properties(width=WIDTH, height=36 * len(names), title=heading)
    return chart.configure_view(stroke=None)


def growth_chart(rows: Rows, title: str, notes: Sequence[str] = ()) -> Any:
    """Time per round against random-walk steps. Rows: items, positions, sweeps, steps, milliseconds."""
    import altair as alt

    points = [row | {"microseconds": 1e3 * row["milliseconds"], "kind": f"L = {row['positions']}"} for row in rows]
    steps = [row["steps"] for row in points]
    low, high = (pick(row["microseconds"] for row in points) for pick in (min, max))
    x = alt.X("steps:Q", title="steps per round, m(N + L - 1)", **log_axis(alt, min(steps) / 1.2, max(steps) * 1.2))
    y = alt.Y("microseconds:Q", title="µs per round", **log_axis(alt, low / 1.2, high * 1.2))
    kinds = list(dict.fromkeys(row["kind"] for row in points))
    columns = ["items:Q", "positions:Q", "sweeps:Q", "steps:Q", alt.Tooltip("microseconds:Q", format=".3~g")]
    dots = (
        alt.Chart(alt.InlineData(values=points))
        .mark_point(size=70, filled=True, opacity=0.9)
        .encode(
            x=x,
            y=y,
            color=alt.Color("kind:N", title=None, scale=alt.Scale(domain=kinds, range=COLOURS[: len(kinds)])),
            shape=alt.Shape("kind:N", title=None, scale=alt.Scale(domain=kinds)),
            tooltip=columns,
        )
    )
    chart = alt.layer(dots).properties(width=WIDTH, height=HEIGHT, title=titled(alt, title, list(notes)))
    return chart.configure_view(stroke=None)
