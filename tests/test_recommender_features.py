"""Features of the items of a `Recommender`."""

from pathlib import Path

import numpy as np
import pytest

import slotwise as sw
from slotwise.checks import BadInput
from slotwise.item_features import MOST_COLUMNS, feature_matrix

POSITIONS = ["one", "two", "three"]
GOOD, BAD = {"kind": "good", "price": 3.0}, {"kind": "bad", "price": 5}


def learnt_page() -> sw.Recommender:
    """A page with good and bad items, each displayed 60 times at every position: 40 % and 4 % clicks."""
    items = [f"{kind}{k}" for k in range(8) for kind in ("good", "bad")]
    page = sw.Recommender(items, POSITIONS, features={name: GOOD if name[0] == "g" else BAD for name in items})
    rng = np.random.default_rng(1)
    for _ in range(320):
        shown = dict(zip(POSITIONS, rng.permutation(items)[:3].tolist(), strict=True))
        chances = {where: 0.4 if name[0] == "g" else 0.04 for where, name in shown.items()}
        page.learn(shown, [where for where, chance in chances.items() if rng.random() < chance])
    return page


def times_shown(page: sw.Recommender, rounds: int = 400) -> dict[str, int]:
    shown: dict[str, int] = {}
    for _ in range(rounds):
        for name in page.recommend().values():
            shown[name] = shown.get(name, 0) + 1
    return shown


def test_a_new_item_starts_where_its_features_put_it() -> None:
    page = learnt_page()
    page.add("new good", "new bad", features={"new good": GOOD, "new bad": BAD})
    shown = times_shown(page)
    assert shown["new good"] > 60
    assert shown.get("new bad", 0) < 20


def test_without_features_new_items_start_alike() -> None:
    """The negative control: the same page, but both new items have no features."""
    page = learnt_page()
    page.add("new good", "new bad")
    shown = times_shown(page)
    assert abs(shown["new good"] - shown["new bad"]) < 60


def test_a_loaded_copy_continues_with_the_same_displays(tmp_path: Path) -> None:
    page = learnt_page()
    page.add("new", features={"new": {"kind": "other"}})
    page.recommend()
    page.save(tmp_path / "page.json")
    copy = sw.Recommender.load(tmp_path / "page.json")
    assert copy.features == page.features
    assert [copy.recommend() for _ in range(20)] == [page.recommend() for _ in range(20)]


def test_features_can_be_replaced() -> None:
    page = learnt_page()
    page.add("new", features={"new": BAD})
    before = times_shown(page).get("new", 0)
    page.set_features({"new": GOOD})
    assert page.features["new"] == GOOD
    assert times_shown(page)["new"] > before + 50


def test_effects_say_which_features_matter() -> None:
    """Good items get ten times as many clicks as bad ones; the shelf is noise."""
    page = learnt_page()
    shelf = np.random.default_rng(3).random(len(page.items))
    page.set_features(
        {name: {"kind": page.features[name]["kind"], "shelf": shelf[k]} for k, name in enumerate(page.items)}
    )
    effects = page.feature_effects()
    assert set(effects) == {"kind=good", "kind=bad", "shelf"}
    assert 0.8 < effects["kind=good"].mean - effects["kind=bad"].mean < 3.2
    assert effects["shelf"].low < 0 < effects["shelf"].high
    assert effects == page.feature_effects()


def test_numbers_are_scaled_and_categories_become_columns() -> None:
    features = {"a": {"price": 2.0, "kind": "x"}, "b": {"price": 4.0, "kind": "y"}, "c": {"kind": "x"}}
    expected = [[-1, 1, 0], [1, 0, 1], [0, 1, 0], [0, 0, 0]]
    assert feature_matrix(["a", "b", "c", "d"], features).tolist() == expected


@pytest.mark.parametrize(
    "features",
    [
        {"a": {"price": 1.0}, "b": {"price": "low"}},
        {"a": {"price": float("nan")}},
        {"unknown": {"price": 1.0}},
        {"a": {"price": [1]}},
        {"a": 3},
        {"a": {f"feature {k}": 1.0 for k in range(MOST_COLUMNS + 1)}},
    ],
)
def test_invalid_features_change_nothing(features: dict) -> None:  # type: ignore[type-arg]
    with pytest.raises(BadInput):
        sw.Recommender(["a", "b"], ["one"], features=features)
    page = sw.Recommender(["a", "b"], ["one"], features={"a": {"price": 2.0}})
    with pytest.raises(BadInput):
        page.set_features(features)
    assert page.features == {"a": {"price": 2.0}}
    assert page.recommend()


def test_other_policies_refuse_features() -> None:
    with pytest.raises(BadInput, match="feature_ts"):
        sw.Recommender(["a", "b"], ["one"], "pb_mhb", features={"a": {"price": 1.0}})
