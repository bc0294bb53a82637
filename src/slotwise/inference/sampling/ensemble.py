"""An ensemble keeps some draws from the posterior. It draws them again when the counts have changed enough."""

from typing import NamedTuple

import numpy as np

from slotwise.checks import Floats
from slotwise.counts import CountArrays
from slotwise.inference.sampling.coordinates import ChainState
from slotwise.inference.sampling.mixing_sampler import SLICE_EVERY, Schedule, sample
from slotwise.inference.sampling.ridges import Ridges
from slotwise.jit import kernel

BURN_IN = 3  # sweeps before the first draw, if the counts have changed little since the last refill
LONG_BURN_IN = (
    100  # sweeps if the counts have changed by more than a factor of 1 + LONG_FROM: the chain may start anywhere
)
LONG_FROM = 0.5
_NEVER = -1.0


class Ensemble(NamedTuple):
    """M draws from the posterior. Clicks do not determine the scale of a draw, so its kappas sum to 1."""

    theta: Floats  # M x N; theta kappa is a click probability, so a theta may exceed 1
    kappa: Floats  # M x L
    mean_theta: Floats  # N
    mean_kappa: Floats  # L
    drawn_at: Floats  # the displays and the clicks that were counted when the draws were made


@kernel
def empty_ensemble(draws: int, n_items: int, n_positions: int) -> Ensemble:
    """An ensemble that needs a refill."""
    return Ensemble(
        np.zeros((draws, n_items)),
        np.zeros((draws, n_positions)),
        np.zeros(n_items),
        np.zeros(n_positions),
        np.full(2, _NEVER),
    )


@kernel(inline=True)
def needs_refill(counts: CountArrays, drawn_at: Floats, growth: float) -> bool:
    """Whether the displays or the clicks have grown or shrunk by the share `growth` since the draws were made."""
    displays, clicks, position_clicks = counts.displays[0], 0.0, counts.position_clicks
    for position in range(position_clicks.size):
        clicks += position_clicks[position]
    return _changed(drawn_at[0], displays, growth) or _changed(drawn_at[1], clicks, growth)


@kernel(inline=True)
def _changed(before: float, now: float, growth: float) -> bool:
    return abs(now - before) >= max(1.0, growth * before) or before < 0.0


@kernel
def refill(
    counts: CountArrays, ridges: Ridges, chain: ChainState, ensemble: Ensemble, learnt: int, rng: np.random.Generator
) -> None:
    """Draw the ensemble again. After a short burn-in from the chain's last state, each sweep gives one draw."""
    theta, kappa = chain.theta, chain.kappa
    thetas, kappas = ensemble.theta, ensemble.kappa
    mean_theta, mean_kappa = ensemble.mean_theta, ensemble.mean_kappa
    draws = thetas.shape[0]
    far = needs_refill(counts, ensemble.drawn_at, LONG_FROM) and counts.displays[0] > 0.0
    sample(
        counts, ridges, chain, Schedule(LONG_BURN_IN if far else BURN_IN, 1, 1 if far else SLICE_EVERY, 0, learnt), rng
    )
    mean_theta[:] = 0.0
    mean_kappa[:] = 0.0
    for draw in range(draws):
        sample(counts, ridges, chain, Schedule(1, 1, SLICE_EVERY, 0, learnt), rng)
        total = 0.0
        for position in range(kappa.size):
            total += kappa[position]
        for item in range(theta.size):
            thetas[draw, item] = theta[item] * total
            mean_theta[item] += theta[item] * total / draws
        for position in range(kappa.size):
            kappas[draw, position] = kappa[position] / total
            mean_kappa[position] += kappa[position] / total / draws
    ensemble.drawn_at[0] = counts.displays[0]
    ensemble.drawn_at[1] = counts.position_clicks.sum()
