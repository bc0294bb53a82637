"""The paper's claims, as data: what it says, the rule that decides, and the numbers that the rule looks at."""

from collections.abc import Iterable

from slotwise.paper.claims import competitors, cost, em, extra, hyper, spread, warm
from slotwise.paper.claims.claim import Claim, Judgement, judge
from slotwise.paper.experiments import EXPERIMENTS, Experiment
from slotwise.paper.results import Evidence

_ALL = (*hyper.CLAIMS, *warm.CLAIMS, *competitors.CLAIMS, *spread.CLAIMS, *cost.CLAIMS, *em.CLAIMS, *extra.CLAIMS)
CLAIMS: dict[str, Claim] = {
    claim.name: claim for claim in sorted(_ALL, key=lambda claim: list(EXPERIMENTS).index(claim.experiment))
}


def judged(experiments: Iterable[Experiment], evidence: Evidence) -> list[Judgement]:
    """The claims of these experiments with their verdicts."""
    names = {experiment.name for experiment in experiments}
    return [judge(claim, evidence) for claim in CLAIMS.values() if claim.experiment in names]
