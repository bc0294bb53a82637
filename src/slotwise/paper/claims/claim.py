"""A claim of the paper, and how it is judged: in parts, each of which holds or does not."""

from collections.abc import Callable
from typing import NamedTuple

from slotwise.paper.results import Evidence

HOLDS, IN_PART, NOT = "holds", "holds in part", "does not hold"


class Part(NamedTuple):
    """One thing that the claim says, where it was looked at, and what was measured there."""

    where: str
    holds: bool
    measured: str


class Claim(NamedTuple):
    """What the paper says, the rule that decides, and what is known of why ours differs, if it does."""

    name: str
    experiment: str
    says: str
    rule: str
    parts: Callable[[Evidence], list[Part]]
    remark: str = ""
    timed: bool = False  # judged by times, which are never the same twice


class Judgement(NamedTuple):
    """A claim with its verdict."""

    claim: Claim
    verdict: str
    parts: list[Part]

    @property
    def remark(self) -> str:
        """Why ours differs, as far as is known; nothing to say where it does not."""
        return "" if self.verdict == HOLDS else self.claim.remark


def judge(claim: Claim, evidence: Evidence) -> Judgement:
    """Holds when every part does, does not when none does, else in part."""
    parts = claim.parts(evidence)
    right = sum(part.holds for part in parts)
    verdict = HOLDS if right == len(parts) else IN_PART if right else NOT
    return Judgement(claim, verdict, parts)
