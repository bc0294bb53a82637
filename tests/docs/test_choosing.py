"""The table of the page on choosing a policy has the numbers of the stored results."""

import json

from benchmarks.choosing import PAGE, POLICIES, RESULTS, Measured, table, visitors


def test_the_table_has_the_stored_results() -> None:
    stored = json.loads(RESULTS.read_text())
    found = {policy: {name: Measured(**of[name]) for name in visitors()} for policy, of in stored.items()}
    assert list(found) == [policy for _, policy, _, _ in POLICIES]
    assert table(found) in PAGE.read_text()
