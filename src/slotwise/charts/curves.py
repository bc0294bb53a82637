"""Curves over rounds, one for each policy, with bands and a legend."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from slotwise.charts.common import COLOURS

Row = dict[str, Any]


class CurveStyle(NamedTuple):
    """The column that curves show, the format of its numbers, and the colour and dashes of each curve."""

    column: str
    number_format: str
    palette: dict[str, str]
    dashes: Mapping[str, Sequence[int]] | None = None


def curve_layers(alt: Any, rows: list[Row], x: Any, y: dict[str, Any], style: CurveStyle) -> list[Any]:
    """Draw bands and lines. The legend lists the policies from the highest last value to the lowest."""
    order = sorted(style.palette, key=lambda name: -last_value(rows, name, style.column))
    scale = alt.Scale(domain=order, range=[style.palette[name] for name in order] or COLOURS)
    kind = {"symbolType": "stroke", "symbolStrokeWidth": 3, "symbolSize": 400} if style.dashes else {}
    legend = alt.Legend(symbolOpacity=1, **kind)
    colour = alt.Color("policy:N", sort=order, title=None, scale=scale, legend=legend)
    base = alt.Chart(alt.InlineData(values=rows)).encode(x=x, color=colour)
    band = base.mark_area(opacity=0.2, clip=True).encode(y=alt.Y("low:Q", **y), y2="high:Q")
    line = base.mark_line(strokeWidth=2, clip=True).encode(
        y=alt.Y(f"{style.column}:Q", **y),
        tooltip=[
            alt.Tooltip("policy:N"),
            alt.Tooltip("round:Q", format=","),
            alt.Tooltip(f"{style.column}:Q", format=f",{style.number_format}"),
            alt.Tooltip("error:Q", format=style.number_format, title="standard error"),
        ],
    )
    if style.dashes:
        strokes = alt.Scale(domain=order, range=[list(style.dashes.get(name, [1, 0])) for name in order])
        dash = alt.StrokeDash("policy:N", sort=order, title=None, scale=strokes, legend=legend)
        line = line.encode(strokeDash=dash)
    return [band, line]


def last_value(rows: list[Row], name: str, column: str) -> float:
    """The last value of the curve of a policy."""
    return float([row for row in rows if row["policy"] == name][-1][column])


def make_palette(names: list[str], drawn: list[str], colours: Mapping[str, str] | None) -> dict[str, str]:
    """A colour for each drawn curve: the given colour, or else one chosen by the index of the curve's name."""
    return {name: (colours or {}).get(name, COLOURS[names.index(name) % len(COLOURS)]) for name in drawn}


def cut_off_note(rows: list[Row], drawn: list[str], column: str, top: float) -> list[str]:
    """A note that names the curves that end above the axis, with their last values, or no note if there are none."""
    ends = {name: last_value(rows, name, column) for name in drawn}
    cut_off = [f"{name} ({_format_end(end)} at the end)" for name, end in ends.items() if end > top]
    return [f"above the top of the axis: {', '.join(cut_off)}"] if cut_off else []


def _format_end(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"
