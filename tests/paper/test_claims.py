"""Every claim holds on made-up results that agree with the paper, and fails on results that contradict it."""

import numpy as np
import pytest

from slotwise.paper.claims import CLAIMS, judge_claims
from slotwise.paper.claims.claim import HOLDS, IN_PART, NOT, Claim, Criterion, judge
from slotwise.paper.experiments import BC_GREEDY, EXPERIMENTS, PB_MHB, WARM, random_start, select_experiments
from slotwise.paper.named_click_models import BEHAVIORAL
from slotwise.paper.results import Results, pool
from slotwise.paper.statistics import divergence_round, growth_exponent, paired_difference, ratio, unlucky_runs
from tests.paper import made_up_results as made_up

TRUE, FALSE = made_up.as_the_paper_says(), made_up.contradicting_the_paper()


@pytest.mark.parametrize("name", CLAIMS)
def test_a_claim_holds_where_it_is_true(name: str) -> None:
    judgement = judge(CLAIMS[name], TRUE)
    assert judgement.verdict == HOLDS, judgement.criteria
    assert judgement.remark == ""


@pytest.mark.parametrize("name", [name for name in CLAIMS if name != "data-table"])
def test_a_claim_fails_where_it_is_false(name: str) -> None:
    judgement = judge(CLAIMS[name], FALSE)
    assert judgement.verdict == NOT, judgement.criteria
    assert judgement.remark == CLAIMS[name].remark


def test_the_table_of_queries_can_be_wrong(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, (theta, kappa) in list(BEHAVIORAL.items()):
        monkeypatch.setitem(BEHAVIORAL, name, ([value / 2 for value in theta], kappa))
    assert judge(CLAIMS["data-table"], TRUE).verdict == NOT


@pytest.mark.parametrize("name", ["simulated-best", "simulated-as-good", "spread-never-high"])
def test_a_claim_that_is_true_on_some_settings_holds_in_part(name: str) -> None:
    mixed = Results(dict(TRUE.simulations))
    for panel in (("fig-simulated", "curves", "standard"), ("fig-simulated", "pairs", "standard")):
        mixed.simulations[(*panel, PB_MHB.label)] = FALSE.simulations[(*panel, PB_MHB.label)]
    worst = made_up.result(100)
    worst.regret[0] *= 50  # high, but not linear
    mixed.simulations["fig-spread", "curves", "standard", PB_MHB.label] = worst
    assert judge(CLAIMS[name], mixed).verdict == IN_PART


def test_every_experiment_has_claims_and_every_claim_an_experiment() -> None:
    assert {claim.experiment for claim in CLAIMS.values()} == EXPERIMENTS.keys()
    assert all(claim.says and claim.rule for claim in CLAIMS.values())
    some = judge_claims(select_experiments(["fig-warm", "tab-data"]), TRUE)
    assert {judgement.claim.experiment for judgement in some} == {"fig-warm", "tab-data"}


def test_the_verdict_follows_the_criteria() -> None:
    def verdict(*holds: bool) -> str:
        claim = Claim(
            "c", "fig-warm", "says", "rule", lambda _: [Criterion("", value, "") for value in holds], "remark"
        )
        return judge(claim, TRUE).verdict

    assert [verdict(True, True), verdict(True, False), verdict(False)] == [HOLDS, IN_PART, NOT]


# the statistics behind the verdicts


def test_the_slope_of_a_power_is_its_exponent() -> None:
    assert growth_exponent(made_up.result(100, exponent=0.37)).value == pytest.approx(0.37, abs=1e-3)
    assert growth_exponent(made_up.result(100, exponent=1.0)).low > 0.95


def test_divergence_is_the_round_from_which_the_curves_stay_apart() -> None:
    warm = TRUE.result("fig-warm", "standard", WARM.label)
    late = TRUE.result("fig-warm", "standard", random_start(30).label)
    gaps = (late.regret - warm.regret).T
    assert divergence_round(warm.rounds, gaps) == ROUND_AFTER_2000
    assert divergence_round(warm.rounds, -gaps) is None
    assert divergence_round(warm.rounds, 0 * gaps) is None


ROUND_AFTER_2000 = int(made_up.ROUNDS[made_up.ROUNDS > 2000][0])


def test_linear_runs_are_recognised() -> None:
    mixed = TRUE.result("fig-spread", "standard", BC_GREEDY.label)
    assert unlucky_runs(mixed).tolist() == [True] * 12 + [False] * 28


def test_intervals_have_their_nominal_coverage() -> None:
    # 200 intervals of two standard errors over 40 runs: the probability of fewer than 180 (90 %) is 1/400
    rng = np.random.default_rng(5)
    inside = 0
    for _ in range(200):
        first, second = made_up.result(100), made_up.result(90)
        first.regret[:, -1] = 100 + 5 * rng.standard_normal(made_up.RUNS)
        second.regret[:, -1] = 90 + 5 * rng.standard_normal(made_up.RUNS)
        difference = paired_difference(first, second)
        inside += difference.low <= 10 <= difference.high
    assert 180 <= inside < 200


def test_the_ratio_of_medians_ignores_a_heavy_tail() -> None:
    steady, heavy = made_up.result(100), made_up.result(100)
    heavy.regret[:3] *= 1000
    assert ratio(heavy, steady).value > 10
    assert ratio(heavy, steady, median=True).value == pytest.approx(1, abs=0.05)


def test_pooling_averages_run_by_run() -> None:
    first, second = made_up.result(100), made_up.result(300)
    pooled = pool([first, second])
    assert pooled.regret.tolist() == ((first.regret + second.regret) / 2).tolist()
    assert pooled.runs == made_up.RUNS
