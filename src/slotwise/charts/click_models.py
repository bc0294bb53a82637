"""Charts of a comparison of click models: how far each is behind the best, and its perplexity at each position."""

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from slotwise.charts.common import COLOURS, import_altair, title_with_notes
from slotwise.checks import BadInput
from slotwise.inference.click_model_comparison import CLEAR, ClickModelComparison
from slotwise.inference.click_models import compared_models
from slotwise.inference.fit_files import fit_list
from slotwise.inference.query_fit import QueryFit

MAX_QUERIES = 6  # that have their own row of panels
WIDTH, HEIGHT = 300, 150
Row = dict[str, Any]


def click_model_chart(fits: QueryFit | Iterable[QueryFit], title: str = "") -> Any:
    """For each query: how far the click models are behind the best one, and their perplexity at each position.

    The fits must be those of `fit_queries` with `clicks`. Up to 6 queries are drawn.

    >>> import slotwise as sw
    >>> rows = [[0, 1], [1, 0]] * 50
    >>> hats = sw.make_sessions("hats", ["felt", "straw"], ["1", "2"], rows, [[1, 0], [0, 0]] * 50)
    >>> sw.save_chart(click_model_chart(sw.fit_queries([hats], clicks="auto")), "clicks.json")
    """
    alt = import_altair()

    compared = [(fit, fit.comparison) for fit in fit_list(fits) if fit.comparison and fit.comparison.scores]
    if not compared:
        raise BadInput("no comparison of click models to draw; fit_queries with clicks='auto' makes them")
    rows = [
        alt.hconcat(_distances(alt, comparison), _perplexities(alt, fit, comparison), spacing=40).properties(
            title=alt.TitleParams(f"{fit.name}: {_short_verdict(comparison)}", anchor="start", fontSize=11)
        )
        for fit, comparison in compared[:MAX_QUERIES]
        if comparison is not None
    ]
    notes = [
        "on sessions that the models were not fitted to",
        "bars: two standard errors, of the distance at the left and of the chosen model's perplexity at the right",
    ]
    if len(compared) > MAX_QUERIES:
        notes.append(f"the first {MAX_QUERIES} of {len(compared):,} queries")
    heading = title_with_notes(alt, title or "Click models", notes)
    heading.offset = 12
    return alt.vconcat(*rows, spacing=24).properties(title=heading).configure_view(stroke=None)


def _short_verdict(comparison: ClickModelComparison) -> str:
    return comparison.chosen if comparison.sure else f"cannot tell {' from '.join(comparison.tied)}"


def _colour(alt: Any, legend: bool) -> Any:
    names = compared_models()
    scale = alt.Scale(domain=names, range=COLOURS[: len(names)])
    return alt.Color("model:N", title=None, scale=scale, legend=alt.Legend() if legend else None)


def _distances(alt: Any, comparison: ClickModelComparison) -> Any:
    """How much less likely each model finds a session than the best model does."""
    rows: list[Row] = []
    for score in comparison.scores:
        reach = CLEAR * score.behind_error
        finite = np.isfinite(score.behind)
        rows.append(
            {
                "model": score.model,
                "behind": score.behind if finite else None,
                "low": score.behind - reach if finite else None,
                "high": score.behind + reach if finite else None,
                "note": "" if finite else f"impossible: {score.impossible:,.0f} sessions",
            }
        )
    base = alt.Chart(alt.InlineData(values=rows)).encode(
        y=alt.Y("model:N", sort=[row["model"] for row in rows], title=None, axis=alt.Axis(ticks=False, domain=False)),
        color=_colour(alt, legend=False),
    )
    x = {"title": "log-likelihood of a session behind the best", "axis": alt.Axis(tickCount=5)}
    tooltip = ["model:N", alt.Tooltip("behind:Q", format=".4~g"), "note:N"]
    rule = base.mark_rule(strokeWidth=2, opacity=0.5).encode(x=alt.X("low:Q", **x), x2="high:Q")
    point = base.mark_point(size=60, filled=True, opacity=1).encode(x=alt.X("behind:Q", **x), tooltip=tooltip)
    text = base.mark_text(align="left", dx=6, fontSize=10).encode(x=alt.value(0), text="note:N")
    return alt.layer(rule, point, text).properties(width=WIDTH, height=HEIGHT)


def _perplexities(alt: Any, fit: QueryFit, comparison: ClickModelComparison) -> Any:
    rows = [
        {"model": score.model, "position": name, "perplexity": value, "low": value - reach, "high": value + reach}
        for score in reversed(comparison.scores)  # the best is drawn last, on top of the others
        for name, value, reach in _finite(fit.positions, score.perplexity, score.perplexity_error)
    ]
    x = alt.X("position:O", sort=fit.positions, title="position", axis=alt.Axis(labelAngle=0, labelLimit=90))
    y = {"title": "click perplexity", "scale": alt.Scale(zero=False)}
    base = alt.Chart(alt.InlineData(values=rows)).encode(x=x, color=_colour(alt, legend=True))
    tooltip = ["model:N", "position:O", alt.Tooltip("perplexity:Q", format=".4~f")]
    chosen = [row for row in rows if row["model"] == comparison.chosen]
    rule = alt.Chart(alt.InlineData(values=chosen)).mark_rule(strokeWidth=5, color="#ccc")
    rule = rule.encode(x=x, y=alt.Y("low:Q", **y), y2="high:Q")
    line = base.mark_line(strokeWidth=2, point=alt.OverlayMarkDef(size=40)).encode(
        y=alt.Y("perplexity:Q", **y), tooltip=tooltip
    )
    return alt.layer(rule, line).properties(width=WIDTH, height=HEIGHT)


def _finite(names: Sequence[str], values: Sequence[float], errors: Sequence[float]) -> list[tuple[str, float, float]]:
    return [
        (name, value, CLEAR * error if np.isfinite(error) else 0.0)
        for name, value, error in zip(names, values, errors, strict=True)
        if np.isfinite(value)
    ]
