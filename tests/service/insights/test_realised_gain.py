"""The share of the possible gain that a page realises: nothing at first, everything when all is known."""

from itertools import permutations
from typing import Any

import numpy as np
import pytest

from slotwise.inference.sampling.posterior import Posterior
from slotwise.service.insights.insight_inputs import InsightInputs, insight_inputs
from slotwise.service.insights.insights import _sample
from slotwise.service.insights.realised_gain import realised_gain
from slotwise.service.pages.page_definition import NO_PAGE, ItemSpec, PageSpec
from slotwise.service.pages.page_model import PageModel
from slotwise.service.store.records import CellCounts, PageCounts, StoredPage

THETA, KAPPA = np.array([0.4, 0.3, 0.2, 0.1]), np.array([1.0, 0.5])


def learnt_from(views: float, items: int = 4, **spec: Any) -> tuple[InsightInputs, Posterior]:
    """A page that has shown every item equally often at both positions, and the draws of its posterior."""
    body = NO_PAGE.with_spec(PageSpec(positions=["hero", "left"], holdout=0.5, **spec))
    cells = [
        CellCounts(item, 0, column, views * theta * kappa, views * (1.0 - theta * kappa))
        for item, theta in enumerate(THETA[:items])
        for column, kappa in enumerate(KAPPA)
    ]
    stored = StoredPage(1, "shop", 1, False, 0, 0.0, body)
    names = [(f"item{k}", ItemSpec()) for k in range(items)]
    model = PageModel(stored, names, PageCounts(cells, 4 * views, 0), np.random.default_rng(0))
    inputs = insight_inputs(model, 0.0)()
    assert inputs.counts is not None
    return inputs, _sample(inputs, inputs.counts)


def test_a_page_that_knows_everything_realises_everything() -> None:
    assert realised_gain(*learnt_from(1e6)) == pytest.approx(1.0, abs=1e-3)
    assert realised_gain(*learnt_from(1e6, holdout_order="default")) is None, "the default order is the best one"


def test_a_new_page_realises_little() -> None:
    """Draws from the prior say nothing about each other, so their displays earn as little as random ones.

    With 1,000 draws, the share has a standard error of about 0.03.
    """
    share = realised_gain(*learnt_from(0.01))
    assert share is not None
    assert share < 0.15


def test_it_grows_with_the_counts() -> None:
    shares = [realised_gain(*learnt_from(views)) or 0.0 for views in (10.0, 100.0, 10_000.0)]
    assert shares == sorted(shares)
    assert 0.1 < shares[0] < 0.99 < shares[2]


def test_it_is_the_mean_over_the_draws() -> None:
    """Computed from its definition, by enumerating all displays. The random order has a standard error of 0.01."""
    inputs, draws = learnt_from(30.0)
    displays = np.array(list(permutations(range(4), 2)))
    earned = (draws.theta[:, displays] * draws.kappa[:, None, 1:]).sum(axis=2)  # draws x displays
    best = earned.argmax(axis=1)
    now = earned[np.arange(len(best)), np.roll(best, len(best) // 2)].mean()
    wanted = (now - earned.mean()) / (earned.max(axis=1).mean() - earned.mean())
    assert realised_gain(inputs, draws) == pytest.approx(wanted, abs=0.05)


def test_where_nothing_can_be_gained_there_is_no_share() -> None:
    assert realised_gain(*learnt_from(100.0, policy="uniform")) is None
