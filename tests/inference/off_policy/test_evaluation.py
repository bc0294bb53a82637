"""Off-policy estimates against the truth of a simulation."""

import numpy as np
import pytest

from slotwise.inference.off_policy.evaluation import Evaluation, TargetShares, evaluate_target
from tests.inference.off_policy.simulated_log import MODEL, VALUES, logged, propensities

ITEMS, POSITIONS = [f"item {k}" for k in range(5)], ["1", "2", "3"]
ESTIMATORS = ("model", "inverse_propensity", "self_normalised", "doubly_robust")
ORDER = np.array([[1, 0, 4]])
MIXTURE = np.array([[0, 1, 2], [2, 3, 0]])


def target(displays: np.ndarray, valued: bool = False) -> TargetShares:
    shares = propensities(displays, np.full(len(displays), 1.0 / len(displays)))
    return TargetShares(shares, ITEMS, POSITIONS, VALUES if valued else np.ones(5))


def truth(wanted: TargetShares) -> float:
    return float((wanted.shares * np.outer(MODEL.theta * wanted.values, MODEL.kappa)).sum())


def evaluations(wanted: TargetShares, logs: int, displays: int, seed: int, valued: bool = False) -> list[Evaluation]:
    rng = np.random.default_rng(seed)
    return [evaluate_target(logged(rng, displays, valued), wanted) for _ in range(logs)]


def check(wanted: TargetShares, found: list[Evaluation], covered: tuple[float, float]) -> None:
    """The mean of each estimator is within 4 standard errors of the truth, and its intervals cover the truth."""
    expected = truth(wanted)
    for name in ESTIMATORS:
        values, lows, highs = np.array([getattr(evaluation, name) for evaluation in found]).T
        error = values.std(ddof=1) / np.sqrt(len(values))
        assert abs(values.mean() - expected) < 4.0 * error, name  # false alarm: 6e-5 for each
        share = ((lows <= expected) & (expected <= highs)).mean()
        assert covered[0] <= share <= covered[1], (name, share)


def test_estimates_are_right_on_average_and_intervals_cover() -> None:
    """40 logs. An interval at level 0.9 covers fewer than 29 with probability 5e-4."""
    check(target(ORDER), evaluations(target(ORDER), 40, 2000, seed=0), (29 / 40, 1.0))


def test_values_are_earned_instead_of_clicks() -> None:
    wanted = target(MIXTURE, valued=True)
    check(wanted, evaluations(wanted, 30, 2000, seed=1, valued=True), (20 / 30, 1.0))


def test_wrong_propensities_give_a_wrong_answer() -> None:
    """Negative control: with the propensities of random order for all displays, the weighted estimates are off."""
    rng = np.random.default_rng(2)
    wanted = target(ORDER)
    values = []
    for _ in range(20):
        cells = logged(rng, 2000)
        values.append(evaluate_target(cells._replace(propensity=np.full(cells.item.size, 0.2)), wanted))
    found = np.array([evaluation.inverse_propensity.value for evaluation in values])  # type: ignore[union-attr]
    assert abs(found.mean() - truth(wanted)) > 4.0 * found.std() / np.sqrt(20)


def test_sums_of_cells_give_the_same_as_single_lines() -> None:
    cells = logged(np.random.default_rng(3), 3000)
    keys = np.stack([cells.cluster, cells.item, cells.position, np.round(cells.propensity * 1e9)], axis=1)
    _, first, inverse = np.unique(keys, axis=0, return_index=True, return_inverse=True)
    sums = {name: np.bincount(inverse.ravel(), getattr(cells, name)) for name in ("shown", "clicked", "earned")}
    kept = {name: getattr(cells, name)[first] for name in ("cluster", "item", "position", "propensity")}
    summed = evaluate_target(cells._replace(**kept, **sums), target(ORDER))
    single = evaluate_target(cells, target(ORDER))
    for name in ("inverse_propensity", "self_normalised", "doubly_robust"):
        assert getattr(summed, name) == pytest.approx(getattr(single, name))
    assert summed.effective_displays == pytest.approx(single.effective_displays)


def test_it_refuses_where_the_log_cannot_tell() -> None:
    cells = logged(np.random.default_rng(4), 3000)
    never = ~((cells.item == 1) & (cells.position == 0))
    kept = cells._replace(**{name: array[never] for name, array in cells._asdict().items() if name != "displays"})
    evaluation = evaluate_target(kept, target(ORDER))
    assert evaluation.cannot_tell == "the log never shows 'item 1' at '1'"
    assert evaluation.model is None
    assert "clicks" in evaluate_target(logged(np.random.default_rng(5), 20), target(MIXTURE)).cannot_tell


@pytest.mark.statistics
def test_coverage_over_300_logs() -> None:
    """A 90 % interval covers the truth in 85 to 95 % of 300 logs. A correct interval fails with probability 0.004."""
    check(target(ORDER), evaluations(target(ORDER), 300, 10_000, seed=6), (0.85, 0.95))
    wanted = target(MIXTURE, valued=True)
    check(wanted, evaluations(wanted, 300, 10_000, seed=7, valued=True), (0.85, 0.95))
