"""Claims about expectation-maximisation instead of the SVD."""

from slotwise.paper.claims.claim import Claim, Criterion, decided_by_runs
from slotwise.paper.claims.shared_tests import is_similar
from slotwise.paper.experiments import EPSILON_EM, EPSILON_SVD, GREEDY_EM, GREEDY_SVD, SIMULATED_SETTINGS
from slotwise.paper.results import Results
from slotwise.paper.statistics import final_regret, ratio

SIMILAR = 2.0  # largest ratio of regrets
CLOSE = 0.05  # largest difference of a theta or kappa
PAIRS = (("greedy", GREEDY_EM, GREEDY_SVD), ("ε-greedy", EPSILON_EM, EPSILON_SVD))


def _regret(results: Results) -> list[Criterion]:
    criteria = []
    for setting in SIMULATED_SETTINGS:
        for name, em, svd in PAIRS:
            with_em, with_svd = (results.result("claim-em", setting, contender.label) for contender in (em, svd))
            text, rows = f"{ratio(with_em, with_svd)} times the regret with SVD", final_regret(with_em, with_svd)
            criteria.append(decided_by_runs(f"{setting}, {name}", is_similar(SIMILAR), rows, text))
    return criteria


def _estimates(results: Results) -> list[Criterion]:
    return [
        Criterion(
            gap.setting,
            max(gap.theta_apart, gap.kappa_apart) <= CLOSE,
            f"theta differs by at most {gap.theta_apart:.2g}, kappa by {gap.kappa_apart:.2g}; "
            f"largest error {gap.svd_error:.2g} with SVD, {gap.em_error:.2g} with EM",
        )
        for gap in results.fits
    ]


def _slower(results: Results) -> list[Criterion]:
    criteria = []
    for name, em, svd in PAIRS:
        with_em, with_svd = (results.times["claim-em", contender.label] for contender in (em, svd))
        times = with_em.milliseconds / with_svd.milliseconds
        text = f"a round with EM takes {times:.2g} times as long ({1e3 * with_em.milliseconds:.2g} µs)"
        criteria.append(Criterion(name, times >= 10, text))
    return criteria


CLAIMS = (
    Claim(
        "em-regret",
        "claim-em",
        "Greedy and ε-greedy have a similar regret with EM as with the SVD.",
        "On each setting: the ratio of the mean regrets is between 1/2 and 2.",
        _regret,
        "The two treat cells never shown differently: the SVD assumes a click rate of 1, EM a prior.",
    ),
    Claim(
        "em-estimates",
        "claim-em",
        "EM and the SVD lead to similar values of theta and kappa.",
        "From 100,000 uniformly random displays on each of the eleven settings: no theta or kappa differs by more than "
        "0.05.",
        _estimates,
    ),
    Claim(
        "em-slower",
        "claim-em",
        "With EM everything is about 700 times slower than with the SVD.",
        "A round takes at least 10 times as long with EM.",
        _slower,
        "Here EM works on counts and starts from the estimate of the last round, so it costs about as much as the SVD. "
        "The paper's EM processed every display again.",
        uses_times=True,
    ),
)
