"""Charts of the fits of a log: the attractiveness of items and the visibility of positions."""

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from slotwise.charts.common import COLOURS, import_altair, title_with_notes
from slotwise.checks import BadInput
from slotwise.inference.fit_files import fit_list
from slotwise.inference.query_fit import QueryFit

MAX_QUERIES = 12  # the most queries that have their own panel and line
MAX_ITEMS = 12  # in one panel
MAX_NAME_LENGTH = 28  # the tooltip has the full name
PANEL_WIDTH, ROW_HEIGHT = 190, 17
QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)
NAME_ONLY = "slice(datum.label, 3)"  # two digits before each name keep equal short names distinct
Row = dict[str, Any]


def fit_chart(fits: QueryFit | Iterable[QueryFit], title: str = "") -> Any:
    """The thetas of the first queries with their intervals, and the kappas of every query over the positions.

    Up to 12 queries have a panel and a line each. If there are more, the first 12 have panels, and kappa is drawn as
    quantiles over all queries.

    >>> import slotwise as sw
    >>> counts = sw.Counts(clicks=[[400, 200], [200, 100]], skips=[[600, 800], [800, 900]])
    >>> fits = sw.fit_queries([sw.Query("hats", ["felt", "straw"], ["top", "side"], counts)])
    >>> sw.save_chart(fit_chart(fits), "fits.json")
    """
    alt = import_altair()

    listed = fit_list(fits)
    if not listed:
        raise BadInput("no fits to draw; give at least one")
    charts = [_attractiveness(alt, listed), _visibility(alt, listed)]
    heading = title_with_notes(alt, title or "Attractiveness and visibility", _notes(listed))
    heading.offset = 16
    chart = alt.vconcat(*charts, spacing=28).resolve_scale(color="independent").properties(title=heading)
    return chart.configure_view(stroke=None)


def _notes(fits: Sequence[QueryFit]) -> list[str]:
    first = fits[0]
    intervals = f"{100 * first.level:g} % intervals"
    by_method = {
        "em": f"maximum likelihood estimates with {intervals}",
        "bayes": f"posterior means with {intervals}",
        "svd": "estimates by svd, which gives no intervals",
    }
    notes = [by_method.get(first.method, first.method)]
    if len(fits) > 1 and all(fit.template is not None for fit in fits):
        notes.append("queries with the same positions share their kappas, so their lines coincide")
    if len(fits) > MAX_QUERIES:
        notes.append(f"the first {MAX_QUERIES} of {len(fits):,} queries; kappa of all queries")
    longest = max(len(fit.items) for fit in fits[:MAX_QUERIES])
    if longest > MAX_ITEMS:
        notes.append(f"the {MAX_ITEMS} most attractive items of each query, out of up to {longest:,}")
    return notes


def _attractiveness(alt: Any, fits: Sequence[QueryFit]) -> Any:
    """A panel for each query. It shows each item as a point with an interval, the most attractive item first."""
    width = PANEL_WIDTH if len(fits) > 1 else 2 * PANEL_WIDTH
    panels = [_panel(alt, fit, k, width) for k, fit in enumerate(fits[:MAX_QUERIES])]
    return alt.concat(*panels, columns=min(len(panels), 3), spacing=18)


def _panel(alt: Any, fit: QueryFit, number: int, width: int) -> Any:
    rows = _theta_rows(fit)
    order = [row["row"] for row in rows]
    labels = alt.Axis(labelExpr=NAME_ONLY, labelLimit=180, ticks=False, domain=False)
    y = alt.Y("row:N", sort=order, title=None, axis=labels)
    top = max(row["high"] or row["theta"] for row in rows)
    x = {
        "title": "theta",
        "scale": alt.Scale(domain=[0, top or 1], nice=True),
        "axis": alt.Axis(tickCount=4, labelFlush=False),
    }
    colour = COLOURS[number % len(COLOURS)]
    base = alt.Chart(alt.InlineData(values=rows)).encode(y=y)
    tooltip = ["item:N", *(alt.Tooltip(f"{name}:Q", format=".4~g") for name in ("theta", "low", "high"))]
    tooltip.append(alt.Tooltip("clicks:Q", format=","))
    rule = base.mark_rule(strokeWidth=2, color=colour, opacity=0.5).encode(x=alt.X("low:Q", **x), x2="high:Q")
    point = base.mark_point(size=45, filled=True, opacity=1, color=colour)
    point = point.encode(x=alt.X("theta:Q", **x), tooltip=tooltip)
    name = alt.TitleParams(_shortened(fit.name), anchor="start", fontSize=11, limit=width + 120)
    return alt.layer(rule, point).properties(width=width, height=ROW_HEIGHT * len(rows), title=name)


def _theta_rows(fit: QueryFit) -> list[Row]:
    """The most attractive items."""
    order = np.argsort(-fit.theta, kind="stable")[:MAX_ITEMS].tolist()
    clicks = fit.counts.clicks.sum(axis=1)
    return [
        {
            "row": f"{rank:02} {_shortened(fit.items[k])}",
            "item": _one_line(fit.items[k]),
            "theta": float(fit.theta[k]),
            "low": _finite_or_none(fit.theta_interval[k, 0]),
            "high": _finite_or_none(fit.theta_interval[k, 1]),
            "clicks": float(clicks[k]),
        }
        for rank, k in enumerate(order)
    ]


