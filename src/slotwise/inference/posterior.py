"""Draws of theta and kappa given counts, normalised so that they can be shown to people."""

import math
from dataclasses import dataclass

import numpy as np

from slotwise.checks import Floats, Ints
from slotwise.counts import Tally
from slotwise.inference.metropolis import sample
from slotwise.jit import kernel


@dataclass(frozen=True, eq=False)
class Posterior:
    """Posterior draws: theta is draws x N, kappa is draws x L."""

    theta: Floats
    kappa: Floats


def posterior(tally: Tally, draws: int, rng: np.random.Generator) -> Posterior:
    """Draws by the random walk with no reference, each scaled to max kappa = 1 in every connected component.

    One draw is one sweep at each of a ladder of widths, from the prior's to the posterior's, so that some
    step fits each coordinate. Successive draws are still correlated: means are good, tails are narrow.
    """
    n_items, n_positions = tally.clicks.shape
    finest = 0.25 / math.sqrt(1.0 + float(tally.displays[0]))
    widths = np.geomspace(1.0, finest, num=1 + math.ceil(math.log2(1.0 / finest)))
    theta, kappa = np.empty((draws, n_items)), np.empty((draws, n_positions))
    _chain(tally, widths, draws // 4, rng, theta, kappa)
    items, positions = components(tally)
    for label in range(n_positions):
        members = positions == label
        if members.any() and (items == label).any():  # a position that showed nothing keeps its prior
            scale = kappa[:, members].max(axis=1, keepdims=True)
            kappa[:, members] /= scale
            theta[:, items == label] *= scale
    return Posterior(theta, kappa)


@kernel
def _chain(
    tally: Tally, widths: Floats, burn_in: int, rng: np.random.Generator, thetas: Floats, kappas: Floats
) -> None:
    theta, kappa = np.full(thetas.shape[1], 0.5), np.full(kappas.shape[1], 0.5)
    for draw in range(-burn_in, thetas.shape[0]):
        for width in widths:
            sample(tally, theta, kappa, 0, width, 1, rng)
        if draw >= 0:
            thetas[draw] = theta
            kappas[draw] = kappa


def components(tally: Tally) -> tuple[Ints, Ints]:
    """Labels of the connected parts of the item-position graph: across parts only products are identified.

    A part is named after its first position; an item never shown belongs to none, -1.
    """
    shown = (tally.clicks + tally.skips) > 0.0
    positions = np.arange(shown.shape[1])
    while True:  # every position takes the least label it can reach through one item, until nothing changes
        items = np.where(shown, positions, shown.shape[1]).min(axis=1)
        reached = np.where(shown, items[:, None], shown.shape[1]).min(axis=0)
        relabelled = np.minimum(positions, reached)
        if np.array_equal(relabelled, positions):
            return np.where(items == shown.shape[1], -1, items), positions
        positions = relabelled
