"""The table of published regret has the numbers of the stored results."""

import json

from benchmarks.published_regret import PAGE, PUBLISHED, RESULTS, table


def test_the_table_has_the_stored_results() -> None:
    stored = json.loads(RESULTS.read_text())
    assert [(each["policy"], each["setting"]) for each in stored] == [(each.policy, each.setting) for each in PUBLISHED]
    assert table(stored) in PAGE.read_text()
