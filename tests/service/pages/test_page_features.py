"""A page with features: where new items start, before and after the next ensemble.

The page has eight good and eight bad items, each displayed 60 times at each of two positions: 30 % and 3 % clicks.
"""

from collections import Counter
from typing import Any

import msgspec
import numpy as np
import pytest

from slotwise.service.errors import FieldError
from slotwise.service.pages.page_checks import check_page
from slotwise.service.pages.page_definition import NO_PAGE, ItemPrior, ItemSpec, PageSpec
from slotwise.service.pages.page_features import FeatureScaling, FeatureTable, feature_problems
from slotwise.service.pages.page_model import PageModel
from slotwise.service.store.records import CellCounts, PageCounts, StoredPage
from tests.service.pages.test_page_learner import choose, refresh

DECLARED: Any = {"kind": ["good", "bad", "other"], "price": "number"}
GOOD, BAD = {"kind": "good", "price": 30.0}, {"kind": "bad", "price": 50.0}
NAMES = [f"{kind}{k}" for k in range(8) for kind in ("good", "bad")]
CELLS = [
    CellCounts(item, 0, column, clicks, 60.0 - clicks)
    for item, name in enumerate(NAMES)
    for column, clicks in enumerate([18.0, 12.0] if name[0] == "g" else [2.0, 1.0])
]


def page(seed: int = 0, segments: tuple[str, ...] = (), declared: Any = DECLARED) -> PageModel:
    spec = PageSpec(positions=["one", "two"], features=declared, segments=list(segments))
    items = [(name, ItemSpec(features=GOOD if name[0] == "g" else BAD)) for name in NAMES]
    stored = StoredPage(1, "shop", 1, False, 0, 0.0, NO_PAGE.with_spec(spec))
    model = PageModel(stored, items, PageCounts(CELLS, 960.0, 0), np.random.default_rng(seed))
    choose(model)
    refresh(model, seed)
    return model


def add(model: PageModel, **items: ItemSpec) -> None:
    model.set_items([(len(model.specs) + k, name, spec) for k, (name, spec) in enumerate(items.items())])


def times_shown(model: PageModel, displays: int = 400, **request: Any) -> Counter[str]:
    return Counter(model.names[item] for _ in range(displays) for item in choose(model, **request))


@pytest.mark.parametrize("refreshed", [False, True])
def test_a_new_item_starts_where_its_features_put_it(refreshed: bool) -> None:
    model = page()
    add(model, new_good=ItemSpec(features=GOOD), new_bad=ItemSpec(features=BAD))
    if refreshed:
        refresh(model, 1)
        assert model._learner.matrix.n_rows == len(NAMES), "items without counts have no rows"
    shown = times_shown(model)
    assert shown["new_good"] > 40
    assert shown["new_bad"] < 20


@pytest.mark.parametrize("refreshed", [False, True])
def test_without_features_new_items_start_alike(refreshed: bool) -> None:
    """The negative control: both new items have no features."""
    model = page(declared={})
    add(model, new_good=ItemSpec(), new_bad=ItemSpec())
    if refreshed:
        refresh(model, 1)
    shown = times_shown(model)
    assert abs(shown["new_good"] - shown["new_bad"]) < 60


def test_an_item_with_a_prior_of_its_own_starts_from_both() -> None:
    model = page()
    worse = ItemSpec(features=GOOD, prior=ItemPrior(0.0, 300.0))
    add(model, new_good=ItemSpec(features=GOOD), known_bad=worse)
    shown = times_shown(model)
    assert shown["new_good"] > 40
    assert shown["known_bad"] < 10


@pytest.mark.parametrize(("prior", "lowest", "highest"), [(ItemPrior(0.0, 300.0), 0.0, 0.4), (None, 0.6, 1.6)])
def test_an_ensemble_knows_the_prior_of_an_item(prior: ItemPrior | None, lowest: float, highest: float) -> None:
    """Six pages: the share of one varies, because the visibility of a prior is unknown. Without a prior: the control.

    With the seeds 0 to 11, the ratio was 0.14 with the prior and 1.08 without.
    """
    shown = Counter[str]()
    for seed in range(6):
        model = page(seed)
        add(model, new_good=ItemSpec(features=GOOD), known_bad=ItemSpec(features=GOOD, prior=prior))
        refresh(model, 1)
        shown += times_shown(model)
    assert shown["new_good"] > 240
    assert lowest <= shown["known_bad"] / shown["new_good"] < highest


