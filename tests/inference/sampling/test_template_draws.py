"""What the pages of a template share, and the thetas of each page, have the law of the joint posterior of all pages.

Law 1: with a uniform prior, against the exact posterior of the stacked counts, by the checks of `distribution_checks`:
2,000 draws, each from another ensemble. Law 2: with a learnt law of thetas, against every fifth of 20,000 draws of
`posterior` from the stacked counts, by two-sample Kolmogorov-Smirnov tests at 2e-6 for each of five variables, which
makes 1 false alarm in 100,000 seeds. Negative control of both: draws that ignore the other page must fail.
"""

import numpy as np
import pytest
from scipy.stats import ks_2samp

import slotwise as sw
from slotwise.checks import Floats
from slotwise.counts import empty
from slotwise.inference.sampling.learnt_prior import Learnt
from slotwise.inference.sampling.template_draws import TemplateDraws, draw_page, draw_template
from tests.inference.sampling.distribution_checks import CORRELATED, correlations, disagreements
from tests.inference.sampling.exact_posterior import Exact, exact

PAGE = np.array([[4.0, 1.0], [2.0, 3.0]]), np.array([[11.0, 9.0], [8.0, 12.0]])
OTHER = np.array([[30.0, 9.0], [22.0, 5.0]]), np.array([[40.0, 71.0], [38.0, 55.0]])
BOTH = np.vstack([PAGE[0], OTHER[0]]), np.vstack([PAGE[1], OTHER[1]])
LEVEL = 2e-6


def page_draws(counts: tuple[Floats, Floats], learnt: int, seed: int, n: int) -> tuple[Floats, Floats]:
    """Theta and kappa of the page: one draw from each of many ensembles, given what the template learns from counts."""
    rng, arrays, page = np.random.default_rng(seed), sw.Counts(*counts).arrays(), sw.Counts(*PAGE).arrays()
    template: TemplateDraws | None = None
    theta, kappa = np.empty((n, 2)), np.empty((n, 2))
    for k in range(n):
        template = draw_template(arrays, rng, template, learnt=learnt)
        last = TemplateDraws(template.kappa[-1:], template.beta[-1:])
        draws = draw_page(page, last, 1, rng)
        theta[k], kappa[k] = draws.theta[0], draws.kappa[0]
    return theta, kappa


@pytest.fixture(scope="module")
def law() -> Exact:
    joint = exact(*BOTH, free_from=0)
    return Exact(joint.theta[:2], joint.kappa)


def test_draws_follow_the_exact_joint_posterior(law: Exact) -> None:
    theta, kappa = page_draws(BOTH, Learnt.NOTHING, seed=1, n=2_000)
    assert correlations(theta, kappa, law, 0).max() < CORRELATED
    assert disagreements(theta, kappa, law, 0) == []


def test_draws_that_ignore_the_other_page_do_not(law: Exact) -> None:
    assert disagreements(*page_draws(PAGE, Learnt.NOTHING, seed=1, n=2_000), law, 0) != []


def least_p_value(theta: Floats, kappa: Floats) -> float:
    """The least p-value of comparing the draws with the joint posterior, scaled to a largest kappa of 1."""
    wanted = sw.posterior(sw.Counts(*BOTH), draws=20_000, prior="falling")
    scale = kappa.max(axis=1)
    ratio, wanted_ratio = kappa[:, 1] / kappa[:, 0], wanted.kappa[::5, 1] / wanted.kappa[::5, 0]
    pairs = [(ratio, wanted_ratio)]
    for item in range(2):
        pairs.append((theta[:, item] * scale, wanted.theta[::5, item]))
        pairs.append((theta[:, item] * kappa[:, 0], wanted.theta[::5, item] * wanted.kappa[::5, 0]))
    return min(float(ks_2samp(ours, theirs).pvalue) for ours, theirs in pairs)


def test_a_learnt_law_of_thetas_is_that_of_the_joint_posterior() -> None:
    assert least_p_value(*page_draws(BOTH, Learnt.FALLING, seed=2, n=2_000)) > LEVEL
    assert least_p_value(*page_draws(PAGE, Learnt.FALLING, seed=2, n=2_000)) < LEVEL


def test_a_kappa_that_the_template_does_not_know_comes_from_the_page() -> None:
    """The thetas of 20 items are known well at position 0, so they determine the kappa of position 1: 0.4."""
    clicks = np.tile([500.0, 200.0], (20, 1))
    counts, rng = sw.Counts(clicks, 1000.0 - clicks).arrays(), np.random.default_rng(0)
    given = TemplateDraws(np.tile([1.0, np.nan], (64, 1)), np.ones((64, 2)))
    draws = draw_page(counts, given, 64, rng)
    assert draws.kappa[:, 1].mean() == pytest.approx(0.4, abs=0.01)
    assert np.all(draws.kappa[:, 0] == 1.0)


def test_a_page_without_counts_has_thetas_from_the_shared_law() -> None:
    given = TemplateDraws(np.full((64, 2), 0.5), np.tile([2.0, 30.0], (64, 1)))
    draws = draw_page(empty(200, 2), given, 100, np.random.default_rng(0))
    assert len(draws.theta) == 100  # more than the template has
    assert draws.theta.mean() == pytest.approx(2 / 32, rel=0.05)
    assert np.all(draws.beta == (2.0, 30.0))


def test_a_template_without_counts_draws_from_the_prior() -> None:
    draws = draw_template(empty(0, 3), np.random.default_rng(0))
    assert draws.kappa.shape == (64, 3)
    assert 0.2 < draws.kappa.mean() < 0.8
    assert (draws.beta >= 1.0).all()
