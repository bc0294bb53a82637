"""Every claim can hold and can fail: fed with what the paper found it holds, with the opposite it does not."""

import numpy as np
import pytest

from slotwise.paper.claims import CLAIMS, judged
from slotwise.paper.claims.claim import HOLDS, IN_PART, NOT, Claim, Part, judge
from slotwise.paper.experiments import BC_GREEDY, EXPERIMENTS, PB_MHB, WARM, chosen, random_start
from slotwise.paper.results import Evidence, pooled
from slotwise.paper.settings import BEHAVIORAL
from slotwise.paper.statistics import diverges, gap, ratio, slope, still_losing
from tests.paper import made_up_results as made_up

TRUE, FALSE = made_up.as_the_paper_says(), made_up.otherwise()


@pytest.mark.parametrize("name", CLAIMS)
def test_a_claim_holds_where_it_is_true(name: str) -> None:
    found = judge(CLAIMS[name], TRUE)
    assert found.verdict == HOLDS, found.parts
    assert found.remark == ""


@pytest.mark.parametrize("name", [name for name in CLAIMS if name != "data-table"])
def test_a_claim_fails_where_it_is_false(name: str) -> None:
    found = judge(CLAIMS[name], FALSE)
    assert found.verdict == NOT, found.parts
    assert found.remark == CLAIMS[name].remark


def test_the_table_of_queries_can_be_wrong(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, (theta, kappa) in list(BEHAVIORAL.items()):
        monkeypatch.setitem(BEHAVIORAL, name, ([value / 2 for value in theta], kappa))
    assert judge(CLAIMS["data-table"], TRUE).verdict == NOT


@pytest.mark.parametrize("name", ["simulated-best", "simulated-as-good", "spread-never-high"])
def test_a_claim_that_is_true_here_and_false_there_holds_in_part(name: str) -> None:
    mixed = Evidence(dict(TRUE.results))
    for where in (("fig-simulated", "curves", "standard"), ("fig-simulated", "pairs", "standard")):
        mixed.results[(*where, PB_MHB.label)] = FALSE.results[(*where, PB_MHB.label)]
    worst = made_up.result(100)
    worst.regret[0] *= 50  # high, but not linear
    mixed.results["fig-spread", "curves", "standard", PB_MHB.label] = worst
    assert judge(CLAIMS[name], mixed).verdict == IN_PART


def test_every_experiment_has_claims_and_every_claim_an_experiment() -> None:
    assert {claim.experiment for claim in CLAIMS.values()} == EXPERIMENTS.keys()
    assert all(claim.says and claim.rule for claim in CLAIMS.values())
    some = judged(chosen(["fig-warm", "tab-data"]), TRUE)
    assert {found.claim.experiment for found in some} == {"fig-warm", "tab-data"}


def test_the_verdict_follows_the_parts() -> None:
    def verdict(*holds: bool) -> str:
        claim = Claim("c", "fig-warm", "says", "rule", lambda _: [Part("", one, "") for one in holds], "why")
        return judge(claim, TRUE).verdict

    assert [verdict(True, True), verdict(True, False), verdict(False)] == [HOLDS, IN_PART, NOT]


# the measures behind the verdicts


def test_the_slope_of_a_power_is_its_exponent() -> None:
    assert slope(made_up.result(100, exponent=0.37)).value == pytest.approx(0.37, abs=1e-3)
    assert slope(made_up.result(100, exponent=1.0)).low > 0.95


def test_divergence_is_where_the_curves_part_for_good() -> None:
    warm = TRUE.result("fig-warm", "standard", WARM.label)
    late = TRUE.result("fig-warm", "standard", random_start(30).label)
    assert diverges(late, warm) == ROUND_AFTER_2000
    assert diverges(warm, late) is None
    assert diverges(warm, warm) is None


ROUND_AFTER_2000 = int(made_up.ROUNDS[made_up.ROUNDS > 2000][0])


def test_linear_runs_are_told_from_the_others() -> None:
    mixed = TRUE.result("fig-spread", "standard", BC_GREEDY.label)
    assert still_losing(mixed).tolist() == [True] * 12 + [False] * 28


def test_intervals_hold_the_truth_as_often_as_they_say() -> None:
    # 200 intervals of two standard errors over 40 runs: fewer than 180 (90 %) would come by chance once in 400
    rng = np.random.default_rng(5)
    inside = 0
    for _ in range(200):
        one, other = made_up.result(100), made_up.result(90)
        one.regret[:, -1] = 100 + 5 * rng.standard_normal(made_up.RUNS)
        other.regret[:, -1] = 90 + 5 * rng.standard_normal(made_up.RUNS)
        found = gap(one, other)
        inside += found.low <= 10 <= found.high
    assert 180 <= inside < 200


def test_the_ratio_of_medians_shrugs_at_a_heavy_tail() -> None:
    steady, heavy = made_up.result(100), made_up.result(100)
    heavy.regret[:3] *= 1000
    assert ratio(heavy, steady).value > 10
    assert ratio(heavy, steady, middle=True).value == pytest.approx(1, abs=0.05)


def test_pooling_averages_run_by_run() -> None:
    one, other = made_up.result(100), made_up.result(300)
    both = pooled([one, other])
    assert both.regret.tolist() == ((one.regret + other.regret) / 2).tolist()
    assert both.runs == made_up.RUNS
