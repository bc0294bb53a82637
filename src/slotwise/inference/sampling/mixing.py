"""A sampler of the PBM's posterior that mixes: matched steps for each coordinate, then moves along the ridges."""

import numpy as np

from slotwise.checks import Floats
from slotwise.counts import CountArrays
from slotwise.inference.sampling.beta_prior import Learnt, learn
from slotwise.inference.sampling.coordinate_step import redraw
from slotwise.inference.sampling.ridges import Ridges, find_homes, rescale, slide
from slotwise.jit import kernel

RARELY = 32  # a slice costs about three times as much as a matched step


@kernel
def sample(
    tally: CountArrays,
    theta: Floats,
    kappa: Floats,
    beta: Floats,
    learnt: int,
    free_from: int,
    ridges: Ridges,
    stride: int,
    slice_every: int,
    sweeps: int,
    rng: np.random.Generator,
) -> None:
    """Move (theta, kappa) by `sweeps` passes, every kappa from position `free_from` on being free.

    A priori kappa is uniform and theta ~ Beta(beta[0], beta[1]); these two move too, as far as `learnt` says. A pass
    takes every `stride`-th item and position, from a random one on: with 1 all, with 2 half of them in half the time.
    `slice_every` is RARELY, or 1 for a start that may be far from all that the counts allow. Not inlined: it is long,
    so one compiled copy serves all callers, and a call costs little beside it.
    """
    clicks, skips, skips_by_position = tally.clicks, tally.skips, tally.skips_by_position
    item_clicks, position_clicks = tally.item_clicks, tally.position_clicks
    homes, items, positions = ridges.homes, ridges.items, ridges.positions
    find_homes(clicks, homes)
    for _ in range(sweeps):
        more_clicks, more_skips = beta[0] - 1.0, beta[1] - 1.0
        first = int(stride * rng.random())
        redraw(theta, first, stride, item_clicks, skips, kappa, more_clicks, more_skips, slice_every, rng)
        free = first if first >= free_from else first + stride
        redraw(kappa, free, stride, position_clicks, skips_by_position, theta, 0.0, 0.0, slice_every, rng)
        counted = (clicks, skips, theta, kappa)
        slide(first, stride, free_from, *counted, homes, items, positions, more_clicks, more_skips, rng)
        rescale(theta, kappa, free_from, items, positions, more_clicks, more_skips, rng)
        if learnt != Learnt.NOTHING:
            learn(beta, learnt, theta, rng)
