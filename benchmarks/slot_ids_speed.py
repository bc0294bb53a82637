"""Time of a round of slot_ids relative to pb_mhb, and how the time of a refill of its ensemble grows."""

import time

import numpy as np

import slotwise as sw
from benchmarks.measure import Row, alternate, ratio, report
from benchmarks.pb_mhb_speed import simulate_once
from benchmarks.time_scaling import random_model
from slotwise.paper.named_click_models import SIMULATED, setting
from slotwise.policies import slot_ids
from slotwise.policies._policy_module import make_params

SIZES = [(50, 5, 32), (200, 5, 32), (200, 10, 32), (200, 10, 128), (1000, 10, 64), (3000, 10, 64)]  # N, L, M


def displays() -> list[Row]:
    """A round of slot_ids relative to one of pb_mhb, over 1e5 rounds at N=10, L=5."""
    rows = []
    for name in SIMULATED:
        contenders = {
            "pb_mhb": simulate_once("pb_mhb", setting(name), reference="none"),
            "slot_ids": simulate_once("slot_ids", setting(name)),
            "thompson": simulate_once("slot_ids", setting(name), thompson=1.0),
        }
        seconds = alternate(contenders, turns=5)
        rows.append(Row(f"slot_ids / pb_mhb, {name}", ratio(seconds, "slot_ids", "pb_mhb"), "x", 2.0))
        rows.append(Row(f"slot_ids thompson=1 / pb_mhb, {name}", ratio(seconds, "thompson", "pb_mhb"), "x"))
    return rows


def refill_seconds(n_items: int, n_positions: int, draws: int) -> float:
    """The shortest of three refills, with the plan that follows, on counts of 100 displays per item."""
    model, rng = random_model(n_items, n_positions), np.random.default_rng(0)
    params = make_params(slot_ids, {"draws": draws}, None)
    state, display = slot_ids.init(params, n_items, n_positions, rng), np.empty(n_positions, np.int64)
    counts = sw.Counts(100 * np.outer(model.theta, model.kappa), 100 * (1 - np.outer(model.theta, model.kappa)))
    state = state._replace(counts=counts.arrays())
    slot_ids.choose(params, state, rng, display)
    seconds = []
    for _ in range(3):
        state.ensemble.drawn_at[0] *= 0.9
        started = time.thread_time()
        slot_ids.choose(params, state, rng, display)
        seconds.append(time.thread_time() - started)
    return min(seconds)


def growth() -> list[Row]:
    products = [n_items * n_positions * draws for n_items, n_positions, draws in SIZES]
    seconds = [refill_seconds(*size) for size in SIZES]
    exponent = np.polyfit(np.log(products), np.log(seconds), 1)[0]
    cost = 1e9 * seconds[-1] / products[-1]
    return [
        Row("a refill's time grows with N x L x M to the power", float(exponent), "", 1.15),
        Row("a refill, per item, position and draw, N=3000, L=10, M=64", cost, "ns"),
    ]


def main() -> bool:
    return report("slot_ids and its ensemble", "slot_ids_speed", displays() + growth())


if __name__ == "__main__":
    main()
