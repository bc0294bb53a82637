"""What was fitted to the queries of a log: how attractive the items are, and how visible the positions."""

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from slotwise.charts.axes import COLOURS, titled
from slotwise.checks import BadInput
from slotwise.inference.fit_files import fit_list
from slotwise.inference.query_fit import QueryFit

MOST_QUERIES = 12  # with a panel and a line each
MOST_ITEMS = 12  # in a panel
MOST_LETTERS = 28  # of a name: the whole of it is in the tooltip
PANEL, ROW = 190, 17
QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)
PLAIN = "slice(datum.label, 3)"  # rows and lines are told apart by two digits, since short names may be alike
Row = dict[str, Any]


def fit_chart(fits: QueryFit | Iterable[QueryFit], title: str = "") -> Any:
    """Theta of each item of the first queries with its interval, and kappa of every query over the positions.

    Up to 12 queries have a panel and a line each. Of more, the first 12 have panels, and of kappa the quantiles over
    all queries are shown.
    """
    import altair as alt

    listed = fit_list(fits)
    if not listed:
        raise BadInput("no fits to draw; at least one is needed")
    parts = [_attractiveness(alt, listed), _visibility(alt, listed)]
    heading = titled(alt, title or "Attractiveness and visibility", _notes(listed))
    heading.offset = 16
    chart = alt.vconcat(*parts, spacing=28).resolve_scale(color="independent").properties(title=heading)
    return chart.configure_view(stroke=None)


def _notes(fits: Sequence[QueryFit]) -> list[str]:
    first = fits[0]
    ends = f"with {100 * first.level:g} % intervals"
    told = {
        "em": f"by maximum likelihood, {ends}",
        "bayes": f"posterior means, {ends}",
        "svd": "by svd, which gives no intervals",
    }
    notes = [told.get(first.method, first.method)]
    if len(fits) > MOST_QUERIES:
        notes.append(f"the first {MOST_QUERIES} of {len(fits):,} queries; kappa: all of them")
    longest = max(len(fit.items) for fit in fits[:MOST_QUERIES])
    if longest > MOST_ITEMS:
        notes.append(f"the {MOST_ITEMS} most attractive items of each query, of up to {longest:,}")
    return notes


def _attractiveness(alt: Any, fits: Sequence[QueryFit]) -> Any:
    """A panel for each query: items from the most attractive one down, a point and its interval."""
    width = PANEL if len(fits) > 1 else 2 * PANEL
    panels = [_panel(alt, fit, k, width) for k, fit in enumerate(fits[:MOST_QUERIES])]
    return alt.concat(*panels, columns=min(len(panels), 3), spacing=18)


def _panel(alt: Any, fit: QueryFit, number: int, width: int) -> Any:
    rows = _theta_rows(fit)
    order = [row["row"] for row in rows]
    labels = alt.Axis(labelExpr=PLAIN, labelLimit=180, ticks=False, domain=False)
    y = alt.Y("row:N", sort=order, title=None, axis=labels)
    top = max(row["high"] or row["theta"] for row in rows)
    x = {
        "title": "theta",
        "scale": alt.Scale(domain=[0, top or 1], nice=True),
        "axis": alt.Axis(tickCount=4, labelFlush=False),
    }
    colour = COLOURS[number % len(COLOURS)]
    base = alt.Chart(alt.InlineData(values=rows)).encode(y=y)
    tips = ["item:N", *(alt.Tooltip(f"{name}:Q", format=".4~g") for name in ("theta", "low", "high"))]
    tips.append(alt.Tooltip("clicks:Q", format=","))
    rule = base.mark_rule(strokeWidth=2, color=colour, opacity=0.5).encode(x=alt.X("low:Q", **x), x2="high:Q")
    point = base.mark_point(size=45, filled=True, opacity=1, color=colour).encode(x=alt.X("theta:Q", **x), tooltip=tips)
    name = alt.TitleParams(_short(fit.name), anchor="start", fontSize=11, limit=width + 120)
    return alt.layer(rule, point).properties(width=width, height=ROW * len(rows), title=name)


def _theta_rows(fit: QueryFit) -> list[Row]:
    """The most attractive items."""
    order = np.argsort(-fit.theta, kind="stable")[:MOST_ITEMS].tolist()
    clicks = fit.counts.clicks.sum(axis=1)
    return [
        {
            "row": f"{place:02} {_short(fit.items[k])}",
            "item": _line(fit.items[k]),
            "theta": float(fit.theta[k]),
            "low": _told(fit.theta_interval[k, 0]),
            "high": _told(fit.theta_interval[k, 1]),
            "clicks": float(clicks[k]),
        }
        for place, k in enumerate(order)
    ]


