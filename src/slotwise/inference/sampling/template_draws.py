"""Draws of what the pages of a template share, and draws of the thetas of one page given them.

The pages of a template have the same kappas, and all their thetas come from the same law Beta(a, b). Stack the counts
of all pages, one below the other: this is the count matrix of a single large page. `draw_template` samples its
posterior, and keeps (kappa, a, b) of each draw. Given these, the thetas of a page depend only on the counts of this
page, and they are independent. So `draw_page` draws them exactly. Each draw of a page then has the law of the joint
posterior of all pages.
"""

from typing import NamedTuple

import numpy as np

from slotwise.checks import Floats
from slotwise.copying import copy
from slotwise.counts import CountArrays
from slotwise.inference.sampling.coordinates import ChainState
from slotwise.inference.sampling.draw_budget import CELLS_SWEPT, DRAWS, number_of_draws, steps
from slotwise.inference.sampling.ensemble import BURN_IN, LONG_BURN_IN
from slotwise.inference.sampling.ensemble_draws import EnsembleDraws
from slotwise.inference.sampling.learnt_prior import Learnt
from slotwise.inference.sampling.mixing_sampler import SLICE_EVERY, Schedule, sample
from slotwise.inference.sampling.ridges import Ridges, single_component
from slotwise.inference.sampling.theta_given_kappa import draw_thetas
from slotwise.jit import kernel

LEAST_BURN_IN = 20  # sweeps of a chain that starts anywhere, on a very large template
_SWEEPS = 10  # for the kappas that a template does not know; each is determined by thetas that other positions know


class TemplateDraws(NamedTuple):
    """M draws of what the pages of a template share."""

    kappa: Floats  # M x L; NaN at a position that the template does not know
    beta: Floats  # M x 2: a theta is Beta(a, b) a priori


def draw_template(
    counts: CountArrays,
    rng: np.random.Generator,
    memory: TemplateDraws | None = None,
    far: bool = False,
    learnt: int = Learnt.FALLING,
) -> TemplateDraws:
    """Draw from the posterior of the stacked counts. The chain starts at the last draw of `memory`, if there is one.

    With `far`, the counts have changed so much that the memory may be far from the bulk of the posterior.
    """
    n_items, n_positions = counts.clicks.shape
    cells = n_items * n_positions
    chain, ridges = _chain(counts, memory, rng), single_component(n_items, n_positions)
    settling, slice_every = BURN_IN, SLICE_EVERY
    if far or memory is None:
        settling, slice_every = max(LEAST_BURN_IN, min(LONG_BURN_IN, CELLS_SWEPT // max(cells, 1))), 1
    for step in steps(settling, cells):
        sample(counts, ridges, chain, Schedule(step, 1, slice_every, 0, learnt), rng)
    size, done = number_of_draws(DRAWS, cells), 0
    draws = TemplateDraws(np.empty((size, n_positions)), np.empty((size, 2)))
    for step in steps(size, cells):
        rows = TemplateDraws(draws.kappa[done : done + step], draws.beta[done : done + step])
        _record(counts, ridges, chain, Schedule(1, 1, SLICE_EVERY, 0, learnt), rows, rng)
        done += step
    return draws


def draw_page(counts: CountArrays, template: TemplateDraws, n_draws: int, rng: np.random.Generator) -> EnsembleDraws:
    """Draw the thetas of a page given each draw of its template. The columns of both are the same.

    If the page wants more draws than the template has, several draws have the same kappas.
    """
    n_items, n_positions = counts.clicks.shape
    cells = n_items * n_positions
    draws, done = EnsembleDraws.empty(number_of_draws(n_draws, cells), n_items, n_positions), 0
    skips = np.zeros((n_items, n_positions + 1))
    skips[:, :-1] = counts.skips
    sweeps = _SWEEPS if np.isnan(template.kappa[0]).any() else 1
    order = np.arange(len(draws.theta)) % len(template.kappa)
    for step in steps(len(draws.theta), cells * sweeps):
        shared = order[done : done + step]
        given = TemplateDraws(template.kappa[shared], template.beta[shared])
        _record_given(counts, skips, given, sweeps, draws.rows(done, done + step), rng)
        done += step
    return draws


def _chain(counts: CountArrays, memory: TemplateDraws | None, rng: np.random.Generator) -> ChainState:
    """A chain that starts at the last draw, or anywhere. Its thetas are drawn given the rest."""
    kappa, beta = rng.random(counts.position_clicks.shape), np.ones(2)
    if memory is not None:
        known = ~np.isnan(memory.kappa[-1])
        kappa[known], beta = memory.kappa[-1][known], memory.beta[-1].copy()
    start = draw_page(counts, TemplateDraws(kappa[None], beta[None]), 1, rng)
    return ChainState(start.theta[0].astype(np.float64), kappa, beta)


@kernel
def _record(
    counts: CountArrays,
    ridges: Ridges,
    chain: ChainState,
    schedule: Schedule,
    draws: TemplateDraws,
    rng: np.random.Generator,
) -> None:
    """Fill the draws from the chain. Between two draws, the chain moves by the sweeps of the schedule."""
    for draw in range(draws.beta.shape[0]):
        sample(counts, ridges, chain, schedule, rng)
        copy(chain.kappa, draws.kappa[draw])
        copy(chain.beta, draws.beta[draw])


@kernel
def _record_given(
    counts: CountArrays,
    skips: Floats,
    given: TemplateDraws,
    sweeps: int,
    draws: EnsembleDraws,
    rng: np.random.Generator,
) -> None:
    """Fill the draws of a page. The last column of `skips` is for the prior.

    The prior Beta(a, b) acts like a - 1 clicks, and b - 1 skips at a position of visibility 1.
    """
    n_items, n_positions = counts.clicks.shape
    theta, kappa, columns = np.empty(n_items), np.ones(n_positions + 1), np.empty(n_positions)
    for draw in range(given.beta.shape[0]):
        known, a, b = given.kappa[draw], given.beta[draw, 0], given.beta[draw, 1]
        for position in range(n_positions):
            kappa[position] = rng.random() if np.isnan(known[position]) else known[position]
        for item in range(n_items):
            skips[item, n_positions] = b - 1.0
        for sweep in range(sweeps):
            draw_thetas(counts.item_clicks + (a - 1.0), skips, kappa, rng, theta)
            if sweep + 1 < sweeps:
                draw_thetas(counts.position_clicks, counts.skips_by_position, theta, rng, columns)
                for position in range(n_positions):
                    if np.isnan(known[position]):
                        kappa[position] = columns[position]
        copy(theta, draws.theta[draw])
        copy(kappa[:n_positions], draws.kappa[draw])
        copy(given.beta[draw], draws.beta[draw])
