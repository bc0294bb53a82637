"""The table of the page on context has the numbers of the stored results."""

import json

from benchmarks.feature_regret import RESULTS, table
from tests.docs.test_docs import ROOT


def test_the_table_has_the_stored_results() -> None:
    assert table(json.loads(RESULTS.read_text())) in (ROOT / "docs" / "context.md").read_text()
