"""Every picture, as Altair charts: one grammar for image files and for interactive pages."""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from slotwise.checks import BadInput
from slotwise.files import write_whole
from slotwise.simulation.result import Result

SUFFIXES = (".svg", ".png", ".pdf", ".html", ".json")
PNG_SCALE = 2.0
# Okabe and Ito's palette, which colour-blind readers can tell apart, without its yellow (too pale on white)
COLOURS = ["#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00", "#000000"]


def regret_chart(results: Sequence[Result], labels: Sequence[str] | None = None, title: str = "") -> Any:
    """Mean cumulative regret against rounds, both on logarithmic axes, with bands of one standard error."""
    import altair as alt  # a third of a second to load: only when there is something to draw

    if not results:
        raise BadInput("no results to draw; at least one is needed")
    names = list(labels or [result.policy for result in results])
    rows = [row for name, result in zip(names, results, strict=True) for row in _rows(name, result)]
    flat = [name for name in names if not any(row["policy"] == name for row in rows)]
    notes = [_runs_note(results)] + [f"{', '.join(flat)}: no regret at all, so not on a logarithmic axis"] * bool(flat)
    drawn = [name for name in names if name not in flat]
    base = alt.Chart(alt.InlineData(values=rows)).encode(
        x=alt.X("round:Q", scale=alt.Scale(type="log", nice=False), title="round", axis=_log_axis(alt)),
        color=alt.Color(
            "policy:N", sort=drawn, title=None, scale=alt.Scale(domain=drawn, range=COLOURS[: len(drawn)] or COLOURS)
        ),
    )
    regret = {
        "scale": alt.Scale(type="log", nice=False),
        "title": "cumulative regret (clicks lost)",
        "axis": _log_axis(alt),
    }
    band = base.mark_area(opacity=0.2).encode(y=alt.Y("low:Q", **regret), y2="high:Q")
    line = base.mark_line(strokeWidth=2).encode(
        y=alt.Y("regret:Q", **regret),
        tooltip=[
            alt.Tooltip("policy:N"),
            alt.Tooltip("round:Q", format=","),
            alt.Tooltip("regret:Q", format=",.1f"),
            alt.Tooltip("error:Q", format=".1f", title="standard error"),
        ],
    )
    return (
        alt.layer(band, line)
        .properties(
            width=560, height=340, title=alt.TitleParams(title or "Cumulative regret", subtitle=notes, anchor="start")
        )
        .configure_view(stroke=None)
    )


def save_chart(chart: Any, path: str | os.PathLike[str]) -> None:
    """Write the chart as SVG, PNG, PDF, a self-contained HTML page or Vega-Lite JSON, by the file's suffix."""
    import vl_convert

    suffix = Path(path).suffix.lower()
    if suffix not in SUFFIXES:
        raise BadInput(f"cannot draw {str(path)!r}: the name must end in one of {', '.join(SUFFIXES)}")
    specification = chart.to_json()
    if suffix == ".svg":
        content = vl_convert.vegalite_to_svg(specification).encode()
    elif suffix == ".png":
        content = vl_convert.vegalite_to_png(specification, scale=PNG_SCALE)
    elif suffix == ".pdf":
        content = vl_convert.vegalite_to_pdf(specification)
    elif suffix == ".html":
        content = vl_convert.vegalite_to_html(specification, bundle=True).encode()
    else:
        content = specification.encode()
    write_whole(path, content)


def _rows(name: str, result: Result) -> list[dict[str, Any]]:
    """One row for each checkpoint; what a logarithmic axis cannot show is left out."""
    errors = [0.0 if error != error else error for error in result.standard_error().tolist()]  # NaN: one run
    return [
        {
            "policy": name,
            "round": t,
            "regret": mean,
            "error": error,
            "low": max(mean - error, mean / 10),
            "high": mean + error,
        }
        for t, mean, error in zip(result.rounds.tolist(), result.mean().tolist(), errors, strict=True)
        if mean > 1e-9
    ]


def _runs_note(results: Sequence[Result]) -> str:
    runs = sorted({result.runs for result in results})
    return f"mean of {' or '.join(f'{n:,}' for n in runs)} runs, bands of one standard error"


def _log_axis(alt: Any) -> Any:
    return alt.Axis(format="~s", tickCount=6, grid=True, gridOpacity=0.4)
