"""Off-policy estimates against the truth of a simulation."""

import numpy as np
import pytest

from slotwise.inference.off_policy.estimators import inverse_propensity
from slotwise.inference.off_policy.evaluation import Evaluation, evaluate_target
from slotwise.inference.off_policy.target import TargetShares
from tests.inference.off_policy.simulated_log import MODEL, VALUES, logged, propensities

ITEMS, POSITIONS = [f"item {k}" for k in range(5)], ["1", "2", "3"]
ESTIMATORS = ("model", "inverse_propensity", "self_normalised", "doubly_robust")
ORDER = np.array([[1, 0, 4]])
MIXTURE = np.array([[0, 1, 2], [2, 3, 0]])


def target(displays: np.ndarray, valued: bool = False) -> TargetShares:
    shares = propensities(displays, np.full(len(displays), 1.0 / len(displays)))
    return TargetShares(np.stack([shares, shares]), ITEMS, POSITIONS, VALUES if valued else np.ones(5))


def truth(wanted: TargetShares) -> float:
    return float((wanted.shares[0] * np.outer(MODEL.theta * wanted.values, MODEL.kappa)).sum())


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


def test_wrong_propensities_give_a_wrong_answer_and_are_noticed() -> None:
    """Negative control: with the propensities of random order for all displays, the weighted estimates are off."""
    rng = np.random.default_rng(2)
    wanted = target(ORDER)
    logs = [
        cells._replace(propensity=np.full(cells.item.size, 0.2)) for cells in (logged(rng, 2000) for _ in range(20))
    ]
    weights = [wanted.shares[0][cells.item, cells.position] / cells.propensity for cells in logs]
    found = np.array([inverse_propensity(*pair, 0.9).value for pair in zip(logs, weights, strict=True)])
    assert abs(found.mean() - truth(wanted)) > 4.0 * found.std() / np.sqrt(20)
    refused = evaluate_target(logs[0], wanted)
    assert "average" in refused.cannot_tell
    assert refused.inverse_propensity is None


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
    assert evaluation.inverse_propensity is None
    assert evaluation.doubly_robust is None
    few = evaluate_target(logged(np.random.default_rng(5), 20), target(MIXTURE))
    assert "clicks" in few.cannot_tell
    assert few.model is None


def test_the_model_tells_what_a_cell_earns_that_the_log_never_shows() -> None:
    """The position-based model knows theta of the item and kappa of the position from other cells."""
    cells = logged(np.random.default_rng(6), 20_000)
    never = ~((cells.item == 1) & (cells.position == 0))
    kept = cells._replace(**{name: array[never] for name, array in cells._asdict().items() if name != "displays"})
    found = evaluate_target(kept, target(ORDER)).model
    assert found is not None
    assert found.low < truth(target(ORDER)) < found.high


def test_displays_without_propensities_help_the_model_only() -> None:
    cells = logged(np.random.default_rng(7), 6000)
    unknown = cells.cluster >= 256
    some = cells._replace(
        propensity=np.where(unknown, np.inf, cells.propensity), displays=cells.displays * (np.arange(512) < 256)
    )
    kept = cells._replace(**{name: array[~unknown] for name, array in cells._asdict().items() if name != "displays"})
    without = evaluate_target(kept._replace(displays=some.displays), target(ORDER))
    found = evaluate_target(some, target(ORDER))
    assert found.inverse_propensity == pytest.approx(without.inverse_propensity)
    assert found.logged == pytest.approx(without.logged)
    assert found.model.high - found.model.low < 0.9 * (without.model.high - without.model.low)  # type: ignore[union-attr]
    none = evaluate_target(cells._replace(propensity=np.full(cells.item.size, np.inf)), target(ORDER))
    assert none.cannot_tell == "the log has no propensities"
    assert none.model is not None


def test_displays_that_cannot_show_the_target_are_noticed() -> None:
    """Half of the displays show a fixed order with propensity 1. Weighting them would halve the estimate."""
    cells = logged(np.random.default_rng(8), 6000)
    fixed = (cells.cluster >= 256) & (cells.item == cells.position)
    kept = (cells.cluster < 256) | fixed
    mixed = cells._replace(propensity=np.where(fixed, 1.0, cells.propensity))
    mixed = mixed._replace(**{name: array[kept] for name, array in mixed._asdict().items() if name != "displays"})
    assert "could not show" in evaluate_target(mixed, target(ORDER)).cannot_tell


@pytest.mark.statistics
def test_coverage_over_300_logs() -> None:
    """A 90 % interval covers the truth in 85 to 95 % of 300 logs. A correct interval fails with probability 0.004."""
    check(target(ORDER), evaluations(target(ORDER), 300, 10_000, seed=6), (0.85, 0.95))
    wanted = target(MIXTURE, valued=True)
    check(wanted, evaluations(wanted, 300, 10_000, seed=7, valued=True), (0.85, 0.95))
