"""A template learns from the counts that its pages have in memory, without those that have left the memory."""

import msgspec
import numpy as np

from slotwise.service.pages.folded import Folded
from slotwise.service.pages.page_definition import NO_PAGE, ItemPrior, ItemSpec, PageSpec
from slotwise.service.pages.page_model import PageModel
from slotwise.service.store.records import CellCounts, PageCounts, StoredPage
from slotwise.service.templates.page_template import PageTemplate
from slotwise.service.templates.template_counts import PageBlock, TemplateCounts
from tests.service.pages.test_page_learner import choose, refresh

POSITIONS = ["one", "two", "three"]
CELLS = [CellCounts(item, 0, column, 1.0 + item, 10.0 + column) for item in range(4) for column in range(3)]


def page(name: str, positions: list[str]) -> PageModel:
    """A page that had the positions one, two and three. Its last two items were never shown. One has a prior."""
    before = NO_PAGE.with_spec(PageSpec(positions=POSITIONS, template="grid"))
    body = before.with_spec(msgspec.structs.replace(before.spec, positions=positions))
    specs = [ItemSpec()] * 4 + [ItemSpec(prior=ItemPrior(2.0, 5.0)), ItemSpec()]
    stored = StoredPage(1, name, 1, False, 0, 0.0, body)
    return PageModel(stored, list(zip("abcdef", specs, strict=True)), PageCounts(CELLS, 100.0, 0), rng())


def rng() -> np.random.Generator:
    return np.random.default_rng(0)


def named(block: PageBlock) -> list[dict[str, tuple[float, float]]]:
    """The clicks and skips of each row by position. The column of the priors has the name `prior`."""
    names = ["prior", *(position for _, position in block.columns)]
    return [
        {name: (clicks, skips) for name, clicks, skips in zip(names, *row, strict=True) if clicks or skips}
        for row in zip(block.clicks.tolist(), block.skips.tolist(), strict=True)
    ]


def dropped() -> PageModel:
    """A page without its second item and its second position."""
    model = page("small", ["one", "three"])
    model.set_items([(1, "b", ItemSpec("retired"))])
    model.drop(Folded(frozenset([1]), frozenset([1])))
    refresh(model, 0)
    return model


def test_a_block_has_the_rows_and_columns_that_are_in_memory() -> None:
    whole, smaller = page("whole", POSITIONS).block(), dropped().block()
    wanted = [{name: (1.0 + item, 10.0 + k) for k, name in enumerate(POSITIONS)} for item in range(4)]
    prior = {"prior": (2.0, 3.0)}
    assert [row for row in named(whole) if row != prior] == wanted
    assert named(whole).count(prior) == 1
    kept = [{name: row[name] for name in ("one", "three")} for k, row in enumerate(wanted) if k != 1]
    assert [row for row in named(smaller) if row != prior] == kept
    assert named(smaller).count(prior) == 1
    assert smaller.displays == whole.displays == 100.0
    stacked = TemplateCounts([smaller, whole], 2, 200.0).stacked()
    assert stacked.clicks.sum() == smaller.clicks.sum() + whole.clicks.sum()
    assert stacked.clicks.shape == (9, 4)


def test_a_page_takes_the_draws_of_its_own_positions() -> None:
    """The template knows the removed position from another page, and has the columns in another order."""
    model, other = dropped(), page("other", POSITIONS)
    counts = TemplateCounts([model.block(), other.block()], 2, 200.0)
    template = PageTemplate("grid", lambda: counts, lambda _: None)
    template.install(template.begin_refresh().run(rng()))
    model.join(template)
    choose(model)
    refresh(model, 1)
    shared, ensemble = template.shared, model._learner._ensemble
    assert shared is not None
    assert [position for _, position in shared.columns] == ["one", "three", "two"]
    for column, position in ((1, "one"), (3, "three")):
        drawn = shared.draws.kappa[:, shared.columns["default", position]]
        assert set(ensemble.scores.kappa[:, column]) <= set(drawn.astype(np.float32))
    assert 1 not in {item for _ in range(50) for item in choose(model)}
