"""Variants of a log are compared on the same days."""

from pathlib import Path

import numpy as np
import pytest

from slotwise.checks import BadInput
from slotwise.inference.uplift.same_days import on_same_days
from slotwise.logs.count_variants import count_variants
from tests.inference.uplift.exported_log import Traffic, write_log

# the click rate of all visitors doubles on the second day, when the holdout has a larger share
CHANGED_SHARE = [
    Traffic(0, "learnt", 3000, 0.1),
    Traffic(0, "holdout", 300, 0.1),
    Traffic(1, "learnt", 1000, 0.2),
    Traffic(1, "holdout", 1000, 0.2),
]
EARLIER = Traffic(-3, "learnt", 2000, 0.5)  # before there was a holdout


def test_each_display_is_counted_once(tmp_path: Path) -> None:
    counted = count_variants(str(write_log(tmp_path / "log.ndjson", CHANGED_SHARE, buckets=40, value=3.0)))
    learnt, holdout = (counted.pages["shop"][name] for name in ("learnt", "holdout"))
    assert learnt.displays.sum(axis=1).tolist() == [3000, 1000]
    assert holdout.displays.sum(axis=1).tolist() == [300, 1000]
    assert learnt.value.sum() == pytest.approx(3.0 * learnt.clicks.sum())
    assert np.count_nonzero(learnt.displays.sum(axis=0)) == 40
    assert counted.has_visitors
    assert counted.account.good == 2 * 5300


def test_without_buckets_displays_are_spread_over_all_clusters(tmp_path: Path) -> None:
    counted = count_variants(str(write_log(tmp_path / "log.ndjson", CHANGED_SHARE)))
    assert not counted.has_visitors
    by_cluster = counted.pages["shop"]["learnt"].displays.sum(axis=0)
    # chi-squared with 511 degrees of freedom: 700 is exceeded with probability 1e-7
    expected = by_cluster.sum() / by_cluster.size
    assert ((by_cluster - expected) ** 2 / expected).sum() < 700.0


def test_the_days_of_the_baseline_are_those_of_the_comparison(tmp_path: Path) -> None:
    """The share of the holdout changes. Rates on the same days agree; pooled rates, the negative control, do not.

    The weighted rates differ by less than 0.06, which is 4 standard errors; the pooled rates differ by 0.1.
    """
    counted = count_variants(str(write_log(tmp_path / "log.ndjson", [EARLIER, *CHANGED_SHARE])))
    learnt, holdout = (counted.pages["shop"][name] for name in ("learnt", "holdout"))
    compared = on_same_days(learnt, holdout)
    assert compared.n_days == 2
    assert compared.variant.displays.sum() == pytest.approx(4000)
    same, base = (side.clicks.sum() / side.displays.sum() for side in compared[:2])
    assert abs(same - base) < 0.06
    pooled = learnt.clicks[1:].sum() / learnt.displays[1:].sum()
    assert abs(pooled - base) > 0.08


def test_only_displays_since_the_shares_last_changed_are_compared(tmp_path: Path) -> None:
    """Numbers are compared as numbers: 10 comes after 9. Each page has its own."""
    changed = [Traffic(0, "learnt", 700, 0.5, allocation=9), Traffic(0, "holdout", 30, 0.1, allocation=9)]
    changed += [Traffic(1, "learnt", 90, 0.2, allocation=10), Traffic(1, "holdout", 10, 0.2, allocation=10)]
    shop = write_log(tmp_path / "shop.ndjson", changed)
    blog = write_log(tmp_path / "blog.ndjson", [Traffic(0, "learnt", 5, 0.5, allocation=2)], "blog")
    (tmp_path / "all.ndjson").write_text(shop.read_text() + blog.read_text())
    counted = count_variants(str(tmp_path / "all.ndjson"))
    displays = {
        page: {name: days.displays.sum() for name, days in found.items()} for page, found in counted.pages.items()
    }
    assert displays == {"shop": {"learnt": 90.0, "holdout": 10.0}, "blog": {"learnt": 5.0}}
    assert counted.earlier == {"shop": 730}
    assert counted.account.good == 2 * (730 + 100 + 5)


def test_without_a_common_day_nothing_is_compared(tmp_path: Path) -> None:
    apart = [Traffic(0, "learnt", 50, 0.5), Traffic(1, "holdout", 50, 0.5)]
    variants = count_variants(str(write_log(tmp_path / "log.ndjson", apart))).pages["shop"]
    compared = on_same_days(variants["learnt"], variants["holdout"])
    assert (compared.n_days, compared.variant.displays.sum(), compared.baseline.displays.sum()) == (0, 0.0, 0.0)


def test_a_display_that_does_not_count_has_no_share(tmp_path: Path) -> None:
    path = write_log(tmp_path / "log.ndjson", [Traffic(0, "learnt", 10, 0.0)])
    path.write_text(path.read_text().replace('"shown": 1', '"shown": 0', 2))  # both lines of the first display
    assert count_variants(str(path)).pages["shop"]["learnt"].displays.sum() == 9


def test_a_log_of_something_else_is_refused(tmp_path: Path) -> None:
    (tmp_path / "log.ndjson").write_text('{"a": 1}\n')
    with pytest.raises(BadInput):
        count_variants(str(tmp_path / "log.ndjson"))
