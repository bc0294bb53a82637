"""A page that starts with what another page, or a fit, says about the visibility of the positions."""

import json
from pathlib import Path

import numpy as np
import pytest

import slotwise as sw

POSITIONS = ["hero", "left", "footer"]
KAPPA = [0.2, 1.0, 0.5]  # the first position is not the most visible one
OTHER, ITEMS = ["hat", "tie", "bag", "sock"], ["hat", "pen", "book"]


def fitted(views: int = 20_000, positions: list[str] = POSITIONS) -> sw.QueryFit:
    clicks = np.random.default_rng(1).binomial(views, np.outer([0.3, 0.2, 0.1, 0.15], KAPPA))
    return sw.fit_queries([sw.Query("clothes", OTHER, positions, sw.Counts(clicks, views - clicks))])[0]


def learnt(**settings: object) -> sw.Recommender:
    return sw.Recommender.from_fit(fitted(), displays=None, **settings)


@pytest.mark.parametrize("source", [fitted, learnt])
def test_the_page_knows_the_visibility_but_not_the_items(source) -> None:
    page = sw.Recommender(ITEMS, POSITIONS, visibility=source(), seed=1)
    assert page.items == ITEMS
    assert page.retired == []
    assert page.visibility_rows == [f"{name} (visibility)" for name in OTHER]
    assert page.all_items == ITEMS + page.visibility_rows
    assert page.counts.clicks.shape == (7, 3)
    assert page.counts.clicks[:3].sum() == page.counts.skips[:3].sum() == 0.0
    kappa = page.kappa
    np.testing.assert_allclose([kappa[name] for name in POSITIONS], KAPPA, atol=0.03)
    assert list(page.theta) == ITEMS
    for _ in range(50):
        assert sorted(page.recommend().values()) == sorted(ITEMS)


def test_without_visibility_the_page_knows_nothing() -> None:
    """Negative control."""
    page = sw.Recommender(ITEMS, POSITIONS, seed=1)
    assert page.visibility_rows == []
    assert np.abs([page.kappa[name] - value for name, value in zip(POSITIONS, KAPPA, strict=True)]).max() > 0.2


@pytest.mark.parametrize("policy", ["slot_ts", "pb_mhb", "greedy"])
def test_the_first_clicked_item_moves_to_the_position_that_is_known_to_be_visible(policy: str) -> None:
    """After 200 displays, the best item is known. At least nine of ten displays have it at the position that the fit
    says is most visible."""
    page = sw.Recommender(ITEMS, POSITIONS, policy, visibility=fitted(), seed=3)
    display = {"hero": "book", "left": "pen", "footer": "hat"}
    for k in range(200):
        page.learn(display, ["left"] if k % 2 else [])
    shown = [page.recommend() for _ in range(60)][10:]  # the chain first moves to the new counts
    assert sum(each["left"] == "pen" for each in shown) >= 45


def test_columns_are_matched_by_name() -> None:
    turned = POSITIONS[::-1]
    page = sw.Recommender(ITEMS, turned, visibility=fitted(), seed=1)
    np.testing.assert_array_equal(page.counts.clicks[3:], fitted().counts.clicks[:, ::-1])
    np.testing.assert_array_equal(page.counts.skips[3:], fitted().counts.skips[:, ::-1])


def test_the_weight_is_limited() -> None:
    fit = fitted()
    page = sw.Recommender(ITEMS, POSITIONS, visibility=fit, visibility_displays=100, seed=1)
    np.testing.assert_allclose(page.counts.clicks[3:], fit.counts.clicks * 100 / fit.displays)
    assert page.counts.displays == pytest.approx(100)


def test_rows_without_counts_are_left_out_and_an_empty_page_says_nothing() -> None:
    source = sw.Recommender(OTHER, POSITIONS)
    assert sw.Recommender(ITEMS, POSITIONS, visibility=source).all_items == ITEMS
    source.learn({"hero": "hat", "left": "bag", "footer": "tie"}, ["left"])
    page = sw.Recommender(ITEMS, POSITIONS, visibility=source)
    assert page.visibility_rows == ["hat (visibility)", "tie (visibility)", "bag (visibility)"]


