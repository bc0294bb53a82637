"""A learning curve: regret per round over the rounds."""

from collections.abc import Sequence
from typing import Any

from slotwise.charts.common import COLOURS, framed, import_altair
from slotwise.checks import BadInput


def learning_chart(
    points: Sequence[tuple[int, float]], at_random: float, title: str = "", notes: Sequence[str] = ()
) -> Any:
    """Regret per round, with the regret of random displays as a dashed line.

    A point is a round and the mean regret per round since the previous point.
    """
    alt = import_altair()

    if not points:
        raise BadInput("no rounds to draw; give at least one point")
    rows = [{"round": number, "regret": regret} for number, regret in [(0, points[0][1]), *points]]
    axis = alt.Axis(gridOpacity=0.6, tickCount=6)
    x = alt.X("round:Q", title="round", scale=alt.Scale(domain=[0, rows[-1]["round"]], nice=False), axis=axis)
    y = alt.Y("regret:Q", title="clicks lost per round", scale=alt.Scale(zero=True), axis=axis)
    base = alt.Chart(alt.InlineData(values=rows)).encode(x=x, y=y)
    tooltip = [alt.Tooltip("round:Q", format=","), alt.Tooltip("regret:Q", format=".4f")]
    area = base.mark_area(opacity=0.2, color=COLOURS[0], interpolate="step-before")
    line = base.mark_line(strokeWidth=2, color=COLOURS[0], interpolate="step-before").encode(tooltip=tooltip)
    level = alt.Chart(alt.InlineData(values=[{"regret": at_random, "label": "random displays"}])).encode(y=y)
    rule = level.mark_rule(strokeDash=[6, 4], color="#666")
    label = level.mark_text(align="right", dy=-7, color="#666").encode(x=alt.value("width"), text="label:N")
    return framed(alt, [area, line, rule, label], title or "Learning curve", notes)
