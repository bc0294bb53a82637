"""The paper's claims as data. Each has a statement, a rule that judges it, and the measurements that the rule uses."""

from collections.abc import Iterable

from slotwise.paper.claims import (
    competitors,
    computation_time,
    em,
    other_policies,
    regret_spread,
    warm_start,
    width_and_sweeps,
)
from slotwise.paper.claims.claim import Claim, Judgement, judge
from slotwise.paper.experiments import EXPERIMENTS, Experiment
from slotwise.paper.results import Results

_ALL = (
    *width_and_sweeps.CLAIMS,
    *warm_start.CLAIMS,
    *competitors.CLAIMS,
    *regret_spread.CLAIMS,
    *computation_time.CLAIMS,
    *em.CLAIMS,
    *other_policies.CLAIMS,
)
CLAIMS: dict[str, Claim] = {
    claim.name: claim for claim in sorted(_ALL, key=lambda claim: list(EXPERIMENTS).index(claim.experiment))
}


def judge_claims(experiments: Iterable[Experiment], results: Results) -> list[Judgement]:
    """The judgements of all claims of these experiments."""
    names = {experiment.name for experiment in experiments}
    return [judge(claim, results) for claim in CLAIMS.values() if claim.experiment in names]