def test_every_segment_starts_from_the_same_regression() -> None:
    model = page(segments=("new",))
    for segment in (None, "new"):
        shown = times_shown(model, segment=segment)
        good = sum(times for name, times in shown.items() if name.startswith("good"))
        assert good > 0.85 * sum(shown.values())


def test_changed_features_take_effect_with_the_next_ensemble() -> None:
    model = page()
    add(model, new=ItemSpec(features=BAD))
    refresh(model, 1)
    before = times_shown(model)["new"]
    model.set_items([(len(NAMES), "new", ItemSpec(features=GOOD))])
    assert model.urgency >= 0
    refresh(model, 2)
    assert times_shown(model)["new"] > before + 30


def test_a_change_of_scale_changes_no_display() -> None:
    """The regression learns from scaled numbers, so a price may be in euros or in cents."""
    model = page()
    model.set_items(
        [
            (k, name, ItemSpec(features=spec.features | {"price": 100.0 * spec.features["price"] + 7.0}))  # type: ignore[operator]
            for k, (name, spec) in enumerate(zip(model.names, model.specs, strict=True))
        ]
    )
    refresh(model, 1)
    scaling = model._learner._memory_scaling
    assert scaling is not None
    np.testing.assert_allclose(scaling.numbers[:, 3], [4007.0, 1000.0])
    shown = times_shown(model)
    assert sum(times for name, times in shown.items() if name.startswith("good")) > 0.85 * sum(shown.values())


def test_other_features_need_the_page_to_be_loaded_again() -> None:
    model = page()
    spec = msgspec.structs.replace(model.page.body.spec, features={"price": "number"})
    assert not model.redefine(model.page._replace(body=model.page.body.with_spec(spec)))


def test_the_columns_of_a_table() -> None:
    table = FeatureTable(DECLARED, [{"kind": "bad", "price": 4.0}, {"price": 8.0}, {"kind": "gone", "other": 1.0}])
    assert [column.name for column in table.columns] == ["kind=good", "kind=bad", "kind=other", "price"]
    np.testing.assert_equal(table.values, [[0, 1, 0, 4], [0, 0, 0, 8], [0, 0, 0, np.nan]])
    scaled = FeatureScaling(table.columns, table.values).scaled(table.values)
    np.testing.assert_allclose(scaled, [[0, 1, 0, -1], [0, 0, 0, 1], [0, 0, 0, 0]])
    before = table.values
    table.change([(3, {"kind": "other"}), (1, {})], 4)
    np.testing.assert_equal(table.values[[1, 3], 2:], [[0, np.nan], [1, np.nan]])
    assert before.shape == (3, 4), "a background thread may be reading the old array"


@pytest.mark.parametrize(
    ("features", "pointer", "detail"),
    [
        ({"kind": "ugly"}, "/features/kind", "unknown value of kind 'ugly'; known: bad, good, other"),
        ({"kind": 3.0}, "/features/kind", "unknown value of kind 3.0; known: bad, good, other"),
        ({"price": "30"}, "/features/price", "'30' is not a number"),
        ({"colour": "red"}, "/features/colour", "unknown feature 'colour'; known: kind, price"),
    ],
)
def test_features_that_do_not_fit(features: Any, pointer: str, detail: str) -> None:
    assert feature_problems(DECLARED, GOOD) == []
    assert feature_problems(DECLARED, features) == [FieldError(pointer, detail)]
    (undeclared,) = feature_problems({}, features)
    assert "declares no features" in undeclared.detail


@pytest.mark.parametrize(
    ("fields", "pointer"),
    [
        ({"features": {"a": ["x", "y", "x"]}}, "/features/a"),
        ({"features": {f"f{k}": ["a", "b"] for k in range(33)}}, "/features"),
        ({"features": {"a": "number"}, "policy": "greedy"}, "/features"),
        ({"policy": "feature_ts", "params": {"features": [[1.0]]}}, "/params"),
    ],
)
def test_declarations_that_do_not_fit(fields: Any, pointer: str) -> None:
    assert check_page(PageSpec(positions=["one"], features={f"f{k}": ["a", "b"] for k in range(32)})) == []
    assert [problem.pointer for problem in check_page(PageSpec(positions=["one"], **fields))] == [pointer]
