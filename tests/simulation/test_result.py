"""Results: statistics compared with values computed by hand, saving and loading, and pairing."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from slotwise.checks import BadInput
from slotwise.clickmodels.cascade import Cascade
from slotwise.clickmodels.pbm import PBM
from slotwise.simulation.result import Result

VISITORS = PBM([0.3, 0.1 + 0.2], [1.0])
REGRET = np.array([[1.0, 4.0, 0.1 + 0.2], [2.0, 8.0, 1e-17], [6.0, 3.0, 12345.678901234567]])


def result(regret: np.ndarray = REGRET, **changed: object) -> Result:
    whole = Result(
        policy="pb_mhb",
        params={"width": 100.0, "sweeps": 1, "reference": "first"},
        visitors=VISITORS,
        seed=2**70,
        delay=3,
        rounds=np.array([1, 10, 100]),
        regret=regret,
        seconds=0.123456789012345678,
    )
    return replace(whole, **changed)  # type: ignore[arg-type]


def test_statistics_over_runs_by_hand() -> None:
    three_runs = result(np.array([[1.0, 10.0], [2.0, 20.0], [6.0, 60.0]]), rounds=np.array([5, 50]))
    assert three_runs.runs == 3
    assert three_runs.mean().tolist() == [3.0, 30.0]
    # the squared deviations of 1, 2, 6 from 3 sum to 14; two degrees of freedom, three runs
    assert three_runs.standard_error() == pytest.approx([(14 / 2 / 3) ** 0.5, 10 * (14 / 2 / 3) ** 0.5])
    assert three_runs.quantiles([0.0, 0.25, 0.5, 1.0]).tolist() == [[1.0, 10.0], [1.5, 15.0], [2.0, 20.0], [6.0, 60.0]]
    assert three_runs.microseconds == pytest.approx(1e6 * 0.12345678901234568 / (3 * 50))


def test_a_single_run_has_no_standard_error() -> None:
    single = result(REGRET[:1])
    assert single.mean().tolist() == REGRET[0].tolist()
    assert np.isnan(single.standard_error()).all()
    assert single.standard_error().shape == (3,)
    assert np.isnan(single.difference(single).standard_error).all()


def test_a_difference_is_taken_run_by_run() -> None:
    mine, other = np.array([[1.0], [20.0], [60.0]]), np.array([[0.0], [18.0], [57.0]])
    rounds = np.array([9])
    gap = result(mine, rounds=rounds).difference(result(other, rounds=rounds, policy="uniform", params={}, delay=0))
    assert gap.rounds.tolist() == [9]
    assert gap.mean.tolist() == [2.0]
    # the differences 1, 2, 3 vary far less than the regrets: an unpaired error would be near 17
    assert gap.standard_error == pytest.approx([(2 / 2 / 3) ** 0.5])


def test_a_ratio_is_one_of_means_with_the_error_of_the_delta_method() -> None:
    rounds = np.array([9])
    mine = result(np.array([[4.0], [8.0], [12.0]]), rounds=rounds)
    other = result(np.array([[1.0], [5.0], [6.0]]), rounds=rounds, policy="uniform")
    ratio = mine.ratio(other)
    assert ratio.rounds.tolist() == [9]
    assert ratio.value.tolist() == [2.0]
    # A - 2 B is 2, -2, 0: squared deviations sum to 8; two degrees of freedom, three runs, divided by the mean of B
    assert ratio.standard_error == pytest.approx([(8 / 2 / 3) ** 0.5 / 4])
    assert mine.ratio(mine).standard_error.tolist() == [0.0]
    assert np.isnan(mine.ratio(result(np.zeros((3, 1)), rounds=rounds)).value).all()  # nothing to divide by


def ratio_errors(paired: bool, runs: int = 30, samples: int = 2000) -> float:
    """The mean standard error of a ratio, divided by the standard deviation of the ratio over many samples."""
    rng = np.random.default_rng(3)
    visitors = rng.normal(0.0, 20.0, (samples, runs))  # what both regrets of a run have in common
    mine, other = (visitors + rng.normal(mean, 5.0, (samples, runs)) for mean in (110.0, 100.0))
    one = result(mine.T, rounds=np.arange(1, samples + 1))
    two = result(other.T, rounds=one.rounds)
    ratio = one.ratio(two)
    unpaired = ratio.value * np.hypot(one.standard_error() / one.mean(), two.standard_error() / two.mean())
    return float((ratio.standard_error if paired else unpaired).mean() / ratio.value.std())


def test_the_error_of_a_ratio_is_the_standard_deviation_of_ratios() -> None:
    # 2,000 samples: the standard deviation has an error of 1.6 %, so 8 % is five of them
    assert ratio_errors(paired=True) == pytest.approx(1.0, abs=0.08)
    assert ratio_errors(paired=False) > 2.0  # the error of independent runs is far too large


@pytest.mark.parametrize(
    ("other", "says"),
    [
        pytest.param(result(REGRET[:2]), "runs and checkpoints", id="other runs"),
        pytest.param(result(rounds=np.array([1, 10, 99])), "runs and checkpoints", id="other checkpoints"),
        pytest.param(result(REGRET[:, :1], rounds=np.array([1])), "runs and checkpoints", id="fewer checkpoints"),
        pytest.param(result(seed=5), "seed and the same click model", id="other seed"),
        pytest.param(result(visitors=PBM([0.3, 0.2], [1.0])), "seed and the same click model", id="other theta"),
        pytest.param(result(visitors=Cascade([0.3, 0.1 + 0.2], 1)), "the same click model", id="other click model"),
        pytest.param(result(visitors=PBM([0.3, 0.1 + 0.2], [0.5])), "seed and the same click model", id="other kappa"),
    ],
)
def test_results_of_different_simulations_are_not_paired(other: Result, says: str) -> None:
    assert not result().is_paired_with(other)
    with pytest.raises(BadInput, match=says):
        result().ratio(other)
    with pytest.raises(BadInput, match=says):
        result().difference(other)


def test_a_saved_result_loads_bit_for_bit(tmp_path: Path) -> None:
    saved = result()
    saved.save(tmp_path / "result.json")
    again = Result.load(str(tmp_path / "result.json"))
    for name in ("policy", "params", "seed", "delay", "seconds"):
        assert getattr(again, name) == getattr(saved, name)
    assert again.visitors.parameters() == saved.visitors.parameters() == {"theta": [0.3, 0.1 + 0.2], "kappa": [1.0]}
    for name in ("rounds", "regret"):
        mine, theirs = getattr(saved, name), getattr(again, name)
        assert mine.dtype == theirs.dtype
        assert mine.tolist() == theirs.tolist()


def test_a_result_of_version_1_is_read(tmp_path: Path) -> None:
    body = """{"policy": "uniform", "params": {}, "theta": [0.3, 0.1], "kappa": [1.0], "seed": 4, "delay": 0,
               "rounds": [1, 9], "regret": [[0.5, 2.5]], "seconds": 0.1}"""
    (tmp_path / "old.json").write_text(f'{{"format": "slotwise-result", "version": 1, "body": {body}}}')
    old = Result.load(tmp_path / "old.json")
    assert old.visitors.parameters() == {"theta": [0.3, 0.1], "kappa": [1.0]}
    assert old.regret.tolist() == [[0.5, 2.5]]


@pytest.mark.parametrize(
    ("changed", "says"),
    [
        pytest.param({"regret": REGRET[:, :2]}, "regret does not fit rounds", id="columns are missing"),
        pytest.param({"rounds": np.array([1, 10])}, "regret does not fit rounds", id="checkpoints are missing"),
        pytest.param({"regret": np.array([[np.nan, 1.0, 2.0]])}, "damaged slotwise result", id="not a number"),
    ],
)
def test_a_damaged_result_is_refused(changed: dict[str, object], says: str, tmp_path: Path) -> None:
    result(**changed).save(tmp_path / "bad.json")
    with pytest.raises(BadInput, match=says) as caught:
        Result.load(tmp_path / "bad.json")
    assert str(tmp_path / "bad.json") in str(caught.value)
