"""Items that were never shown take part in displays without rows of their own, and the law stays that of draws by rows.

Laws: the displays of 1,000 pages, each with an ensemble of its own, are compared with those of 1,000 pages on which all
items have rows, by a chi-squared test of homogeneity. In displays, the four items that were never shown count as one
kind, because they are exchangeable; a second test checks that all of them are shown equally often. The thresholds are
those of a false-alarm rate of 1 in 10,000. Negative control: if only one of the four items takes part, the test fails.
"""

from collections import Counter
from typing import Any

import numpy as np
import pytest
from scipy.stats import chi2, ks_2samp

from slotwise.policies import slot_ts
from slotwise.service.ensembles.largest_draws import largest_draws
from slotwise.service.pages.folded import Folded
from slotwise.service.pages.page_definition import NO_PAGE, ItemPrior, ItemSpec, PageSpec
from slotwise.service.pages.page_model import PageModel
from slotwise.service.store.records import CellCounts, PageCounts, StoredPage
from tests.service.pages.test_page_learner import FALSE_ALARM, choose, homogeneity, refresh

SHOWN = [(40, 60), (35, 65), (25, 75)]  # clicks and skips of the first three items at each position
UNSHOWN = "defg"
NEW = -1


def page(seed: int, n_unshown: int = 4, segments: tuple[str, ...] = (), specs: Any = None) -> PageModel:
    body = NO_PAGE.with_spec(PageSpec(positions=["one", "two"], segments=list(segments)))
    cells = [CellCounts(item, 0, column, *SHOWN[item]) for item in range(3) for column in range(2)]
    items = [(name, (specs or {}).get(name, ItemSpec())) for name in "abc" + UNSHOWN[:n_unshown]]
    stored = StoredPage(1, "shop", 1, False, 0, 0.0, body)
    model = PageModel(stored, items, PageCounts(cells, 300.0, 0), np.random.default_rng(seed))
    choose(model)
    refresh(model, seed)
    return model


def displays(pages: int, **options: Any) -> Counter[tuple[int, ...]]:
    return Counter(choose(page(seed, **options)) for seed in range(pages))


def kinds(shown: Counter[tuple[int, ...]]) -> Counter[tuple[int, ...]]:
    result = Counter[tuple[int, ...]]()
    for display, times in shown.items():
        result[tuple(item if item < 3 else NEW for item in display)] += times
    return result


@pytest.fixture(scope="module")
def with_rows() -> Counter[tuple[int, ...]]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(slot_ts.ENSEMBLE, "shares_prior", False)
        model = page(0)
        assert model._learner.matrix.n_rows == 7
        return displays(1_000)


def test_displays_have_the_same_law_as_with_rows(with_rows: Counter[tuple[int, ...]]) -> None:
    shown = displays(1_000)
    assert homogeneity(kinds(shown), kinds(with_rows)) > FALSE_ALARM
    times = np.array([sum(n for display, n in shown.items() if item in display) for item in range(3, 7)])
    assert times.sum() > 200
    assert chi2.sf(((times - times.mean()) ** 2 / times.mean()).sum(), 3) > FALSE_ALARM


def test_fewer_unshown_items_have_another_law(with_rows: Counter[tuple[int, ...]]) -> None:
    assert homogeneity(kinds(displays(1_000, n_unshown=1)), kinds(with_rows)) < FALSE_ALARM


@pytest.mark.parametrize("beta", [(1.0, 1.0), (1.0, 12.0), (2.5, 4.0), (1e5, 9e5)])
def test_the_largest_draws_have_the_law_of_sorted_draws(beta: tuple[float, float]) -> None:
    """Two samples of 5,000 are compared at each rank by a Kolmogorov-Smirnov test with the same false-alarm rate."""
    rng = np.random.default_rng(0)
    ours = np.array([largest_draws(np.array(beta), 9, 3, rng) for _ in range(5_000)])
    theirs = -np.sort(-rng.beta(*beta, (5_000, 9)))[:, :3]
    fewer = -np.sort(-rng.beta(*beta, (5_000, 8)))[:, :3]
    assert min(ks_2samp(ours[:, k], theirs[:, k]).pvalue for k in range(3)) > FALSE_ALARM
    assert min(ks_2samp(ours[:, k], fewer[:, k]).pvalue for k in range(3)) < FALSE_ALARM


@pytest.mark.parametrize("exponential", [0.0, 1e3])
@pytest.mark.parametrize("beta", [(1.0, 12.0), (2.5, 4.0), (1e5, 9e5)])
def test_the_rarest_draws_are_finite(beta: tuple[float, float], exponential: float) -> None:
    class Rare:
        def standard_exponential(self, size: int) -> Any:
            return np.full(size, exponential)

    theta = largest_draws(np.array(beta), 1, 1, Rare())  # type: ignore[arg-type]
    assert 0.0 <= theta[0] <= 1.0


def test_an_item_gets_a_row_when_it_is_shown_or_has_a_prior() -> None:
    model = page(0, segments=("new",), specs={"g": ItemSpec(prior=ItemPrior(1.0, 5.0))})
    shown = {item for item in choose(model) if item >= 3}
    model.cells()  # applies the pending changes
    rows = model._learner.matrix.rows
    with_row = {(item, segment) for segment, item in np.argwhere(rows >= 0).tolist()}
    first = {entry for entry in with_row if entry[0] < 3}
    assert first == {(0, 0), (1, 0), (2, 0)}, "nothing was shown in the other segment"
    assert {(6, 0), (6, 1)} <= with_row
    assert {item for item, _ in with_row} >= shown


def test_a_large_page_has_few_rows_and_all_its_items_take_part() -> None:
    body = NO_PAGE.with_spec(PageSpec(positions=["one", "two"]))
    items = [(f"item{k}", ItemSpec()) for k in range(5_000)]
    stored = StoredPage(1, "shop", 1, False, 0, 0.0, body)
    model = PageModel(stored, items, PageCounts([], 0.0, 0), np.random.default_rng(0))
    shown = {item for seed in range(40) for item in choose(model) if refresh(model, seed) is None}
    assert len(shown) > 40
    assert model._learner.matrix.n_rows <= len(shown) + 1
    pinned = choose(model, pinned={"one": "item77"}, eligible=["item4999", "item77"])
    assert pinned == (77, 4999)
    assert 4999 not in choose(model, eligible=["item4999", "item4998", "item3"], excluded=["item4999"])
    model.set_items([(5_000, "late", ItemSpec())])
    assert choose(model, eligible=["late"]) == (5_000,)


def test_dropped_rows_keep_the_counts_of_the_others() -> None:
    model = page(0, segments=("new",))
    before = {cell[:3]: cell[3:] for cell in model.cells() if cell.item != 1}
    model.set_items([(1, "b", ItemSpec("retired"))])
    model.drop(Folded(frozenset([1])))
    assert model.urgency >= 0
    refresh(model, 1)
    assert {cell[:3]: cell[3:] for cell in model.cells()} == before
    assert model.folded == Folded(frozenset([1]))
    assert 1 not in choose(model)
    assert model.set_items([(1, "b", ItemSpec("retired"))])
    assert not model.set_items([(1, "b", ItemSpec("active"))]), "its counts are in the store alone"
