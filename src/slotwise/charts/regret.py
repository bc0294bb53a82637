"""Cumulative regret against rounds."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

from slotwise.charts.common import framed, import_altair, log_axis
from slotwise.charts.curves import CurveStyle, Row, curve_layers, cut_off_note, last_value, make_palette
from slotwise.checks import BadInput
from slotwise.simulation.result import Result

MAX_OVER_MEDIAN = 3.0  # a linear axis ends at no more than this many times the last value of the median curve


def regret_chart(
    results: Sequence[Result],
    labels: Sequence[str] | None = None,
    title: str = "",
    bounds: Mapping[str, float] | None = None,
    log_regret: bool = True,
    notes: Sequence[str] = (),
    dashes: Mapping[str, Sequence[int]] | None = None,
    colours: Mapping[str, str] | None = None,
) -> Any:
    """Mean cumulative regret against rounds on a logarithmic axis, with bands of one standard error.

    Regret is on a logarithmic axis too. With `log_regret=False` it is on a linear axis, which may cut off the highest
    curves. `bounds` maps the name of each lower bound C log T of the regret to its constant C. These bounds are
    asymptotic: they say how fast regret must grow, not how large it must be. So each bound is drawn only as a slope
    over the last factor of 10 of the rounds, and this slope begins on the first curve. `notes` are further lines below
    the title. `dashes` and `colours` map labels to the style of their curves.

    >>> import slotwise as sw
    >>> visitors = sw.PBM(theta=[0.3, 0.2, 0.1], kappa=[1.0, 0.5])
    >>> results = [sw.simulate(policy, visitors, rounds=100, runs=2) for policy in ("pb_mhb", "uniform")]
    >>> sw.save_chart(regret_chart(results, title="Three items, two positions"), "regret.json")
    """
    alt = import_altair()

    if not results:
        raise BadInput("no results to draw; give at least one")
    names = list(labels or [result.policy for result in results])
    rows = [row for name, result in zip(names, results, strict=True) for row in _rows(name, result, log_regret)]
    drawn = [name for name in names if any(row["policy"] == name for row in rows)]
    flat = [name for name in names if name not in drawn]
    guides = _guides(rows, drawn, bounds or {})
    x = alt.X("round:Q", title="round", **log_axis(alt, 1, max((row["round"] for row in rows), default=10)))
    top = _top(rows, drawn)
    y = {"title": "cumulative regret (clicks lost)", **_regret_axis(alt, rows + guides, top, log_regret)}
    style = CurveStyle("regret", ".1f", make_palette(names, drawn, colours), dashes)
    curves = curve_layers(alt, rows, x, y, style)
    layers = [*curves, *_guide_layers(alt, guides, list(bounds or {}), x, y)]
    all_notes = [
        *notes,
        _runs_note(results),
        *_flat_note(flat, log_regret),
        *([] if log_regret else cut_off_note(rows, drawn, "regret", top)),
    ]
    all_notes += ["dashed: slope of the asymptotic lower bound C log t, not a lower limit of the regret"] * bool(guides)
    return framed(alt, layers, title or "Cumulative regret", all_notes)


def _rows(name: str, result: Result, log_regret: bool) -> list[Row]:
    """One row for each checkpoint. On a logarithmic axis, checkpoints without regret have no row."""
    errors = [0.0 if error != error else error for error in result.standard_error().tolist()]  # NaN: one run
    return [
        {
            "policy": name,
            "round": t,
            "regret": mean,
            "error": error,
            "low": max(mean - error, mean / 10) if log_regret else max(mean - error, 0.0),
            "high": mean + error,
        }
        for t, mean, error in zip(result.rounds.tolist(), result.mean().tolist(), errors, strict=True)
        if mean > 1e-9
    ]


def _regret_axis(alt: Any, rows: list[Row], top: float, log_regret: bool) -> dict[str, Any]:
    if log_regret:
        lowest, highest = min((row["low"] for row in rows), default=1), max((row["high"] for row in rows), default=10)
        return log_axis(alt, lowest, highest)
    return {"scale": alt.Scale(domain=[0, top], nice=False), "axis": alt.Axis(gridOpacity=0.6, tickCount=6)}


def _top(rows: list[Row], drawn: list[str]) -> float:
    """Where a linear axis ends: above every curve, unless the median curve would then look flat."""
    ends = sorted(last_value(rows, name, "regret") for name in drawn)
    if not ends:
        return 10.0
    return float(min(max(row["high"] for row in rows), MAX_OVER_MEDIAN * ends[len(ends) // 2]))


def _flat_note(flat: list[str], log_regret: bool) -> list[str]:
    not_drawn = ", so not on the logarithmic axis" if log_regret else ""
    return [f"{', '.join(flat)}: no regret{not_drawn}"] if flat else []


def _guide_layers(alt: Any, guides: list[Row], names: list[str], x: Any, y: dict[str, Any]) -> list[Any]:
    if not guides:
        return []
    styles = alt.Scale(domain=names, range=[[6, 4], [1.5, 3]])
    dashes = alt.Chart(alt.InlineData(values=guides)).mark_line(color="#333", strokeWidth=1.5)
    kind = alt.StrokeDash("bound:N", title="slope of the bound", scale=styles)
    return [dashes.encode(x=x, y=alt.Y("high:Q", **y), strokeDash=kind)]


def _guides(rows: list[Row], drawn: list[str], bounds: Mapping[str, float]) -> list[Row]:
    """Points of the slope of each bound, R(T/10) + C log(10 t / T), from round T/10 to the last round T.

    R is the regret of the first curve.
    """
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
    return f"mean of {' or '.join(f'{n:,}' for n in runs)} runs; bands: one standard error"
