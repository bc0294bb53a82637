"""The position-based model, compared with brute force and with its law."""

import math
from itertools import permutations

import numpy as np
import pytest

from slotwise.clickmodels.pbm import PBM, click

# A test of frequencies fails when |z| > 5. For a standard normal z, the false-alarm rate is 1 in 1.7 million.
Z_LIMIT = 5.0


def random_model(seed: int) -> PBM:
    rng = np.random.default_rng(seed)
    n_items = int(rng.integers(1, 6))
    n_positions = int(rng.integers(1, n_items + 1))
    # one digit only, so that ties are common
    return PBM(rng.random(n_items).round(1), rng.random(n_positions).round(1))


def expectation(model: PBM, display: tuple[int, ...]) -> float:
    return math.fsum(model.theta[item] * model.kappa[k] for k, item in enumerate(display))


def draw_clicks(model: PBM, display: list[int], visitors: np.random.Generator) -> list[int]:
    clicks = np.full(len(display), 9)
    click(model.arrays(), np.array(display), visitors, clicks)
    return clicks.tolist()


def click_z(model: PBM, display: list[int], chances: np.ndarray, visitors: int = 8_000) -> np.ndarray:
    """The deviation of the clicks of many visitors from these probabilities, in standard deviations, by position."""
    rng = np.random.default_rng(3)
    mean = np.mean([draw_clicks(model, display, rng) for _ in range(visitors)], axis=0)
    return np.abs(mean - chances) / np.sqrt(chances * (1.0 - chances) / visitors)


@pytest.mark.parametrize("seed", range(40))
def test_no_display_is_better_than_the_best_one(seed: int) -> None:
    model = random_model(seed)
    displays = list(permutations(range(model.theta.size), model.kappa.size))
    values = [expectation(model, display) for display in displays]
    best = tuple(model.best_display().tolist())
    assert best in displays
    assert expectation(model, best) == pytest.approx(max(values), abs=1e-12)
    for display, value in zip(displays, values, strict=True):
        assert model.expected_clicks(np.array(display)) == pytest.approx(value, abs=1e-12)


def test_the_best_item_is_at_the_most_visible_position() -> None:
    assert PBM([0.1, 0.9, 0.5, 0.7], [0.2, 1.0, 0.6]).best_display().tolist() == [2, 1, 3]


def test_expected_clicks_by_hand() -> None:
    model = PBM([0.5, 0.2, 0.4], [1.0, 0.25])
    assert model.expected_clicks(np.array([1, 2])) == pytest.approx(0.2 + 0.25 * 0.4)
    assert model.expected_clicks([2, 1]) == pytest.approx(0.4 + 0.25 * 0.2)


def test_click_frequencies_are_theta_times_kappa() -> None:
    model = PBM([0.9, 0.3, 0.05, 0.5], [1.0, 0.6, 0.2])
    display = [2, 0, 1]
    chances = model.theta[display] * model.kappa
    assert (click_z(model, display, chances) < Z_LIMIT).all()


def test_the_test_of_frequencies_detects_a_wrong_probability() -> None:
    model = PBM([0.9, 0.3, 0.05, 0.5], [1.0, 0.6, 0.2])
    wrong = model.theta[[2, 0, 1]] * model.kappa * 1.2
    assert (click_z(model, [2, 0, 1], wrong) > Z_LIMIT).any()


def test_positions_are_clicked_independently() -> None:
    model, rng, visitors = PBM([0.5, 0.5], [1.0, 1.0]), np.random.default_rng(8), 8_000
    both = np.mean([draw_clicks(model, [0, 1], rng) == [1, 1] for _ in range(visitors)])
    z = abs(both - 0.25) / math.sqrt(0.25 * 0.75 / visitors)
    assert z < Z_LIMIT  # one draw shared by all positions would give 0.5


@pytest.mark.parametrize("display", [[0, 1, 2], [2, 3, 0], [3, 2, 1]])
def test_one_uniform_number_is_drawn_per_position_for_any_display(display: list[int]) -> None:
    model = PBM([0.0, 1.0, 0.4, 0.7], [1.0, 0.5, 0.0])
    visitors, reference = np.random.default_rng(4), np.random.default_rng(4)
    for _ in range(50):
        uniforms = reference.random(3)
        assert draw_clicks(model, display, visitors) == (uniforms < model.theta[display] * model.kappa).tolist()
    assert visitors.random() == reference.random()


def test_certain_and_impossible_clicks() -> None:
    model, rng = PBM([1.0, 0.0, 1.0], [1.0, 1.0, 0.0]), np.random.default_rng(0)
    assert all(draw_clicks(model, [0, 1, 2], rng) == [1, 0, 0] for _ in range(200))


def test_shuffled_keeps_the_first_position_and_every_value() -> None:
    model = PBM([0.1, 0.2, 0.3, 0.4], [0.5, 1.0, 0.2, 0.2])
    for seed in range(20):
        shuffled = model.shuffled(np.random.default_rng(seed))
        assert shuffled.kappa[0] == 0.5
        assert sorted(shuffled.theta) == sorted(model.theta)
        assert sorted(shuffled.kappa) == sorted(model.kappa)
    assert model.theta.tolist() == [0.1, 0.2, 0.3, 0.4]
    assert model.kappa.tolist() == [0.5, 1.0, 0.2, 0.2]


def test_shuffled_reaches_every_order() -> None:
    model, rng = PBM([0.1, 0.2, 0.3], [1.0, 0.5, 0.2]), np.random.default_rng(1)
    shuffles = [model.shuffled(rng) for _ in range(300)]
    # the probability that any of the 12 orders is missing is below 12 (11/12)^300, 6 in 10^11
    assert len({(*shuffled.theta.tolist(), *shuffled.kappa.tolist()) for shuffled in shuffles}) == 12


def test_a_model_does_not_change_with_the_array_it_was_made_from() -> None:
    theta = np.array([0.5, 0.2])
    model = PBM(theta, [1.0])
    theta[0] = 7.0  # after the model has checked its values
    assert model.theta.tolist() == [0.5, 0.2]
