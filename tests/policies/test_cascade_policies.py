"""The policies for cascades, compared with plain-Python readings of their pseudo-code."""

import math
from importlib import import_module

import numpy as np
import pytest

import slotwise as sw
from slotwise.clickmodels._click_model import ClickModel
from slotwise.policies._observations import kl_index
from tests.policies.plain_policy import LARGE, kl_bound, largest, replay

ATTRACTION = [0.3, 0.15, 0.25, 0.05, 0.1, 0.2]
CASCADE = sw.Cascade(ATTRACTION, 3)


class Plain:
    """What visitors revealed of each item."""

    def __init__(self, n_items: int, n_positions: int) -> None:
        self.n_items, self.n_positions = n_items, n_positions
        self.attracted, self.looks = [0] * n_items, [0] * n_items

    def looked_at(self, clicks: list[int]) -> int:
        """The number of positions that the visitor looked at: up to the first click."""
        return clicks.index(1) + 1 if 1 in clicks else len(clicks)

    def update(self, display: list[int], clicks: list[int]) -> None:
        for item, click in list(zip(display, clicks, strict=True))[: self.looked_at(clicks)]:
            self.looks[item] += 1
            self.attracted[item] += click

    def mean(self, item: int) -> float:
        return self.attracted[item] / self.looks[item]

    def choose(self, t: int, rng: np.random.Generator) -> list[int]:
        self.scores = [self.score(item, t, rng) for item in range(self.n_items)]
        return largest(self.scores, self.n_positions)

    def values(self, display: list[int]) -> list[float]:
        return [float(item) for item in display]

    def score(self, item: int, t: int, rng: np.random.Generator) -> float:
        return LARGE + rng.random() if self.looks[item] == 0 else self.bound(item, t)

    def bound(self, item: int, t: int) -> float:
        raise NotImplementedError


class PlainUcb1(Plain):
    def bound(self, item: int, t: int) -> float:
        return min(1.0, self.mean(item) + math.sqrt(1.5 * math.log(t) / self.looks[item]))


class PlainKlUcb(Plain):
    def bound(self, item: int, t: int) -> float:
        threshold = math.log(t) + 3.0 * math.log(max(math.log(t), 1.0))
        return kl_bound(self.mean(item), self.looks[item], threshold)

    def values(self, display: list[int]) -> list[float]:
        """Items with the same counts have the same bound, except for the error of the numerical method."""
        return [self.scores[item] for item in display]


class PlainDcmKlUcb(PlainKlUcb):
    def looked_at(self, clicks: list[int]) -> int:
        """Up to the last click."""
        return len(clicks) - clicks[::-1].index(1) if 1 in clicks else len(clicks)


class PlainTs(Plain):
    def score(self, item: int, _: int, rng: np.random.Generator) -> float:
        return rng.beta(1 + self.attracted[item], 1 + self.looks[item] - self.attracted[item])


class PlainTsCascade(Plain):
    def choose(self, t: int, rng: np.random.Generator) -> list[int]:
        z, scores = rng.standard_normal(), []
        for item in range(self.n_items):
            mean = self.mean(item) if self.looks[item] else 0.0
            level = math.log(t + 1) / (self.looks[item] + 1)
            scores.append(mean + z * max(math.sqrt(mean * (1 - mean) * level), level))
        return largest(scores, self.n_positions)


class PlainCombCascade(PlainUcb1):
    def looked_at(self, clicks: list[int]) -> int:
        """Up to the first failure."""
        return clicks.index(0) + 1 if 0 in clicks else len(clicks)


class PlainPie(Plain):
    def choose(self, t: int, rng: np.random.Generator) -> list[int]:
        means = [self.mean(item) if self.looks[item] else 1.0 + rng.random() for item in range(self.n_items)]
        display = largest(means, self.n_positions)
        if rng.random() < 0.5:
            return display
        threshold = math.log(t) + 4.0 * math.log(max(math.log(t), 1.0))
        chosen, candidates = None, 0
        for item in range(self.n_items):
            if item not in display and (
                means[item] > 1.0 or kl_bound(means[item], self.looks[item], threshold) >= means[display[-1]] - 1e-12
            ):
                candidates += 1
                if rng.random() * candidates < 1.0:
                    chosen = item
        return display if chosen is None else [chosen, *display[:-1]]


class PlainMpTs(Plain):
    def looked_at(self, clicks: list[int]) -> int:
        return len(clicks)

    def score(self, item: int, _: int, rng: np.random.Generator) -> float:
        return rng.beta(1.0 + self.attracted[item], 1.0 + self.looks[item] - self.attracted[item])


PLAIN: dict[str, tuple[type[Plain], ClickModel]] = {
    "cascade_ucb1": (PlainUcb1, CASCADE),
    "cascade_kl_ucb": (PlainKlUcb, CASCADE),
    "cascade_ts": (PlainTs, CASCADE),
    "ts_cascade": (PlainTsCascade, CASCADE),
    "dcm_kl_ucb": (PlainDcmKlUcb, sw.DCM(ATTRACTION, [0.7, 0.5, 0.3])),
    "comb_cascade": (PlainCombCascade, sw.Conjunctive([0.9, 0.6, 0.8, 0.3, 0.5, 0.7], 3)),
    "pie_l": (PlainPie, CASCADE),
    "mp_ts": (PlainMpTs, CASCADE),
}


@pytest.mark.parametrize("name", PLAIN)
def test_displays_follow_the_pseudo_code(name: str) -> None:
    plain, model = PLAIN[name]
    displays = replay(import_module(f"slotwise.policies.{name}"), plain, model, rounds=1500)
    assert len(set(map(tuple, displays))) > 10  # it explored, so the comparison means something


@pytest.mark.parametrize("name", ["cascade_kl_ucb", "dcm_kl_ucb"])
def test_the_comparison_detects_the_feedback_of_the_other_policy(name: str) -> None:
    """On visitors with several clicks, the two policies differ only in the positions that they learn from."""
    other = "dcm_kl_ucb" if name == "cascade_kl_ucb" else "cascade_kl_ucb"
    with pytest.raises(AssertionError, match="round"):
        replay(import_module(f"slotwise.policies.{name}"), PLAIN[other][0], PLAIN["dcm_kl_ucb"][1], rounds=1500)


def test_pie_tries_items_at_the_position_that_is_set() -> None:
    last = sw.simulate("pie_l", CASCADE, rounds=2000, runs=4, params={"position": 0})
    first = sw.simulate("pie_l", CASCADE, rounds=2000, runs=4, params={"position": 1})
    assert last.regret.tolist() != first.regret.tolist()


def test_kl_bounds_agree_with_bisection_from_any_start() -> None:
    rng = np.random.default_rng(2)
    for _ in range(500):
        mean, number = float(rng.choice([0.0, 1e-6, 0.02, 0.5, 0.999, 1.0])), float(rng.choice([1, 10, 1e4, 1e7]))
        threshold, start = float(rng.uniform(0.0, 30.0)), float(rng.uniform(-0.5, 1.5))
        assert kl_index(mean, number, threshold, start) == pytest.approx(kl_bound(mean, number, threshold), abs=2e-9)
