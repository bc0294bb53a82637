"""`python -m benchmarks.staleness`: regret when several nodes share the visitors, and learn from each other later.

The time is simulated. Each node knows the clicks on its own displays at once, and those on the displays of others at
the next refresh. The policy is slot_ts, and the click model is the setting `standard` of the paper. Runs with the same
number use the same seed, so ratios are compared in pairs.
"""

import json
import math
import sys
import time
from itertools import product
from pathlib import Path

import altair as alt
import numpy as np

from benchmarks.measure import RESULTS, Row, report
from slotwise.arrange import arrange
from slotwise.charts import save_chart
from slotwise.checks import Floats
from slotwise.counts import CountArrays, empty
from slotwise.jit import kernel
from slotwise.paper.named_click_models import setting
from slotwise.policies import slot_ts

RATE, SECONDS, RUNS = 100, 600, 100  # displays a second, of all nodes together; simulated seconds
NODES, INTERVALS = (1, 3, 10), (1, 10, 60)  # seconds between two refreshes
MOST = 1.1  # regret of three nodes with a refresh every second, relative to one node
SEED = 60_021
SAVED, FIGURE = RESULTS / "staleness.json", Path(__file__).parent.parent / "docs" / "figures" / "staleness.svg"
PARAMS = slot_ts.Params()


@kernel
def play(state: slot_ts.State, theta: Floats, kappa: Floats, rounds: int, rng: np.random.Generator) -> float:
    """Play rounds on one node. Returns the regret."""
    display, clicks = np.empty(kappa.size, np.int64), np.empty(kappa.size, np.int64)
    arrange(theta, kappa, display)
    best, regret = (theta[display] * kappa).sum(), 0.0
    for _ in range(rounds):
        slot_ts.choose(PARAMS, state, rng, display)
        for position in range(kappa.size):
            chance = theta[display[position]] * kappa[position]
            clicks[position] = rng.random() < chance
            regret -= chance
        regret += best
        slot_ts.update(PARAMS, state, display, clicks)
    return regret


def run(n_nodes: int, interval: int, seed: int) -> float:
    """The regret of one run."""
    model, rng = setting("standard"), np.random.default_rng((SEED, seed))
    theta, kappa = np.array(model.theta), np.array(model.kappa)
    states = [slot_ts.init(PARAMS, theta.size, kappa.size, rng) for _ in range(n_nodes)]
    shared, regret = empty(theta.size, kappa.size), 0.0
    for _ in range(SECONDS // interval):
        for state, rounds in zip(states, rng.multinomial(RATE * interval, [1 / n_nodes] * n_nodes), strict=True):
            regret += play(state, theta, kappa, int(rounds), rng)
        shared = _refresh(shared, [state.counts for state in states])
    return regret


def _refresh(shared: CountArrays, counts: list[CountArrays]) -> CountArrays:
    """Add what each node has counted since the last refresh, and give the sum to all."""
    total = CountArrays(
        *[np.sum(own, axis=0) - (len(own) - 1) * old for old, *own in zip(shared, *counts, strict=True)]
    )
    for each in counts:
        for own, new in zip(each, total, strict=True):
            own[...] = new
    return total


def measure() -> dict[str, list[float]]:
    """The regret of every run for each number of nodes and interval. Results that are saved are not computed again."""
    found: dict[str, list[float]] = json.loads(SAVED.read_text())["regret"] if SAVED.exists() else {}
    for n_nodes, interval in product(NODES, INTERVALS):
        key = f"{n_nodes} nodes" if n_nodes == 1 else f"{n_nodes} nodes, {interval} s"
        if key in found:
            continue
        began = time.process_time()
        found[key] = [run(n_nodes, interval, seed) for seed in range(RUNS)]
        print(f"{key}: {np.mean(found[key]):,.0f}, {time.process_time() - began:.0f} s of processor time", flush=True)
        document = {"rate": RATE, "seconds": SECONDS, "runs": RUNS, "seed": SEED, "regret": found}
        SAVED.write_text(json.dumps(document, indent=1) + "\n")
    return found


def ratio(found: dict[str, list[float]], key: str) -> tuple[float, float]:
    """The mean regret relative to that of one node, and its standard error."""
    regret, one = np.array(found[key]), np.array(found["1 nodes"])
    relative = regret.mean() / one.mean()
    return float(relative), float((regret - relative * one).std(ddof=1) / one.mean() / math.sqrt(RUNS))


def chart(found: dict[str, list[float]]) -> alt.LayerChart:
    """The regret relative to one node, with two standard errors."""
    rows = []
    for n_nodes, interval in product(NODES[1:], INTERVALS):
        if f"{n_nodes} nodes, {interval} s" not in found:
            continue
        mean, error = ratio(found, f"{n_nodes} nodes, {interval} s")
        low, high = mean - 2 * error, mean + 2 * error
        rows.append({"seconds": interval, "nodes": f"{n_nodes} nodes", "ratio": mean, "low": low, "high": high})
    order = [f"{number} nodes" for number in NODES[1:]]
    base = alt.Chart(alt.InlineData(rows)).encode(
        x=alt.X(
            "seconds:Q",
            scale=alt.Scale(type="log"),
            axis=alt.Axis(values=list(INTERVALS), title="seconds between refreshes"),
        ),
        color=alt.Color("nodes:N", sort=order, title=None),
        xOffset=alt.XOffset("nodes:N", sort=order),
    )
    y = alt.Y("ratio:Q", scale=alt.Scale(zero=False), title="regret relative to one node")
    whole = alt.layer(
        base.mark_line(point=True).encode(y=y),
        base.mark_rule(opacity=0.5).encode(y=alt.Y("low:Q", title=""), y2="high:Q"),
    )
    return whole.properties(width=420, height=260)


def main() -> bool:
    """Print the table, and draw the figure. Returns whether the limit holds."""
    found = measure()
    save_chart(chart(found), FIGURE)
    rows = []
    for key in (key for key in found if "30" not in key):
        mean, error = ratio(found, key)
        limit = MOST if key == "3 nodes, 1 s" else None
        rows.append(Row(f"regret of {key}, standard error {error:.3f}", mean, "x one node", limit))
    return report("Regret of nodes that learn from each other later", "staleness_table", rows)


if __name__ == "__main__":
    sys.exit(not main())
