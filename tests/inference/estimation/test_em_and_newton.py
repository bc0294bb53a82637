"""EM and Newton: the objective never decreases, its maximum is found, and errors follow from the curvature."""

import math

import numpy as np
import pytest
from scipy.optimize import minimize

from slotwise.checks import Floats
from slotwise.counts import CountArrays, Counts
from slotwise.inference.components import label_components
from slotwise.inference.estimation.curvature import Objective, workspace
from slotwise.inference.estimation.em import em_pass
from slotwise.inference.estimation.newton import initialise, log_likelihood, maximise, newton_step
from slotwise.inference.estimation.standard_errors import log_errors
from slotwise.paper.named_click_models import SIMULATED, setting

PRIORS = [0.0, 1e-3, 1.0]


def simulated_counts(name: str, views: int, seed: int) -> Counts:
    model = setting(name)
    clicks = np.random.default_rng(seed).binomial(views, np.outer(model.theta, model.kappa))
    return Counts(clicks, views - clicks)


def sparse(rng: np.random.Generator) -> Counts:
    """Small and sparse counts: some cells have no displays, no clicks or only clicks."""
    n_items, n_positions = rng.integers(1, 6), rng.integers(1, 5)
    views = rng.poisson(rng.choice([1, 4, 30]), (n_items, n_positions)) * (rng.random((n_items, n_positions)) < 0.7)
    theta, kappa = rng.choice([0, 0.05, 0.4, 0.9, 1], n_items), rng.choice([0, 0.2, 0.7, 1], n_positions)
    clicks = rng.binomial(views, np.outer(theta, kappa))
    return Counts(clicks, views - clicks)


def count_arrays(counts: Counts) -> CountArrays:
    """Like `counts.arrays()`, but without compiling kernels that are not under test."""
    clicks, skips = counts.clicks.copy(), counts.skips.copy()
    transposed = np.ascontiguousarray(skips.T)
    return CountArrays(clicks, skips, transposed, clicks.sum(axis=1), clicks.sum(axis=0), np.array([counts.displays]))


class Climb:
    """The maximisation of one query, step by step."""

    def __init__(self, counts: Counts, prior: float) -> None:
        n_items, n_positions = counts.clicks.shape
        self.counts, self.prior = counts, prior
        self.theta, self.kappa, self.work = np.empty(n_items), np.empty(n_positions), workspace(n_items, n_positions)
        items, positions = np.empty(n_items, np.int64), np.empty(n_positions, np.int64)
        self.objective = Objective(count_arrays(counts), prior, items, positions)
        initialise(self.objective.counts, prior, self.theta, self.kappa)
        label_components(counts.clicks, counts.skips, self.theta, self.kappa, items, positions)

    def em(self) -> float:
        return em_pass(self.objective.counts, self.prior, self.theta, self.kappa, self.work.examinations)

    def newton(self) -> tuple[float, float]:
        return newton_step(self.objective, self.theta, self.kappa, self.work)

    def maximise(self) -> tuple[int, bool]:
        return maximise(self.objective, self.theta, self.kappa, self.work)

    def log_errors(self) -> tuple[Floats, Floats]:
        theta_errors, kappa_errors = np.empty(self.theta.size), np.empty(self.kappa.size)
        log_errors(self.objective, self.theta, self.kappa, self.work, theta_errors, kappa_errors)
        return theta_errors, kappa_errors

    def height(self) -> float:
        return penalised(self.counts, self.prior, self.theta, self.kappa)


def penalised(counts: Counts, prior: float, theta: Floats, kappa: Floats) -> float:
    height = log_likelihood(counts.clicks, counts.skips, theta, kappa)
    if prior:
        both = np.concatenate([theta, kappa])
        height += prior * float((np.log(both) + np.log1p(-both)).sum())
    return height


