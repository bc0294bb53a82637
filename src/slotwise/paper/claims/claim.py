"""A claim of the paper and its judgement. A claim is judged by criteria, and each criterion holds or does not."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from slotwise.checks import Floats
from slotwise.paper.power import Power, RunTest, power
from slotwise.paper.results import Results

HOLDS, IN_PART, NOT = "holds", "holds in part", "does not hold"


@dataclass(frozen=True, eq=False)
class Criterion:
    """One test of a claim: where it was applied, whether it holds, and what was measured.

    If a test on runs decides, `test` is this test and `rows` is its data. The power of the test is computed when it is
    needed.
    """

    where: str
    holds: bool
    measured: str
    test: RunTest | None = None
    rows: Floats | None = None

    @cached_property
    def power(self) -> Power | None:
        return None if self.test is None or self.rows is None else power(self.test, self.rows)


def decided_by_runs(where: str, test: RunTest, rows: Floats, measured: str) -> Criterion:
    """A criterion that holds if the test on these runs says so."""
    return Criterion(where, bool(test.holds(rows)), measured, test, rows)


class Claim(NamedTuple):
    """A statement of the paper, the rule that judges it, and a possible explanation if our result differs."""

    name: str
    experiment: str
    says: str
    rule: str
    evaluate: Callable[[Results], list[Criterion]]
    remark: str = ""
    uses_times: bool = False  # whether it is judged by measured times, which differ between reproductions


class Judgement(NamedTuple):
    """A claim with its verdict."""

    claim: Claim
    verdict: str
    criteria: list[Criterion]

    @property
    def remark(self) -> str:
        """The claim's remark, or an empty string if the claim holds."""
        return "" if self.verdict == HOLDS else self.claim.remark


def judge(claim: Claim, results: Results) -> Judgement:
    """A claim holds if all its criteria hold, does not hold if none does, and otherwise holds in part."""
    criteria = claim.evaluate(results)
    holding = sum(criterion.holds for criterion in criteria)
    verdict = HOLDS if holding == len(criteria) else IN_PART if holding else NOT
    return Judgement(claim, verdict, criteria)
