"""Every picture, as Altair charts: one grammar for image files and for interactive pages."""

import math
import os
from collections.abc import Mapping, Sequence
from html import escape
from pathlib import Path
from typing import Any

import numpy as np

from slotwise.checks import BadInput
from slotwise.files import write_whole
from slotwise.inference.diagnosis import Diagnosis
from slotwise.simulation.result import Result

SUFFIXES = (".svg", ".png", ".pdf", ".html", ".json")
PNG_SCALE = 2.0
RANK_BINS = 20
# Okabe and Ito's palette, which colour-blind readers can tell apart, without its yellow (too pale on white), then more
COLOURS = ["#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00", "#000000"]
COLOURS += ["#882255", "#999933", "#6633AA", "#117733", "#AA7744", "#777777"]


def regret_chart(
    results: Sequence[Result],
    labels: Sequence[str] | None = None,
    title: str = "",
    bounds: Mapping[str, float] | None = None,
) -> Any:
    """Mean cumulative regret against rounds, both on logarithmic axes, with bands of one standard error.

    `bounds` maps names to constants C of regret lower bounds C log T. They hold in the limit only, so each is drawn as
    a slope over the last decade, anchored to the first result drawn: a guide to how fast regret must grow, not a floor.
    """
    import altair as alt  # a third of a second to load: only when there is something to draw

    if not results:
        raise BadInput("no results to draw; at least one is needed")
    names = list(labels or [result.policy for result in results])
    rows = [row for name, result in zip(names, results, strict=True) for row in _rows(name, result)]
    drawn = [name for name in names if any(row["policy"] == name for row in rows)]
    flat = [name for name in names if name not in drawn]
    guides = _guides(rows, drawn, bounds or {})
    notes = [_runs_note(results)] + [f"{', '.join(flat)}: no regret at all, so not on a logarithmic axis"] * bool(flat)
    notes += ["dashed: slope of the asymptotic lower bound C log t, a guide and not a floor"] * bool(guides)
    everything = rows + guides
    last = max((row["round"] for row in rows), default=10)
    lowest = min((row["low"] for row in everything), default=1)
    highest = max((row["high"] for row in everything), default=10)
    # the legend lists the policies from the highest curve to the lowest
    order = sorted(range(len(drawn)), key=lambda k: -[row for row in rows if row["policy"] == drawn[k]][-1]["regret"])
    legend_names = [drawn[k] for k in order]
    colour = alt.Scale(domain=legend_names, range=[COLOURS[k % len(COLOURS)] for k in order] or COLOURS)
    legend = alt.Legend(symbolOpacity=1)
    x = alt.X("round:Q", title="round", **_log(alt, 1, last))
    y = {"title": "cumulative regret (clicks lost)", **_log(alt, lowest, highest)}
    base = alt.Chart(alt.InlineData(values=rows)).encode(
        x=x, color=alt.Color("policy:N", sort=legend_names, title=None, scale=colour, legend=legend)
    )
    band = base.mark_area(opacity=0.2).encode(y=alt.Y("low:Q", **y), y2="high:Q")
    line = base.mark_line(strokeWidth=2).encode(
        y=alt.Y("regret:Q", **y),
        tooltip=[
            alt.Tooltip("policy:N"),
            alt.Tooltip("round:Q", format=","),
            alt.Tooltip("regret:Q", format=",.1f"),
            alt.Tooltip("error:Q", format=".1f", title="standard error"),
        ],
    )
    layers = [band, line]
    if guides:
        styles = alt.Scale(domain=list(bounds or {}), range=[[6, 4], [1.5, 3]])
        dashes = alt.Chart(alt.InlineData(values=guides)).mark_line(color="#333", strokeWidth=1.5)
        kind = alt.StrokeDash("bound:N", title="slope of the bound", scale=styles)
        layers.append(dashes.encode(x=x, y=alt.Y("high:Q", **y), strokeDash=kind))
    heading = alt.TitleParams(title or "Cumulative regret", subtitle=notes, anchor="start")
    chart = alt.layer(*layers).properties(width=560, height=340, title=heading)
    return chart.configure_view(stroke=None)