def by_scipy(counts: Counts, prior: float) -> float:
    """The maximum, found in log space by L-BFGS-B.

    Without a prior, items and positions without clicks are 0 there and left out.
    """
    clicks, skips = counts.clicks, counts.skips
    if prior == 0:
        items, positions = clicks.sum(axis=1) > 0, clicks.sum(axis=0) > 0
        clicks, skips = clicks[items][:, positions], skips[items][:, positions]
    n = clicks.shape[0]
    top = -1e-9 if prior else 0.0

    def descent(x: Floats) -> tuple[float, Floats]:
        chance = np.minimum(np.exp(x[:n, None] + x[None, n:]), 1 - 1e-15)
        lost = skips * chance / (1 - chance)
        height = (clicks * np.log(chance)).sum() + (skips * np.log1p(-chance)).sum()
        slope = np.concatenate([(clicks - lost).sum(axis=1), (clicks - lost).sum(axis=0)])
        if prior:
            height += prior * (x + np.log(-np.expm1(x))).sum()
            slope += prior * (1 - np.exp(x) / -np.expm1(x))
        return -height, -slope

    options = {"maxiter": 3_000, "maxfun": 6_000, "ftol": 1e-15, "gtol": 1e-8}
    size = sum(clicks.shape)
    return -float(minimize(descent, np.full(size, -0.7), jac=True, bounds=[(-40, top)] * size, options=options).fun)


@pytest.mark.parametrize("prior", PRIORS)
def test_no_pass_and_no_step_decreases_the_objective(prior: float) -> None:
    rng = np.random.default_rng(4)
    for counts in [simulated_counts(name, 50, 0) for name in SIMULATED] + [sparse(rng) for _ in range(40)]:
        climb = Climb(counts, prior)
        before = climb.height()
        for k in range(30):
            climb.em() if k % 6 < 3 else climb.newton()
            after = climb.height()
            assert after >= before - 1e-12 * abs(before)
            before = after


def test_a_wrong_pass_is_detected() -> None:
    """Negative control: a pass that counts every skip as examined decreases the likelihood after EM has converged."""
    climb = Climb(simulated_counts("standard", 50, 0), 0.0)
    for _ in range(200):
        climb.em()
    before = climb.height()
    views = climb.counts.clicks + climb.counts.skips
    climb.theta[:] = climb.counts.clicks.sum(axis=1) / views.sum(axis=1)
    assert climb.height() < before - 1.0


@pytest.mark.parametrize("prior", [0.0, 1.0])
def test_the_optimum_is_that_of_another_method(prior: float) -> None:
    rng = np.random.default_rng(5)
    small = [counts for counts in (sparse(rng) for _ in range(40)) if counts.clicks.any()][:8]
    for counts in [simulated_counts("near-one", 200, 1), *small]:
        climb = Climb(counts, prior)
        _, converged = climb.maximise()
        assert converged
        gap = climb.height() - by_scipy(counts, prior)
        assert gap > -1e-6
        assert gap < 1e-3  # the other method is less accurate, but it reached the maximum


@pytest.mark.parametrize("prior", PRIORS)
def test_the_gradient_vanishes_at_the_optimum(prior: float) -> None:
    """The Kuhn-Tucker conditions, sufficient in a concave problem: gradient 0 in logs, or nonnegative at 1."""
    rng = np.random.default_rng(8)
    for counts in (sparse(rng) for _ in range(200)):
        climb = Climb(counts, prior)
        assert climb.maximise()[1]
        chance = np.outer(climb.theta, climb.kappa)
        lost = np.divide(counts.skips * chance, 1 - chance, out=np.zeros_like(chance), where=counts.skips > 0)
        gradient = np.concatenate([(counts.clicks - lost).sum(axis=1), (counts.clicks - lost).sum(axis=0)])
        both = np.concatenate([climb.theta, climb.kappa])
        if prior:
            gradient += prior * (1 - 2 * both) / (1 - both)
        inside = (both > 0) & (both < 1)
        assert np.abs(gradient[inside]).max(initial=0) < 1e-3
        assert gradient[both == 1].min(initial=0) > -1e-3
        zero = [counts.clicks.sum(axis=1) == 0, counts.clicks.sum(axis=0) == 0]
        assert prior or ((both == 0) == np.concatenate(zero)).all()


