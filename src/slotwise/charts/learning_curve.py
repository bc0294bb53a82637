"""A learning curve: regret per round as rounds go by."""

from collections.abc import Sequence
from typing import Any

from slotwise.charts.axes import COLOURS, HEIGHT, WIDTH, titled
from slotwise.checks import BadInput


def learning_chart(
    points: Sequence[tuple[int, float]], at_random: float, title: str = "", notes: Sequence[str] = ()
) -> Any:
    """Regret per round, (round, mean since the point before) by point, next to that of displays at random, dashed."""
    import altair as alt

    if not points:
        raise BadInput("no rounds to draw; at least one is needed")
    rows = [{"round": number, "regret": regret} for number, regret in [(0, points[0][1]), *points]]
    faint = alt.Axis(gridOpacity=0.6, tickCount=6)
    x = alt.X("round:Q", title="round", scale=alt.Scale(domain=[0, rows[-1]["round"]], nice=False), axis=faint)
    y = alt.Y("regret:Q", title="clicks lost per round", scale=alt.Scale(zero=True), axis=faint)
    base = alt.Chart(alt.InlineData(values=rows)).encode(x=x, y=y)
    tips = [alt.Tooltip("round:Q", format=","), alt.Tooltip("regret:Q", format=".4f")]
    area = base.mark_area(opacity=0.2, color=COLOURS[0], interpolate="step-before")
    line = base.mark_line(strokeWidth=2, color=COLOURS[0], interpolate="step-before").encode(tooltip=tips)
    level = alt.Chart(alt.InlineData(values=[{"regret": at_random, "said": "displays at random"}])).encode(y=y)
    rule = level.mark_rule(strokeDash=[6, 4], color="#666")
    words = level.mark_text(align="right", dy=-7, color="#666").encode(x=alt.value(WIDTH), text="said:N")
    heading = titled(alt, title or "Learning curve", list(notes))
    chart = alt.layer(area, line, rule, words).properties(width=WIDTH, height=HEIGHT, title=heading)
    return chart.configure_view(stroke=None)