def rank_chart(diagnosis: Diagnosis, most: int = 12, title: str = "") -> Any:
    """Rank plots of the variables with the fewest effective samples, at most `most` of them.

    Each chain's draws are ranked among those of all chains. When the chains agree, every chain has as many draws in
    each part of the ranks, and its line stays at 1.
    """
    import altair as alt

    worth = np.where(np.isfinite(diagnosis.ess), diagnosis.ess, np.inf)
    chosen = sorted(np.argsort(worth)[:most].tolist())
    chosen = [variable for variable in chosen if np.isfinite(worth[variable])]
    if not chosen:
        raise BadInput("no variable moves, so there is nothing to draw")
    rows = [row for variable in chosen for row in _rank_rows(diagnosis, variable)]
    base = alt.Chart(alt.InlineData(values=rows)).properties(width=170, height=90)
    line = base.mark_line(interpolate="step-after", strokeWidth=1.5).encode(
        x=alt.X("rank:Q", title="rank", axis=alt.Axis(format="%", values=[0, 0.5, 1]), scale=alt.Scale(domain=[0, 1])),
        y=alt.Y("share:Q", title="draws / expected", scale=alt.Scale(domainMin=0)),
        color=alt.Color("chain:N", scale=alt.Scale(range=COLOURS)),
    )
    names = [diagnosis.names[variable] for variable in chosen]
    noise = diagnosis.draws.shape[1] / RANK_BINS
    notes = [
        f"{diagnosis.sampler}: {len(diagnosis.draws)} chains of {diagnosis.draws.shape[1]:,} draws; "
        f"worst variable worth {diagnosis.ess[diagnosis.worst]:,.0f} independent ones",
        f"chains that agree stay at 1; independent draws would scatter by {1 / math.sqrt(noise):.2f}",
    ]
    heading = alt.TitleParams(title or "Ranks of each chain's draws", subtitle=notes, anchor="start")
    facet = alt.Facet("variable:N", sort=names, title=None, header=alt.Header(labelFontWeight="bold"))
    return line.facet(facet, columns=4).properties(title=heading).configure_view(stroke=None)


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
        content = _page(vl_convert.vegalite_to_html(specification, bundle=True), chart).encode()
    else:
        content = specification.encode()
    write_whole(path, content)


def _page(html: str, chart: Any) -> str:
    """The page with the chart's own title on its tab, at the width of the device that shows it."""
    title = chart.to_dict().get("title", "")
    text = title.get("text", "") if isinstance(title, dict) else title
    head = f'<meta name="viewport" content="width=device-width, initial-scale=1">\n    <title>{escape(text)}</title>'
    return html.replace("<title>Chart</title>", head, 1)


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


def _rank_rows(diagnosis: Diagnosis, variable: int) -> list[dict[str, Any]]:
    """The share of each chain's draws in each bin of the ranks, 1 being what chains that agree have."""
    ranks = diagnosis.ranks[:, :, variable]
    each = ranks.shape[1]
    rows = []
    for chain, own in enumerate(ranks):
        counted, _ = np.histogram(own, bins=RANK_BINS, range=(0.5, ranks.size + 0.5))
        shares = (counted * RANK_BINS / each).tolist()
        rows += [
            {"variable": diagnosis.names[variable], "chain": chain + 1, "rank": k / RANK_BINS, "share": share}
            for k, share in enumerate([*shares, shares[-1]])  # the last step ends at 1
        ]
    return rows


def _guides(rows: list[dict[str, Any]], drawn: list[str], bounds: Mapping[str, float]) -> list[dict[str, Any]]:
    """Points of each bound's slope: R(T/10) + C log(10 t / T) for the last decade of the first policy drawn."""
    if not drawn:
        return []
    curve = [row for row in rows if row["policy"] == drawn[0]]
    last = curve[-1]["round"]
    decade = [row for row in curve if row["round"] >= last / 10]
    return [
        {"bound": name, "round": row["round"], "low": high, "high": high}
        for name, constant in bounds.items()
        for row in decade
        for high in [decade[0]["regret"] + constant * math.log(row["round"] / decade[0]["round"])]
    ]


def _runs_note(results: Sequence[Result]) -> str:
    runs = sorted({result.runs for result in results})
    return f"mean of {' or '.join(f'{n:,}' for n in runs)} runs, bands of one standard error"


def _log(alt: Any, low: float, high: float) -> dict[str, Any]:
    """A logarithmic axis from `low` to `high`, with a grid line at each power of ten and no others."""
    decades = [10.0**k for k in range(math.ceil(math.log10(low) - 1e-9), math.floor(math.log10(high) + 1e-9) + 1)]
    return {
        "scale": alt.Scale(type="log", nice=False, domain=[low, high]),
        "axis": alt.Axis(values=decades, format="~s", gridOpacity=0.6),
    }