@pytest.mark.parametrize("name", SIMULATED)
def test_newton_reaches_the_optimum_of_em_in_fewer_passes(name: str) -> None:
    slow, quick = Climb(simulated_counts(name, 500, 2), 0.0), Climb(simulated_counts(name, 500, 2), 0.0)
    needed = next(k for k in range(200_000) if slow.em() < 1e-13)
    passes, converged = quick.maximise()
    assert converged
    assert passes < needed
    assert abs(quick.height() - slow.height()) < 1e-6
    np.testing.assert_allclose(
        np.outer(quick.theta, quick.kappa), np.outer(slow.theta, slow.kappa), rtol=1e-4, atol=1e-7
    )


def test_em_alone_has_not_converged_after_fifty_passes() -> None:
    """Newton's method is needed: if one display is shown nearly always, EM is far from converged after 50 passes."""
    model, rng = setting("standard"), np.random.default_rng(9)
    views = np.full((10, 5), 20) + 20_000 * np.eye(10, 5, dtype=np.int64)
    clicks = rng.binomial(views, np.outer(model.theta, model.kappa))
    slow, quick = (Climb(Counts(clicks, views - clicks), 0.0) for _ in range(2))
    for _ in range(50):
        slow.em()
    passes, converged = quick.maximise()
    assert converged
    assert passes < 20
    assert quick.height() - slow.height() > 0.1


def test_newton_converges_quadratically() -> None:
    """Near the optimum, the predicted gain of a step is about the square of the previous step's gain."""
    climb = Climb(simulated_counts("standard", 500, 3), 0.0)
    predicted = [climb.newton()[0] for _ in range(6)]
    near = [gain for gain in predicted if 1e-20 < gain < 1e-2]
    assert near[1] < near[0] ** 1.5


@pytest.mark.parametrize("prior", [0.0, 1e-9, 1.0])
def test_errors_are_those_of_the_dense_information_matrix(prior: float) -> None:
    """Compared with numpy's inverse of all N + L second derivatives, with the scale fixed explicitly."""
    climb = Climb(simulated_counts("standard", 300, 6), prior)
    climb.maximise()
    theta_error, kappa_error = climb.log_errors()

    chance = np.outer(climb.theta, climb.kappa)
    curvature = climb.counts.skips * chance / (1 - chance) ** 2
    both = np.concatenate([climb.theta, climb.kappa])
    information = np.block([[np.diag(curvature.sum(axis=1)), curvature], [curvature.T, np.diag(curvature.sum(axis=0))]])
    information += np.diag(prior * both / (1 - both) ** 2)
    top = 10 + int(climb.kappa.argmax())
    contrast = np.eye(15)  # log theta + log kappa_top, log kappa - log kappa_top
    contrast[:10, top] += 1.0
    contrast[10:, top] -= 1.0
    if prior < 1e-6:  # singular or nearly so: leaving kappa_top out fixes the scale
        free = np.arange(15) != top
        covariance = np.zeros((15, 15))
        covariance[np.ix_(free, free)] = np.linalg.inv(information[np.ix_(free, free)])
    else:
        covariance = np.linalg.inv(information)
    errors = np.sqrt(np.diag(contrast @ covariance @ contrast.T))
    np.testing.assert_allclose(theta_error, errors[:10], rtol=1e-6)
    np.testing.assert_allclose(kappa_error, errors[10:], rtol=1e-6, atol=1e-12)
    assert kappa_error[climb.kappa.argmax()] == 0.0


def test_one_item_at_one_position_is_a_binomial() -> None:
    """The closed form: rate S / V, and standard error of its logarithm sqrt((1 - p) / (p V))."""
    climb = Climb(Counts([[30]], [[70]]), 0.0)
    climb.maximise()
    assert climb.theta[0] * climb.kappa[0] == pytest.approx(0.3, abs=1e-12)
    theta_error, _ = climb.log_errors()
    assert theta_error[0] == pytest.approx(math.sqrt(0.7 / 30))
