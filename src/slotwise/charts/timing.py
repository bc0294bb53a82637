"""Charts of measured times: per recommendation for each policy, and per round against the number of steps."""

from collections.abc import Sequence
from typing import Any

from slotwise.charts.common import COLOURS, HEIGHT, framed, import_altair, log_axis_around

Rows = Sequence[dict[str, Any]]


def time_chart(rows: Rows, title: str, notes: Sequence[str] = ()) -> Any:
    """Milliseconds per recommendation, here and in the paper. Rows: policy, milliseconds, paper_milliseconds."""
    alt = import_altair()

    points = [
        {"policy": row["policy"], "source": source, "milliseconds": row[column]}
        for row in rows
        for source, column in (("slotwise", "milliseconds"), ("the paper", "paper_milliseconds"))
        if row[column] is not None
    ]
    times = [point["milliseconds"] for point in points]
    x = alt.X("milliseconds:Q", title="ms per recommendation", **log_axis_around(alt, times, 1.5))
    policies = [row["policy"] for row in rows]
    y = alt.Y("policy:N", title=None, sort=policies, axis=alt.Axis(grid=True, gridOpacity=0.4, labelLimit=150))
    tooltip = ["policy:N", "source:N", alt.Tooltip("milliseconds:Q", format=".2~g")]
    layer = _points(alt, points, "source", ["slotwise", "the paper"], {"size": 110, "opacity": 1})
    return framed(alt, [layer.encode(x=x, y=y, tooltip=tooltip)], title, notes, height=36 * len(policies))


def growth_chart(rows: Rows, title: str, notes: Sequence[str] = ()) -> Any:
    """Time per round against random-walk steps. Rows: items, positions, sweeps, steps, milliseconds."""
    alt = import_altair()

    points = [row | {"microseconds": 1e3 * row["milliseconds"], "kind": f"L = {row['positions']}"} for row in rows]
    steps, times = ([row[column] for row in points] for column in ("steps", "microseconds"))
    x = alt.X("steps:Q", title="steps per round, m(N + L - 1)", **log_axis_around(alt, steps, 1.2))
    y = alt.Y("microseconds:Q", title="µs per round", **log_axis_around(alt, times, 1.2))
    kinds = list(dict.fromkeys(row["kind"] for row in points))
    tooltip = ["items:Q", "positions:Q", "sweeps:Q", "steps:Q", alt.Tooltip("microseconds:Q", format=".3~g")]
    layer = _points(alt, points, "kind", kinds, {"size": 70, "opacity": 0.9})
    return framed(alt, [layer.encode(x=x, y=y, tooltip=tooltip)], title, notes, height=HEIGHT)


def _points(alt: Any, rows: Rows, column: str, kinds: Sequence[str], style: dict[str, float]) -> Any:
    """Filled points, with one colour and shape for each value of `column`."""
    colours = alt.Scale(domain=kinds, range=COLOURS[: len(kinds)])
    return (
        alt.Chart(alt.InlineData(values=rows))
        .mark_point(filled=True, **style)
        .encode(
            color=alt.Color(f"{column}:N", title=None, scale=colours),
            shape=alt.Shape(f"{column}:N", title=None, scale=alt.Scale(domain=kinds)),
        )
    )
