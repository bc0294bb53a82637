"""Particle Thompson sampling (PTS): it learns a vector of each visitor and of each item from ratings or clicks.

Kawale, Bui, Kveton, Tran-Thanh and Chawla 2015, "Efficient Thompson Sampling for Online Matrix-Factorization
Recommendation".
"""

import math
from typing import NamedTuple

import numpy as np

from slotwise.arrange import arrange
from slotwise.checks import Floats, Ints
from slotwise.clickmodels._click_model import NO_CONTEXT, ONE_CLICK, UNKNOWN_LEVEL, Context, Feedback, FeedbackUnit
from slotwise.jit import kernel
from slotwise.policies._linear_model import add_row, solve_lower, solve_upper
from slotwise.policies._position_order import by_position

FEEDBACK = (Feedback.CLICKS, Feedback.RATING)


class Params(NamedTuple):
    """Settings."""

    particles: int = 30
    factors: int = 2  # how many numbers a vector has
    noise: float = 0.5  # the standard deviation of a rating
    visitor_scale: float = 1.0  # the standard deviation of the numbers of a visitor, before the first rating
    item_scale: float = 1.0  # that of an item
    context: Context = NO_CONTEXT  # its first factor says who the visitor is; a simulation sets it
    unit: FeedbackUnit = ONE_CLICK  # a simulation takes it from its click model


def check(params: Params) -> str | None:
    """An error message if the settings are invalid, else None."""
    for name, number in (("particles", params.particles), ("factors", params.factors)):
        if number < 1:
            return f"{name} = {number!r} is not a whole number of at least 1"
    scales = {name: getattr(params, name) for name in ("noise", "visitor_scale", "item_scale")}
    for name, scale in scales.items():
        if not 0.0 < scale < math.inf:
            return f"{name} = {scale!r} is not a number above 0"
    return None


class Vectors(NamedTuple):
    """The vectors of all visitors or of all items, in each particle: their Gaussian law and the last draw."""

    factor: Floats  # P x n x K x K: the Cholesky factor of the precision
    sums: Floats  # P x n x K: the sum of rating x vector / noise^2
    drawn: Floats  # P x n x K


class Waiting(NamedTuple):
    """The last round, until the next one."""

    visitor: Ints  # one number, or -1 if nothing waits
    items: Ints  # L
    ratings: Floats  # L


class State(NamedTuple):
    """The particles, and the scores of the last round."""

    visitors: Vectors  # the last row is for visitors who are not known
    items: Vectors
    weights: Floats  # P: their sum is 1
    offspring: Ints  # P: how often a particle is resampled
    scores: Floats  # N
    work: Floats  # 2 x K
    order: Floats  # scores of the positions: the first is the best
    waiting: Waiting


@kernel
def init(params: Params, n_items: int, n_positions: int, rng: np.random.Generator) -> State:
    """The state before the first round. All vectors are drawn from their prior."""
    sizes, n_particles = params.context.sizes, params.particles
    n_visitors = 1 + (sizes[0] if sizes.size > 0 else 0)
    visitors = drawn_from_prior(n_particles, n_visitors, params.factors, params.visitor_scale, rng)
    items = drawn_from_prior(n_particles, n_items, params.factors, params.item_scale, rng)
    weights, offspring = np.full(n_particles, 1.0 / n_particles), np.zeros(n_particles, np.int64)
    scores, work, order = np.zeros(n_items), np.zeros((2, params.factors)), by_position(n_positions)
    waiting = Waiting(np.array([-1]), np.zeros(n_positions, np.int64), np.zeros(n_positions))
    return State(visitors, items, weights, offspring, scores, work, order, waiting)


@kernel
def drawn_from_prior(n_particles: int, n: int, n_factors: int, scale: float, rng: np.random.Generator) -> Vectors:
    """Independent vectors in each particle."""
    factor, drawn = np.zeros((n_particles, n, n_factors, n_factors)), np.zeros((n_particles, n, n_factors))
    for particle in range(n_particles):
        for i in range(n):
            for k in range(n_factors):
                factor[particle, i, k, k] = 1.0 / scale
                drawn[particle, i, k] = scale * rng.standard_normal()
    return Vectors(factor, np.zeros((n_particles, n, n_factors)), drawn)


@kernel(inline=True)
def choose(params: Params, state: State, rng: np.random.Generator, display: Ints) -> None:
    """Learn from the last round. Then draw a particle and the visitor's vector, and show the items that fit best."""
    weights, all_scores, waiting = state.weights, state.scores, state.waiting
    if waiting.visitor[0] >= 0:
        for position in range(waiting.items.size):
            learn(params, state, rng, waiting.visitor[0], waiting.items[position], waiting.ratings[position])
        waiting.visitor[0] = -1
    visitor, u, particle = visitor_now(params, state), rng.random(), 0
    while particle < weights.size - 1 and u >= weights[particle]:
        u -= weights[particle]
        particle += 1
    draw_vector(state.visitors, particle, visitor, rng, state.work[0])
    vectors, items = state.visitors.drawn, state.items.drawn
    for item in range(all_scores.size):
        all_scores[item] = product(vectors[particle, visitor], items[particle, item])
    arrange(all_scores, state.order, display)