def _visibility(alt: Any, fits: Sequence[QueryFit]) -> Any:
    positions = list(dict.fromkeys(name for fit in fits for name in fit.positions))
    order = [_one_line(name) for name in positions]
    x = alt.X("position:O", sort=order, title="position", axis=alt.Axis(labelAngle=0, labelOverlap=True, labelLimit=90))
    y = {"title": "kappa", "scale": alt.Scale(domain=[0, 1])}
    size = {"width": min(max(70 * len(positions), PANEL_WIDTH), 620), "height": 200}
    few = len(fits) <= MAX_QUERIES
    layers = _lines(alt, fits, x, y) if few else []
    layers += _quantiles(alt, fits, positions, x, y, bands=not few) if len(fits) > 2 else []
    note = "dashed: the median" if few else "line: the median; bands: 50 % and 90 % of the queries"
    heading = alt.TitleParams(
        "visibility", subtitle=note if len(fits) > 2 else "", anchor="start", fontSize=11, frame="group"
    )
    return alt.layer(*layers).properties(**size, title=heading)


def _lines(alt: Any, fits: Sequence[QueryFit], x: Any, y: dict[str, Any]) -> list[Any]:
    """Draw a line for each query. A single query also has intervals."""
    names = [f"{k:02} {_shortened(fit.name)}" for k, fit in enumerate(fits)]
    rows = [row | {"query": name} for name, fit in zip(names, fits, strict=True) for row in _kappa_rows(fit)]
    scale = alt.Scale(domain=names, range=COLOURS[: len(names)])
    legend = alt.Legend(labelExpr=NAME_ONLY, labelLimit=200, symbolOpacity=1)
    colour = alt.Color("query:N", title=None, scale=scale, legend=legend if len(fits) > 1 else None)
    base = alt.Chart(alt.InlineData(values=rows)).encode(x=x, color=colour)
    tooltip = ["name:N", "position:O", *(alt.Tooltip(f"{name}:Q", format=".3~f") for name in ("kappa", "low", "high"))]
    line = base.mark_line(strokeWidth=2, point=alt.OverlayMarkDef(size=40)).encode(
        y=alt.Y("kappa:Q", **y), tooltip=tooltip
    )
    if len(fits) > 1:
        return [line]
    return [base.mark_rule(strokeWidth=2, opacity=0.5).encode(y=alt.Y("low:Q", **y), y2="high:Q"), line]


def _kappa_rows(fit: QueryFit) -> list[Row]:
    return [
        {
            "name": _one_line(fit.name),
            "position": _one_line(position),
            "kappa": float(fit.kappa[k]),
            "low": _finite_or_none(fit.kappa_interval[k, 0]),
            "high": _finite_or_none(fit.kappa_interval[k, 1]),
        }
        for k, position in enumerate(fit.positions)
    ]


def _quantiles(
    alt: Any, fits: Sequence[QueryFit], positions: Sequence[str], x: Any, y: dict[str, Any], bands: bool
) -> list[Any]:
    """Draw the median over the queries that have the position. With `bands`, also draw the central 50 % and 90 %."""
    values: dict[str, list[float]] = {name: [] for name in positions}
    for fit in fits:
        for name, value in zip(fit.positions, fit.kappa.tolist(), strict=True):
            values[name].append(value)
    columns = [f"q{round(100 * q)}" for q in QUANTILES]
    rows = [
        {"position": _one_line(name), "queries": len(values[name])}
        | dict(zip(columns, np.quantile(values[name], QUANTILES).tolist(), strict=True))
        for name in positions
    ]
    base = alt.Chart(alt.InlineData(values=rows)).encode(x=x)
    tooltip = ["position:O", alt.Tooltip("queries:Q", format=",")]
    tooltip += [alt.Tooltip(f"{column}:Q", format=".3~f", title=f"{column[1:]} % quantile") for column in columns]
    median = alt.Y("q50:Q", **y)
    if not bands:
        return [base.mark_line(strokeWidth=1.5, strokeDash=[5, 4], color="#333").encode(y=median, tooltip=tooltip)]
    return [
        base.mark_area(opacity=0.15, color=COLOURS[0]).encode(y=alt.Y("q5:Q", **y), y2="q95:Q"),
        base.mark_area(opacity=0.3, color=COLOURS[0]).encode(y=alt.Y("q25:Q", **y), y2="q75:Q"),
        base.mark_line(strokeWidth=2, color=COLOURS[0], point=True).encode(y=median, tooltip=tooltip),
    ]


def _shortened(name: str) -> str:
    """A name on one line. A long name loses its middle, because ids and addresses differ at their ends."""
    line, half = _one_line(name), MAX_NAME_LENGTH // 2
    return line if len(line) <= MAX_NAME_LENGTH else f"{line[: half - 1]}…{line[-half:]}"


def _one_line(name: str) -> str:
    """A name on one line, without unprintable characters, which image files cannot contain."""
    return " ".join("".join(letter if letter.isprintable() else " " for letter in name).split()) or "(no name)"


def _finite_or_none(value: float) -> float | None:
    return float(value) if np.isfinite(value) else None