def test_what_a_page_was_given_is_passed_on() -> None:
    first = sw.Recommender(ITEMS, POSITIONS, visibility=fitted(), seed=1)
    display = first.recommend()
    first.learn(display)
    second = sw.Recommender(["pen", "cup", "jug"], POSITIONS, visibility=first, seed=2)
    assert len(second.visibility_rows) == len(set(second.visibility_rows)) == 7
    np.testing.assert_array_equal(second.counts.clicks[3:], first.counts.clicks)
    assert abs(second.kappa["left"] - 1.0) < 0.01


def test_visibility_rows_are_no_items() -> None:
    page = sw.Recommender(ITEMS, POSITIONS, visibility=fitted(), seed=1)
    row = page.visibility_rows[0]
    for call in [
        lambda: page.recommend(pinned={"hero": row}),
        lambda: page.recommend(eligible=[row]),
        lambda: page.learn({"hero": row}),
        lambda: page.retire(row),
        lambda: page.add(row),
    ]:
        with pytest.raises(sw.BadInput, match="visibility"):
            call()
    assert "3 items, 3 positions" in repr(page)
    assert row not in page._repr_html_()
    page.add("cup")
    assert page.items == [*ITEMS, "cup"]
    assert page.all_items[-1] == "cup"
    assert set(page.recommend().values()) <= set(page.items)
    page.add("tie")
    assert page.counts.clicks[-1].sum() == 0.0  # the item of this page, not the row of the other page


def test_rows_get_names_that_no_item_has() -> None:
    page = sw.Recommender(["hat (visibility)", *ITEMS], POSITIONS, visibility=fitted(), seed=1)
    assert page.visibility_rows[0] == "hat (visibility) (visibility)"
    assert len(set(page.all_items)) == 8


def test_a_page_with_visibility_is_saved_and_loaded(tmp_path: Path) -> None:
    page = sw.Recommender(ITEMS, POSITIONS, visibility=fitted(), seed=4)
    page.add("cup")
    page.retire("pen")
    page.save(tmp_path / "page.json")
    again = sw.Recommender.load(tmp_path / "page.json")
    assert [page.recommend() for _ in range(20)] == [again.recommend() for _ in range(20)]
    for name in ("items", "retired", "visibility_rows", "all_items"):
        assert getattr(again, name) == getattr(page, name)
    document = json.loads((tmp_path / "page.json").read_text())
    assert document["body"]["retired"] == ["pen", *page.visibility_rows]  # slotwise 0.1.0 does not show them either
    document["body"]["visibility_rows"] = ["ring"]
    (tmp_path / "wrong.json").write_text(json.dumps(document))
    with pytest.raises(sw.BadInput, match="damaged"):
        sw.Recommender.load(tmp_path / "wrong.json")


def test_the_posterior_and_the_labels_have_all_rows() -> None:
    page = sw.Recommender(ITEMS, POSITIONS, visibility=fitted(), seed=4)
    drawn = page.posterior(draws=400)
    assert drawn.items == page.all_items
    assert drawn.displays.max() < 3  # the best displays have items of this page only


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"visibility": sw.PBM([0.5] * 3, [1.0] * 3)}, "is not a Recommender or a QueryFit"),
        ({"visibility": fitted(positions=["hero", "left", "right"])}, r"'right'\]; it must have those of the page"),
        ({"visibility": fitted(), "visibility_displays": -1}, "displays = -1 is not a number of at least 0"),
    ],
)
def test_bad_input_is_refused(settings: dict[str, object], message: str) -> None:
    with pytest.raises(sw.BadInput, match=message):
        sw.Recommender(ITEMS, POSITIONS, **settings)
