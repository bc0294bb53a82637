"""Time of a round against the number of items and positions. It must be linear in N x L, up to N = 10,000."""

from pathlib import Path

import altair as alt
import numpy as np

import slotwise as sw
from benchmarks.measure import Row, alternate, report
from benchmarks.pb_mhb_speed import simulate_once

FIGURE = Path(__file__).parent.parent / "docs" / "figures" / "time_scaling.svg"
ITEMS = [10, 30, 100, 300, 1000, 3000, 10_000]
POSITIONS = [3, 5, 10]


def random_model(n_items: int, n_positions: int) -> sw.PBM:
    rng = np.random.default_rng(n_items)
    return sw.PBM(rng.beta(1.0, 9.0, n_items), np.geomspace(1.0, 0.1, n_positions))


def measure() -> list[dict[str, float]]:
    points = []
    for n_positions in POSITIONS:
        for n_items in ITEMS:
            rounds = int(min(20_000, 2e7 / (n_items * n_positions)))
            seconds = alternate(
                {"pb_mhb": simulate_once("pb_mhb", random_model(n_items, n_positions), rounds)}, turns=3
            )["pb_mhb"]
            micros = 1e6 * float(np.min(seconds)) / rounds
            points.append({"N": n_items, "L": n_positions, "NL": n_items * n_positions, "us": micros})
    return points


def slope(points: list[dict[str, float]]) -> float:
    """The exponent of the growth, which is 1 if it is linear.

    Models with few items are left out, because fixed costs dominate.
    """
    large = [p for p in points if p["N"] >= 100]
    return float(np.polyfit(np.log([p["NL"] for p in large]), np.log([p["us"] for p in large]), 1)[0])


def _decade_axis() -> alt.Axis:
    return alt.Axis(values=[10.0**k for k in range(-1, 7)], format="~s")


def draw(points: list[dict[str, float]]) -> None:
    chart = (
        alt.Chart(alt.InlineData(values=points), title="Time of one PB-MHB round against items x positions")
        .mark_line(point=True)
        .encode(
            x=alt.X("NL:Q", scale=alt.Scale(type="log"), title="N x L", axis=_decade_axis()),
            y=alt.Y("us:Q", scale=alt.Scale(type="log"), title="microseconds per round", axis=_decade_axis()),
            color=alt.Color("L:N", title="positions L"),
        )
        .properties(width=480, height=300)
    )
    FIGURE.parent.mkdir(parents=True, exist_ok=True)
    sw.save_chart(chart, FIGURE)
    sw.save_chart(chart, FIGURE.with_suffix(".png"))


def main() -> bool:
    points = measure()
    draw(points)
    rows = [Row(f"N={p['N']:,}, L={p['L']}", p["us"], "us/round") for p in points if p["L"] == 5]
    rows.append(Row("growth: exponent of N x L, N >= 100", slope(points), "", 1.1))
    return report("Time of a round against items x positions", Path(__file__).stem, rows)