@kernel(inline=True)
def update(params: Params, state: State, display: Ints, clicks: Ints) -> None:
    """Keep what the visitor revealed. The next call of `choose` learns from it, because this takes random numbers."""
    waiting = state.waiting
    waiting.visitor[0] = visitor_now(params, state)
    for position in range(display.size):
        waiting.items[position] = display[position]
        waiting.ratings[position] = clicks[position] * params.unit.value


@kernel(inline=True)
def visitor_now(params: Params, state: State) -> int:
    """The row of the visitor of this round."""
    levels = params.context.levels
    if levels.size == 0 or levels[0] == UNKNOWN_LEVEL:
        return int(state.visitors.sums.shape[1]) - 1
    return int(levels[0])


@kernel
def learn(params: Params, state: State, rng: np.random.Generator, visitor: int, item: int, rating: float) -> None:
    """Weigh the particles by a rating, resample them if few have most of the weight, and draw both vectors again.

    Kawale et al. resample in every round. Resampling only when the effective number of particles is below half gives
    the same law with less noise, and copies less.
    """
    weights, visitors, items, work = state.weights, state.visitors, state.items, state.work
    variance = params.noise * params.noise
    largest = -math.inf
    for particle in range(weights.size):
        factor, row, mean = visitors.factor[particle, visitor], work[0], work[1]
        for k in range(row.size):
            row[k] = items.drawn[particle, item, k]
            mean[k] = visitors.sums[particle, visitor, k]
        solve_lower(factor, row)
        solve_lower(factor, mean)
        spread = variance + product(row, row)
        missed = rating - product(row, mean)
        weights[particle] = math.log(weights[particle]) - 0.5 * (math.log(spread) + missed * missed / spread)
        largest = max(largest, weights[particle])
    total = 0.0
    for particle in range(weights.size):
        weights[particle] = max(math.exp(weights[particle] - largest), 1e-300)
        total += weights[particle]
    for particle in range(weights.size):
        weights[particle] /= total
    if 1.0 / product(weights, weights) < 0.5 * weights.size:
        resample(state, rng)
    for particle in range(weights.size):
        add_rating(visitors, particle, visitor, items.drawn[particle, item], rating, variance, work[0])
        draw_vector(visitors, particle, visitor, rng, work[0])
        add_rating(items, particle, item, visitors.drawn[particle, visitor], rating, variance, work[0])
        draw_vector(items, particle, item, rng, work[0])


@kernel(inline=True)
def product(a: Floats, b: Floats) -> float:
    """The sum of the products of two vectors."""
    total = 0.0
    for k in range(a.size):
        total += a[k] * b[k]
    return total


@kernel
def add_rating(
    vectors: Vectors, particle: int, row: int, other: Floats, rating: float, variance: float, work: Floats
) -> None:
    """Add a rating to the law of one vector. `other` is the vector on the other side."""
    sums, root = vectors.sums, math.sqrt(variance)
    for k in range(work.size):
        sums[particle, row, k] += rating * other[k] / variance
        work[k] = other[k] / root
    add_row(vectors.factor[particle, row], work)


@kernel
def draw_vector(vectors: Vectors, particle: int, row: int, rng: np.random.Generator, work: Floats) -> None:
    """Draw one vector from its law, N((L L^T)^-1 sums, (L L^T)^-1)."""
    factor = vectors.factor[particle, row]
    sums, drawn = vectors.sums, vectors.drawn
    for k in range(work.size):
        work[k] = sums[particle, row, k]
    solve_lower(factor, work)
    for k in range(work.size):
        work[k] += rng.standard_normal()
    solve_upper(factor, work)
    for k in range(work.size):
        drawn[particle, row, k] = work[k]


@kernel
def resample(state: State, rng: np.random.Generator) -> None:
    """Systematic resampling: a particle with the weight w is copied about P w times. Then all weights are equal."""
    weights, offspring = state.weights, state.offspring
    n, u, total = weights.size, rng.random(), 0.0
    done = 0
    for particle in range(n):
        total += weights[particle] * n
        offspring[particle] = 0
        while done < n and u + done < total:
            offspring[particle] += 1
            done += 1
    offspring[n - 1] += n - done  # rounding may leave the last one
    free = 0
    for particle in range(n):
        for _ in range(1, offspring[particle]):
            while offspring[free] > 0:
                free += 1
            copy_particle(state.visitors, particle, free)
            copy_particle(state.items, particle, free)
            free += 1
    for particle in range(n):
        weights[particle] = 1.0 / n


@kernel
def copy_particle(vectors: Vectors, source: int, target: int) -> None:
    """Make one particle a copy of another."""
    factor, sums, drawn = vectors.factor, vectors.sums, vectors.drawn
    for row in range(sums.shape[1]):
        for k in range(sums.shape[2]):
            sums[target, row, k] = sums[source, row, k]
            drawn[target, row, k] = drawn[source, row, k]
            for i in range(sums.shape[2]):
                factor[target, row, k, i] = factor[source, row, k, i]
