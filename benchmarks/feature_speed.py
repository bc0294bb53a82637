"""Time of a sweep with features of the items, relative to one of slot_ts: draws are refreshed by sweeps."""

from collections.abc import Callable

import numpy as np

import slotwise as sw
from benchmarks.measure import Row, alternate, ratio, report
from benchmarks.time_scaling import random_model
from slotwise.inference.sampling.coordinates import ChainState
from slotwise.inference.sampling.learnt_prior import Learnt
from slotwise.inference.sampling.mixing_sampler import SLICE_EVERY, Schedule, sample
from slotwise.inference.sampling.regression.regression import regression_on
from slotwise.inference.sampling.regression.sampler import sample_with_features
from slotwise.inference.sampling.ridges import single_component

N, L, DISPLAYS, SWEEPS = 50, 5, 100, 1_000


def rows() -> list[Row]:
    """Sweeps on counts of 100 displays per item and position."""
    model, rng = random_model(N, L), np.random.default_rng(0)
    chances = np.outer(model.theta, model.kappa)
    counts = sw.Counts(DISPLAYS * chances, DISPLAYS * (1 - chances)).arrays()
    chain, ridges = ChainState(rng.random(N), rng.random(L), np.ones(2)), single_component(N, L)
    plain = Schedule(SWEEPS, 1, SLICE_EVERY, 0, Learnt.FALLING.value)
    contenders: dict[str, Callable[[], object]] = {"slot_ts": lambda: sample(counts, ridges, chain, plain, rng)}
    for d in (0, 20):
        regression = regression_on(rng.standard_normal((N, d)), N)
        theta, kappa = rng.random(N), rng.random(L)
        contenders[f"{d} features"] = lambda regression=regression, theta=theta, kappa=kappa: sample_with_features(  # type: ignore[misc]
            counts, theta, kappa, regression, Schedule(SWEEPS, 1, SLICE_EVERY, 0, 1), rng
        )
    seconds = alternate(contenders)
    return [
        Row("a sweep with 20 features / one of slot_ts, N=50, L=5", ratio(seconds, "20 features", "slot_ts"), "x", 2.0),
        Row("a sweep without features / one of slot_ts, N=50, L=5", ratio(seconds, "0 features", "slot_ts"), "x"),
    ]


def main() -> bool:
    return report("features of items", "feature_speed", rows())


if __name__ == "__main__":
    main()
