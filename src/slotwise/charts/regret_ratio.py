"""Charts of regret divided by the regret of one policy. They separate policies that are close to each other."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from slotwise.charts.common import framed, import_altair, log_axis
from slotwise.charts.curves import CurveStyle, Row, curve_layers, cut_off_note, last_value, make_palette
from slotwise.checks import BadInput, one_of
from slotwise.simulation.result import Ratio, Result

MOST = 10.0  # curves that end above this ratio are cut off, so that curves near 1 stay apart
MOST_BEFORE = 2.0  # in earlier rounds, a curve extends the axis to this ratio at most, or to its last value
LINEAR = 3.0  # if the last values differ by more than this factor, the axis is logarithmic
DECADES = 3  # the axis fits the last rounds, a factor of 10^3; ratios in earlier rounds are mostly noise


def ratio_chart(
    results: Sequence[Result],
    labels: Sequence[str] | None = None,
    title: str = "",
    baseline: str | None = None,
    notes: Sequence[str] = (),
    dashes: Mapping[str, Sequence[int]] | None = None,
    colours: Mapping[str, str] | None = None,
) -> Any:
    """Mean regret divided by the mean regret of the policy `baseline`, with bands of one standard error.

    `baseline` is a label. By default it is pb_mhb if that is among the labels, otherwise the first label. If policies
    met the same visitors, their runs are paired, so the bands are narrower than those of the regrets. The axis shows
    the last value of every curve that ends below 10. It is logarithmic if these values differ by more than a factor of
    3. Notes name the curves that leave the axis. The other arguments are those of `regret_chart`.

    >>> import slotwise as sw
    >>> visitors = sw.PBM(theta=[0.3, 0.2, 0.1], kappa=[1.0, 0.5])
    >>> results = [sw.simulate(policy, visitors, rounds=100, runs=2) for policy in ("slot_ts", "uniform")]
    >>> sw.save_chart(ratio_chart(results), "ratio.json")
    """
    alt = import_altair()

    if not results:
        raise BadInput("no results to draw; give at least one")
    names = list(labels or [result.policy for result in results])
    base = _default_baseline(names) if baseline is None else one_of("baseline", baseline, names)
    divisor = results[names.index(base)]
    if not divisor.mean()[-1] > 0.0:
        raise BadInput(f"{base} has no regret, so no regret can be divided by it; choose another baseline")
    rows = [row for name, result in zip(names, results, strict=True) for row in _rows(name, _ratio(result, divisor))]
    flat = [name for name, result in zip(names, results, strict=True) if not result.mean()[-1] > 0.0]
    drawn = [name for name in names if name not in flat and any(row["policy"] == name for row in rows)]
    rows = [row for row in rows if row["policy"] in drawn]
    low, high, logarithmic = _range(rows, drawn, base)
    y = {"title": f"regret / regret of {base}", **_ratio_axis(alt, low, high, logarithmic)}
    rows = _positive(rows) if logarithmic else rows
    x = alt.X("round:Q", title="round", **log_axis(alt, 1, max(row["round"] for row in rows)))
    style = CurveStyle("ratio", ".3f", make_palette(names, drawn, colours), dashes)
    layers = curve_layers(alt, rows, x, y, style)
    paired = all(result.is_paired_with(divisor) for result in results)
    how = "of the ratio, paired run by run" if paired else "of the ratio"
    runs = sorted({result.runs for result in results})
    notes = [*notes, f"means of {' or '.join(f'{n:,}' for n in runs)} runs; bands: one standard error {how}"]
    notes += [f"{', '.join(flat)}: no regret"] if flat else []
    notes += cut_off_note(rows, drawn, "ratio", high) + _early_note(rows, drawn, low, high)
    return framed(alt, layers, title or f"Regret divided by that of {base}", notes)


def _default_baseline(labels: Sequence[str]) -> str:
    """pb_mhb, or else the first label."""
    return "pb_mhb" if "pb_mhb" in labels else labels[0]


def _ratio(result: Result, divisor: Result) -> Ratio:
    """The ratio at the checkpoints that both results have. Runs are paired if both results had the same visitors."""
    if result.is_paired_with(divisor):
        return result.ratio(divisor)
    rounds, mine, theirs = np.intersect1d(result.rounds, divisor.rounds, return_indices=True)
    tops, bottoms = result.mean()[mine], divisor.mean()[theirs]
    with np.errstate(divide="ignore", invalid="ignore"):
        value = tops / bottoms
        shares = np.hypot(result.standard_error()[mine] / tops, divisor.standard_error()[theirs] / bottoms)
    return Ratio(rounds, value, np.abs(value) * shares)


def _rows(name: str, ratio: Ratio) -> list[Row]:
    """One row for each checkpoint at which the baseline has regret."""
    errors = np.nan_to_num(ratio.standard_error, nan=0.0)  # NaN: one run, or no regret
    return [
        {"policy": name, "round": t, "ratio": value, "error": error, "low": value - error, "high": value + error}
        for t, value, error in zip(ratio.rounds.tolist(), ratio.value.tolist(), errors.tolist(), strict=True)
        if np.isfinite(value)
    ]


def _range(rows: list[Row], drawn: list[str], base: str) -> tuple[float, float, bool]:
    """The ends of the axis, and whether it is logarithmic. It shows the last rounds of the curves that end below MOST.

    If no curve ends below MOST, the axis shows the lowest curve instead. If there are T rounds, the last rounds are
    those after round T / 10^DECADES.
    """
    ends = {name: last_value(rows, name, "ratio") for name in drawn}
    near = [name for name in drawn if ends[name] <= MOST and name != base]
    if not near:
        near = sorted((name for name in drawn if name != base), key=lambda name: ends[name])[:1]
    first = max(row["round"] for row in rows) / 10**DECADES
    shown = [row for row in rows if row["policy"] in near and row["round"] >= first]
    last_ratios = [1.0, *(ends[name] for name in near)]
    logarithmic = max(last_ratios) > LINEAR * min(last_ratios)
    lowest = {name: min(1 / MOST_BEFORE, 0.9 * ends[name]) if logarithmic else 0.0 for name in near}
    low = min([1.0, *(max(row["low"], lowest[row["policy"]]) for row in shown)])
    highest = {name: max(MOST_BEFORE, last_value(rows, name, "high")) for name in near}
    high = max([1.0, *(min(row["high"], highest[row["policy"]]) for row in shown)])
    if logarithmic:
        margin = (high / low) ** 0.05
        return low / margin, high * margin, True
    margin = 0.05 * (high - low) or 0.1
    return max(low - margin, 0.0), high + margin, False


def _positive(rows: list[Row]) -> list[Row]:
    """The rows that a logarithmic axis can show, with bands that end above zero."""
    return [row | {"low": max(row["low"], row["ratio"] / 10)} for row in rows if row["ratio"] > 0.0]


def _ratio_axis(alt: Any, low: float, high: float, logarithmic: bool) -> dict[str, Any]:
    if logarithmic:
        return log_axis(alt, low, high)
    axis = alt.Axis(gridOpacity=0.6, tickCount=6, format="~g")
    return {"scale": alt.Scale(domain=[low, high], nice=False), "axis": axis}


def _early_note(rows: list[Row], drawn: list[str], low: float, high: float) -> list[str]:
    """A note that names the curves that end on the axis but are outside it earlier, or no note if there are none."""
    ending = [name for name in drawn if last_value(rows, name, "ratio") <= high]
    outside = [row for row in rows if row["policy"] in ending and not low <= row["ratio"] <= high]
    if not outside:
        return []
    names = [name for name in ending if any(row["policy"] == name for row in outside)]
    return [f"partly outside the axis in rounds up to {max(row['round'] for row in outside):,}: {', '.join(names)}"]
