"""A sampler of the PBM's posterior that mixes well. A sweep updates single coordinates, then moves along ridges."""

from typing import NamedTuple

import numpy as np

from slotwise.counts import CountArrays
from slotwise.inference.sampling.coordinate_step import Scan, redraw
from slotwise.inference.sampling.coordinates import BetaFactor, ChainState, Conditionals
from slotwise.inference.sampling.learnt_prior import Learnt, learn
from slotwise.inference.sampling.ridges import PositionScan, Ridges, find_main_positions, rescale, slide
from slotwise.jit import kernel

SLICE_EVERY = 32  # a slice step costs about three times as much as a matched step


class Schedule(NamedTuple):
    """Which coordinates the sampler updates, and how often."""

    sweeps: int
    stride: int  # a sweep updates every stride-th item and position, and begins with a random one
    slice_every: int  # SLICE_EVERY, or 1 if the chain may start far from the bulk of the posterior
    free_from: int  # the first position whose kappa is not fixed
    learnt: int  # which of the prior's a and b are updated: a `Learnt`


@kernel
def sample(
    counts: CountArrays, ridges: Ridges, state: ChainState, schedule: Schedule, rng: np.random.Generator
) -> None:
    """Update the state in place.

    A priori, kappa is uniform and theta is Beta(a, b). This kernel is not inlined, because it is long. One compiled
    copy serves all callers, and the cost of a call is small in comparison.
    """
    theta, kappa, beta = state.theta, state.kappa, state.beta
    clicks, skips, skips_by_position = counts.clicks, counts.skips, counts.skips_by_position
    item_clicks, position_clicks = counts.item_clicks, counts.position_clicks
    main_positions, items, positions = ridges.main_positions, ridges.items, ridges.positions
    stride, slice_every, free_from = schedule.stride, schedule.slice_every, schedule.free_from
    uniform = BetaFactor(0.0, 0.0)
    find_main_positions(clicks, main_positions)
    for _ in range(schedule.sweeps):
        prior = BetaFactor(beta[0] - 1.0, beta[1] - 1.0)
        first = int(stride * rng.random())
        redraw(theta, Conditionals(item_clicks, skips, kappa), prior, Scan(first, stride, slice_every), rng)
        first_free = first if first >= free_from else first + stride
        redraw(
            kappa,
            Conditionals(position_clicks, skips_by_position, theta),
            uniform,
            Scan(first_free, stride, slice_every),
            rng,
        )
        scan = PositionScan(first, stride, free_from)
        slide(scan, clicks, skips, theta, kappa, main_positions, items, positions, prior, rng)
        rescale(free_from, theta, kappa, items, positions, prior, rng)
        if schedule.learnt != Learnt.NOTHING:
            learn(beta, schedule.learnt, theta, rng)
