"""Rows that give the statistical power of each test that was applied to runs."""

from collections.abc import Sequence

from slotwise.paper.claims.claim import Judgement
from slotwise.paper.output.result_rows import Row


def power_rows(judgements: Sequence[Judgement]) -> list[Row]:
    """How often each test accepts its claim: where the claim is true, where it is false, and in the measured runs."""
    rows = []
    for judgement in judgements:
        for criterion in judgement.criteria:
            if criterion.test is not None and criterion.power is not None:
                test, power = criterion.test, criterion.power
                rows.append(
                    {
                        "claim": judgement.claim.name,
                        "where": criterion.where,
                        "runs": power.runs,
                        "true": test.if_true.description,
                        "holds_if_true": power.if_true,
                        "false": test.if_false.description,
                        "holds_if_false": power.if_false,
                        "holds_as_measured": power.as_measured,
                    }
                )
    return rows