def _visibility(alt: Any, fits: Sequence[QueryFit]) -> Any:
    positions = list(dict.fromkeys(name for fit in fits for name in fit.positions))
    order = [_line(name) for name in positions]
    x = alt.X("position:O", sort=order, title="position", axis=alt.Axis(labelAngle=0, labelOverlap=True, labelLimit=90))
    y = {"title": "kappa", "scale": alt.Scale(domain=[0, 1])}
    size = {"width": min(max(70 * len(positions), PANEL), 620), "height": 200}
    few = len(fits) <= MOST_QUERIES
    layers = _lines(alt, fits, x, y) if few else []
    layers += _quantiles(alt, fits, positions, x, y, bands=not few) if len(fits) > 2 else []
    told = "dashed: the median" if few else "line: the median; bands: half and nine tenths of the queries"
    heading = alt.TitleParams(
        "visibility", subtitle=told if len(fits) > 2 else "", anchor="start", fontSize=11, frame="group"
    )
    return alt.layer(*layers).properties(**size, title=heading)


def _lines(alt: Any, fits: Sequence[QueryFit], x: Any, y: dict[str, Any]) -> list[Any]:
    """A line for each query, with its intervals when there is but one query."""
    names = [f"{k:02} {_short(fit.name)}" for k, fit in enumerate(fits)]
    rows = [row | {"query": name} for name, fit in zip(names, fits, strict=True) for row in _kappa_rows(fit)]
    scale = alt.Scale(domain=names, range=COLOURS[: len(names)])
    legend = alt.Legend(labelExpr=PLAIN, labelLimit=200, symbolOpacity=1)
    colour = alt.Color("query:N", title=None, scale=scale, legend=legend if len(fits) > 1 else None)
    base = alt.Chart(alt.InlineData(values=rows)).encode(x=x, color=colour)
    tips = ["name:N", "position:O", *(alt.Tooltip(f"{name}:Q", format=".3~f") for name in ("kappa", "low", "high"))]
    line = base.mark_line(strokeWidth=2, point=alt.OverlayMarkDef(size=40)).encode(
        y=alt.Y("kappa:Q", **y), tooltip=tips
    )
    if len(fits) > 1:
        return [line]
    return [base.mark_rule(strokeWidth=2, opacity=0.5).encode(y=alt.Y("low:Q", **y), y2="high:Q"), line]


def _kappa_rows(fit: QueryFit) -> list[Row]:
    return [
        {
            "name": _line(fit.name),
            "position": _line(position),
            "kappa": float(fit.kappa[k]),
            "low": _told(fit.kappa_interval[k, 0]),
            "high": _told(fit.kappa_interval[k, 1]),
        }
        for k, position in enumerate(fit.positions)
    ]


def _quantiles(
    alt: Any, fits: Sequence[QueryFit], positions: Sequence[str], x: Any, y: dict[str, Any], bands: bool
) -> list[Any]:
    """Over the queries that have the position: the median, and with bands the middle half and nine tenths."""
    values: dict[str, list[float]] = {name: [] for name in positions}
    for fit in fits:
        for name, value in zip(fit.positions, fit.kappa.tolist(), strict=True):
            values[name].append(value)
    columns = [f"q{round(100 * q)}" for q in QUANTILES]
    rows = [
        {"position": _line(name), "queries": len(values[name])}
        | dict(zip(columns, np.quantile(values[name], QUANTILES).tolist(), strict=True))
        for name in positions
    ]
    base = alt.Chart(alt.InlineData(values=rows)).encode(x=x)
    tips = ["position:O", alt.Tooltip("queries:Q", format=",")]
    tips += [alt.Tooltip(f"{column}:Q", format=".3~f", title=f"{column[1:]} % quantile") for column in columns]
    median = alt.Y("q50:Q", **y)
    if not bands:
        return [base.mark_line(strokeWidth=1.5, strokeDash=[5, 4], color="#333").encode(y=median, tooltip=tips)]
    return [
        base.mark_area(opacity=0.15, color=COLOURS[0]).encode(y=alt.Y("q5:Q", **y), y2="q95:Q"),
        base.mark_area(opacity=0.3, color=COLOURS[0]).encode(y=alt.Y("q25:Q", **y), y2="q75:Q"),
        base.mark_line(strokeWidth=2, color=COLOURS[0], point=True).encode(y=median, tooltip=tips),
    ]


def _short(name: str) -> str:
    """A name on one line, its middle left out when it is long: ids and addresses differ at their ends."""
    line = _line(name)
    return line if len(line) <= MOST_LETTERS else line[: MOST_LETTERS // 2 - 1] + "…" + line[-MOST_LETTERS // 2 :]


def _line(name: str) -> str:
    """A name on one line; what cannot be printed cannot stand in an image file either."""
    return " ".join("".join(sign if sign.isprintable() else " " for sign in name).split()) or "(no name)"


def _told(value: float) -> float | None:
    return float(value) if np.isfinite(value) else None
