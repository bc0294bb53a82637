"""Logs with known propensities and visitors with known thetas and kappas."""

import numpy as np

import slotwise as sw
from slotwise.checks import Floats
from slotwise.inference.off_policy.logged_cells import LoggedCells

CLUSTERS = 512  # as many as the service has
MODEL = sw.PBM(theta=[0.5, 0.35, 0.3, 0.2, 0.1], kappa=[1.0, 0.6, 0.3])
VALUES = np.array([1.0, 2.0, 1.0, 3.0, 1.0])
ENSEMBLE = np.array([[0, 1, 2], [0, 2, 1], [1, 0, 2], [0, 1, 3], [0, 3, 2], [2, 0, 4], [0, 1, 4], [1, 0, 3]])


def propensities(displays: Floats, weights: Floats) -> Floats:
    """Items x positions: how often a mixture of displays shows each item at each position."""
    shares = np.zeros((MODEL.theta.size, MODEL.kappa.size))
    for display, weight in zip(displays, weights, strict=True):
        shares[display, np.arange(MODEL.kappa.size)] += weight
    return shares


def logged(rng: np.random.Generator, n_displays: int, valued: bool = False) -> LoggedCells:
    """A log of two kinds of displays: random orders, and picks from eight draws. Visitors click by the model."""
    n_items, n_positions = MODEL.theta.size, MODEL.kappa.size
    shares = propensities(ENSEMBLE, np.full(8, 1.0 / 8.0))
    is_random = rng.random(n_displays) < 0.4
    display = np.where(
        is_random[:, None],
        rng.permuted(np.tile(np.arange(n_items), (n_displays, 1)), axis=1)[:, :n_positions],
        ENSEMBLE[rng.integers(8, size=n_displays)],
    )
    position = np.tile(np.arange(n_positions), (n_displays, 1))
    propensity = 0.4 / n_items + 0.6 * shares[display, position]
    clicked = rng.random(display.shape) < MODEL.theta[display] * MODEL.kappa[position]
    cluster = rng.integers(CLUSTERS, size=n_displays)
    values = VALUES if valued else np.ones(n_items)
    return LoggedCells(
        np.repeat(cluster, n_positions),
        display.ravel(),
        position.ravel(),
        propensity.ravel(),
        np.ones(display.size),
        clicked.ravel().astype(float),
        (clicked * values[display]).ravel(),
        np.bincount(cluster, minlength=CLUSTERS).astype(float),
    )
