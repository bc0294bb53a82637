"""Queries with named items and positions, simulated from a model, for the tests of fits."""

import numpy as np

import slotwise as sw
from slotwise.checks import Floats


def simulated_query(
    name: str,
    model: sw.PBM,
    views: int = 2_000,
    seed: int = 0,
    items: list[str] | None = None,
    positions: list[str] | None = None,
) -> sw.Query:
    """Every item has `views` displays at every position."""
    return query_with_rates(name, np.outer(model.theta, model.kappa), views, seed, items, positions)


def query_with_rates(
    name: str,
    rates: Floats,
    views: int,
    seed: int,
    items: list[str] | None = None,
    positions: list[str] | None = None,
) -> sw.Query:
    clicks = np.random.default_rng(seed).binomial(views, rates)
    n_items, n_positions = clicks.shape
    names = items or [f"item {k}" for k in range(n_items)], positions or [f"position {k}" for k in range(n_positions)]
    return sw.Query(name, *names, sw.Counts(clicks, views - clicks))
