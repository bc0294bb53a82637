"""From scores to a display, compared with a slow implementation of the rule."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from slotwise.arrange import EMPTY, NO_RULES, InvalidPin, allowed_items, arrange, arrange_among, valid_pins

SCORES = st.one_of(st.sampled_from([0.0, 0.25, 0.5, 1.0]), st.floats(0.0, 1.0))  # the few values give many ties
fixed = settings(derandomize=True, deadline=None, max_examples=150)


def best_first(scores: list[float]) -> list[int]:
    return sorted(range(len(scores)), key=lambda k: (-scores[k], k))


def slow_arrange_among(
    theta: list[float], kappa: list[float], allowed: list[bool], pinned: dict[int, int]
) -> dict[int, int]:
    """Pins first, then the best remaining allowed items on the most visible remaining positions."""
    items = [item for item in best_first(theta) if allowed[item] and item not in pinned.values()]
    positions = [position for position in best_first(kappa) if position not in pinned]
    return pinned | dict(zip(positions, items, strict=False))


def arranged(theta: list[float], kappa: list[float]) -> list[int]:
    display = np.full(len(kappa), 99)
    arrange(np.array(theta), np.array(kappa), display)
    return display.tolist()


def arranged_among(
    theta: list[float], kappa: list[float], allowed: list[bool], pinned: dict[int, int]
) -> dict[int, int]:
    pins, display = np.full(len(kappa), EMPTY), np.full(len(kappa), 99)
    for position, item in pinned.items():
        pins[position] = item
    arrange_among(np.array(theta), np.array(kappa), np.array(allowed), pins, NO_RULES, display)
    return {position: item for position, item in enumerate(display.tolist()) if item != EMPTY}


@st.composite
def constrained(draw: st.DrawFn) -> tuple[list[float], list[float], list[bool], dict[int, int]]:
    theta, kappa = draw(st.lists(SCORES, min_size=1, max_size=8)), draw(st.lists(SCORES, min_size=1, max_size=6))
    allowed = draw(st.lists(st.booleans(), min_size=len(theta), max_size=len(theta)))
    items, positions = draw(st.permutations(range(len(theta)))), draw(st.permutations(range(len(kappa))))
    pins = draw(st.integers(0, min(len(theta), len(kappa))))
    return theta, kappa, allowed, dict(zip(positions[:pins], items[:pins], strict=True))


@fixed
@given(st.lists(SCORES, min_size=1, max_size=12), st.lists(SCORES, min_size=1, max_size=8))
def test_arrange_is_a_sort_of_items_onto_a_sort_of_positions(theta: list[float], kappa: list[float]) -> None:
    expected = [EMPTY] * len(kappa)
    for position, item in zip(best_first(kappa), best_first(theta), strict=False):
        expected[position] = item
    assert arranged(theta, kappa) == expected


@pytest.mark.parametrize(
    ("theta", "kappa", "display"),
    [
        pytest.param([0.1, 0.3, 0.2], [1.0, 0.5], [1, 2], id="in order of visibility"),
        pytest.param([0.1, 0.3, 0.2], [0.5, 1.0], [2, 1], id="the most visible position last"),
        pytest.param([0.2, 0.2, 0.2, 0.2], [0.7, 0.7], [0, 1], id="the lower index wins a tie"),
        pytest.param([0.0, 0.0], [0.0, 0.0], [0, 1], id="nothing attractive, nothing visible"),
        pytest.param([0.4], [0.2, 0.9, 0.5], [EMPTY, 0, EMPTY], id="one item for three positions"),
        pytest.param([0.3, 0.4], [0.2, 0.9, 0.5], [EMPTY, 1, 0], id="the least visible position stays empty"),
    ],
)
def test_arrange_by_example(theta: list[float], kappa: list[float], display: list[int]) -> None:
    assert arranged(theta, kappa) == display


def test_arrange_works_with_a_large_catalogue() -> None:
    rng = np.random.default_rng(0)
    theta, kappa = rng.random(5000), rng.random(40)
    display = np.empty(40, np.int64)
    arrange(theta, kappa, display)
    assert np.array_equal(display[np.argsort(-kappa)], np.argsort(-theta)[:40])


@fixed
@given(constrained())
def test_arrange_among_keeps_every_constraint(
    problem: tuple[list[float], list[float], list[bool], dict[int, int]],
) -> None:
    assert arranged_among(*problem) == slow_arrange_among(*problem)


@fixed
@given(st.lists(SCORES, min_size=1, max_size=8), st.lists(SCORES, min_size=1, max_size=8))
def test_without_constraints_arrange_among_is_arrange(theta: list[float], kappa: list[float]) -> None:
    shown = arranged_among(theta, kappa, [True] * len(theta), {})
    assert [shown.get(position, EMPTY) for position in range(len(kappa))] == arranged(theta, kappa)


@pytest.mark.parametrize(
    ("allowed", "pinned", "display"),
    [
        pytest.param([True, False, True, True], {}, {0: 0, 1: 2, 2: 3}, id="an item that is not allowed is not shown"),
        pytest.param([False, True, True, True], {2: 0}, {0: 1, 1: 2, 2: 0}, id="pinned though not allowed"),
        pytest.param([True, True, True, True], {2: 0}, {0: 1, 1: 2, 2: 0}, id="a pinned item is shown only once"),
        pytest.param([False, True, False, False], {0: 3}, {0: 3, 1: 1}, id="items run out at the least visible"),
        pytest.param([False] * 4, {}, {}, id="nothing allowed"),
        pytest.param([False] * 4, {0: 2, 1: 1, 2: 0}, {0: 2, 1: 1, 2: 0}, id="all pinned"),
    ],
)
def test_arrange_among_by_example(allowed: list[bool], pinned: dict[int, int], display: dict[int, int]) -> None:
    assert arranged_among([0.9, 0.8, 0.7, 0.6], [1.0, 0.5, 0.1], allowed, pinned) == display


def test_arrange_among_does_not_change_its_arguments() -> None:
    theta, kappa = np.array([0.9, 0.8, 0.7]), np.array([1.0, 0.5])
    allowed, pinned = np.array([True, False, True]), np.array([EMPTY, 1])
    before = [array.copy() for array in (theta, kappa, allowed, pinned)]
    arrange_among(theta, kappa, allowed, pinned, NO_RULES, np.empty(2, np.int64))
    for array, copy in zip((theta, kappa, allowed, pinned), before, strict=True):
        assert np.array_equal(array, copy)


@fixed
@given(constrained())
def test_scores_may_be_of_any_sign(problem: tuple[list[float], list[float], list[bool], dict[int, int]]) -> None:
    theta, kappa, allowed, pinned = problem
    below = [score - 3.0 for score in theta], [score - 3.0 for score in kappa]
    assert arranged_among(*below, allowed, pinned) == slow_arrange_among(*below, allowed, pinned)


ACTIVE = np.array([True, True, True, False])


@pytest.mark.parametrize(
    ("eligible", "excluded", "allowed"),
    [
        pytest.param(None, [], [0, 1, 2], id="all active items"),
        pytest.param([1, 3], [], [1], id="eligible and active"),
        pytest.param([], [], [], id="none eligible"),
        pytest.param(None, [0], [1, 2], id="not excluded"),
        pytest.param([0, 1], [0, 3], [1], id="excluded overrides eligible"),
    ],
)
def test_allowed_items(eligible: list[int] | None, excluded: list[int], allowed: list[int]) -> None:
    before = ACTIVE.copy()
    assert np.flatnonzero(allowed_items(ACTIVE, eligible, excluded)).tolist() == allowed
    assert np.array_equal(ACTIVE, before)


@pytest.mark.parametrize(
    ("pinned", "excluded", "page_pins", "valid"),
    [
        pytest.param({0: 1}, [], {}, {0: 1}, id="a pin"),
        pytest.param({0: 1}, [1], {}, {}, id="excluded overrides pinned"),
        pytest.param({0: 3, 1: 3}, [3], {}, {}, id="an excluded item is not checked"),
        pytest.param({}, [], {0: 1, 1: 2}, {0: 1, 1: 2}, id="pins of the page"),
        pytest.param({0: 2}, [], {0: 1, 1: 2}, {0: 2}, id="the request comes first"),
        pytest.param({0: 2}, [2], {0: 1}, {}, id="also with a pin that is ignored"),
        pytest.param({}, [1], {0: 1, 1: 3, 2: 2}, {2: 2}, id="excluded or inactive on the page"),
        pytest.param({}, [], {0: 1, 1: 1}, {0: 1}, id="twice on the page"),
    ],
)
def test_valid_pins(
    pinned: dict[int, int], excluded: list[int], page_pins: dict[int, int], valid: dict[int, int]
) -> None:
    assert valid_pins(pinned, ACTIVE, excluded, page_pins) == valid


@pytest.mark.parametrize(("pinned", "twice"), [({0: 0, 1: 3}, False), ({0: 2, 1: 2}, True)])
def test_invalid_pins(pinned: dict[int, int], twice: bool) -> None:
    with pytest.raises(InvalidPin) as caught:
        valid_pins(pinned, ACTIVE, [])
    assert (caught.value.position, caught.value.item, caught.value.twice) == (1, pinned[1], twice)
