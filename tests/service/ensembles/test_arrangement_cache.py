"""Displays from the same draw share their arrangement, until something that it depends on changes."""

from typing import Any

import msgspec
import numpy as np
from scipy.stats import chi2

from slotwise.service.ensembles.arrangement_cache import ArrangementCache
from slotwise.service.pages.page_definition import NO_PAGE, ItemSpec, PageSpec
from slotwise.service.pages.page_model import PageModel
from slotwise.service.pages.recommendation_request import RecommendationRequest
from slotwise.service.store.records import Arrangement, CellCounts, Display, PageCounts, StoredPage

NAMES = "abcdef"
MANY = 1_000  # displays; each of the 64 draws is picked


SHOWN = [CellCounts(item, 0, 0, 1.0, 4.0) for item in range(len(NAMES))]


def page(**spec: Any) -> StoredPage:
    layouts = {"wide": ["one", "two"], "narrow": ["only"]}
    return StoredPage(1, "shop", 1, False, 0, 0.0, NO_PAGE.with_spec(PageSpec(layouts=layouts, **spec)))


def make_model(
    cache: ArrangementCache | None = None, *, extra: dict[str, ItemSpec] | None = None, **spec: Any
) -> PageModel:
    """A page on which all items have been shown without a segment, except the extra ones."""
    items = {name: ItemSpec() for name in NAMES} | (extra or {})
    counts, rng = PageCounts(SHOWN, 30.0, 0), np.random.default_rng(0)
    model = PageModel(page(**spec), list(items.items()), counts, rng, arrangements=cache)
    choose(model, eligible=list(NAMES))
    refresh(model)
    return model


def refresh(model: PageModel) -> None:
    model.install(model.begin_refresh().run(np.random.default_rng(1)))


def choose(model: PageModel, now: float = 0.0, **request: Any) -> Display:
    return model.choose(RecommendationRequest(**request), "view", 0, now)


def shown(model: PageModel, now: float = 0.0, **request: Any) -> set[str]:
    """The items of many displays."""
    return {model.names[entry.item] for _ in range(MANY) for entry in choose(model, now, **request).entries}


def arrangements(model: PageModel, **request: Any) -> set[int]:
    return {id(choose(model, **request).entries) for _ in range(MANY)}


def test_the_displays_of_a_draw_share_their_entries() -> None:
    model = make_model()
    wide, narrow = arrangements(model), arrangements(model, layout="narrow")
    assert len(wide) <= 64
    assert len(narrow) <= 64
    assert arrangements(model) | wide == wide  # the other layout has not evicted them
    assert arrangements(model, layout="narrow") | narrow == narrow


def test_the_shared_display_is_the_one_that_the_draw_gives() -> None:
    """The displays with and without constraints have the same law, because constraints that change nothing do."""
    model = make_model()
    kept = [choose(model).entries for _ in range(MANY)]
    everything = [choose(model, eligible=list(NAMES)).entries for _ in range(MANY)]
    pairs = [{tuple(entry.item for entry in entries) for entries in listed} for listed in (kept, everything)]
    assert pairs[0] & pairs[1]
    assert {entry.reason for entries in kept for entry in entries} == {"learnt"}
    assert {entry.reason for entries in everything for entry in entries} == {"eligible"}


def test_constraints_of_a_request_hold_for_it_alone() -> None:
    model = make_model()
    assert shown(model) == set(NAMES)
    assert shown(model, excluded=["a"]) == set(NAMES) - {"a"}
    assert shown(model, eligible=["b", "c"]) == {"b", "c"}
    assert choose(model, pinned={"one": "d"}).entries[0].reason == "pinned"
    assert shown(model) == set(NAMES)


def test_a_paused_item_is_not_shown_again() -> None:
    model = make_model()
    assert shown(model) == set(NAMES)
    model.set_items([(0, "a", ItemSpec(state="paused"))])
    assert shown(model) == set(NAMES) - {"a"}


def test_an_item_whose_validity_ends_is_not_shown_again() -> None:
    model = make_model()
    model.set_items([(0, "a", ItemSpec(valid_until=100.0))])
    refresh(model)
    assert shown(model, now=99.0) == set(NAMES)
    assert shown(model, now=101.0) == set(NAMES) - {"a"}


def test_a_new_item_takes_part_at_once() -> None:
    model = make_model()
    assert shown(model) == set(NAMES)
    model.set_items([(len(NAMES), "new", ItemSpec())])
    assert shown(model) == {*NAMES, "new"}


def test_items_that_were_never_shown_are_drawn_for_every_display() -> None:
    """They are shown equally often. From the 64 arrangements of a cache, they would not be: a chi-squared test fails.

    The threshold is that of a false-alarm rate of 1 in 10,000. A page of 300 such items shows most of them, although
    64 arrangements of 2 positions have room for 128.
    """
    few = make_model(extra={f"new{k}": ItemSpec() for k in range(4)})
    times = np.zeros(4)
    for _ in range(2 * MANY):
        new = [entry.item - len(NAMES) for entry in choose(few).entries if entry.item >= len(NAMES)]
        times[new] += 1.0
    assert times.sum() > 400
    assert chi2.sf(((times - times.mean()) ** 2 / times.mean()).sum(), 3) > 1e-4
    assert len(shown(make_model(extra={f"new{k}": ItemSpec() for k in range(300)}))) > 200


def test_only_items_that_may_be_shown_for_the_segment_keep_the_cache_from_being_used() -> None:
    model = make_model(extra={"new": ItemSpec(state="paused"), "next": ItemSpec(valid_from=100.0)}, segments=["app"])
    kept = [choose(model, now=99.0) for _ in range(MANY)]
    assert len({id(display.entries) for display in kept}) <= 64
    other = [choose(model, now=99.0, segment="app") for _ in range(MANY)]
    assert len({id(display.entries) for display in other}) == MANY, "nothing was shown for this segment"
    assert shown(model, now=101.0) == {*NAMES, "next"}
    assert len({id(entries) for entries in [choose(model, now=101.0).entries for _ in range(MANY)]}) == MANY


def test_a_new_pin_holds_at_once() -> None:
    model = make_model()
    assert shown(model, layout="narrow") > {"a"}
    before = model.page
    body = msgspec.structs.replace(before.body, pins={"narrow": {"only": "a"}})
    assert model.redefine(before._replace(body=body))
    assert shown(model, layout="narrow") == {"a"}
    assert choose(model, layout="narrow").entries[0].reason == "pinned"
    assert model.redefine(before)
    assert shown(model, layout="narrow") > {"a"}


def test_a_new_ensemble_replaces_all_arrangements() -> None:
    model = make_model()
    before = [choose(model) for _ in range(MANY)]  # keeps the lists, so that no id is used twice
    refresh(model)
    assert not arrangements(model) & {id(display.entries) for display in before}


def test_all_pages_together_keep_a_limited_number() -> None:
    cache = ArrangementCache(most=100)
    models = [make_model(cache) for _ in range(3)]
    for model in models:
        arrangements(model)
    kept = [sum(len(arranged.by_pick) for arranged in model._chooser._arranged.values()) for model in models]
    assert sum(kept) <= 100
    assert kept[2] > 30  # the newest stay
    arranged = dict[int, Arrangement]()
    for pick in range(150):
        cache.add(arranged, pick, Arrangement([], []))
    assert list(arranged) == list(range(50, 150))
