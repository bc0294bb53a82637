"""Synthetic logs have the requested content, and clicks follow their distribution."""

from pathlib import Path

import numpy as np
import pytest

import slotwise as sw
from slotwise.logs.read_log import read_log
from slotwise.logs.synthetic import FORMATS, synth
from slotwise.logs.synthetic_traffic import ExactTraffic, KnownQuery, Lines, ZipfTraffic
from tests.logs.plain_counting import cells

EVERYTHING = {"kdd2012": {"min_shown": 0, "min_items": 1}}


@pytest.mark.parametrize("format", FORMATS)
def test_every_format_is_read_back_completely(tmp_path: Path, format: str) -> None:
    traffic = ZipfTraffic(5_000, queries=20, items=6)
    path = tmp_path / "log"
    assert synth(path, traffic, format, seed=1) == 5_000
    result = read_log(str(path), format, EVERYTHING.get(format))
    ((*columns, display),) = traffic.lines(np.random.default_rng([1, 2]), 10_000)
    assert display is None
    single_query = format == "open-bandit"
    wanted: dict[tuple[str, str, str], tuple[int, int]] = {}
    for query, item, position, clicked in zip(*(column.tolist() for column in columns), strict=True):
        cell = ("all" if single_query else str(query), str(item), str(position))
        shown, clicks = wanted.get(cell, (0, 0))
        wanted[cell] = (shown + 1, clicks + clicked)
    assert cells(result) == wanted


@pytest.mark.parametrize("name", ["a.csv.gz", "a.csv.zst", "a.ndjson.bz2"])
def test_the_suffix_of_the_name_selects_the_compression(tmp_path: Path, name: str) -> None:
    synth(tmp_path / name, ZipfTraffic(1_000, queries=5), name.split(".")[1])
    assert b"query" not in (tmp_path / name).read_bytes()
    assert read_log(str(tmp_path / name)).account.good == 1_000


def test_the_same_seed_writes_the_same_file(tmp_path: Path) -> None:
    contents = []
    for seed in (1, 1, 2):
        synth(tmp_path / "a.txt", ZipfTraffic(2_000, seed=seed), "kdd2012", seed=seed)
        contents.append((tmp_path / "a.txt").read_bytes())
    assert contents[0] == contents[1] != contents[2]


def test_clicks_queries_and_ads_follow_their_laws() -> None:
    """200,000 lines. Clicks: the squared deviations of the click counts of 3 queries x 3 positions, divided by their
    variances, have a sum that is chi-squared with 9 degrees of freedom: above 33.7 with probability 1e-4. Query k is
    1/k times as frequent as the first, within 5 standard errors: false alarms 6e-7 each. Negative control: equal
    frequencies do not agree."""
    traffic = ZipfTraffic(200_000, queries=50, items=4)
    (lines,) = traffic.lines(np.random.default_rng(0), 200_000)
    assert isinstance(lines, Lines)
    first = np.concatenate([[0], np.cumsum(traffic.items_per_query)])
    chance = traffic.theta[lines.item - 1] * traffic.kappa[lines.query - 1, lines.position - 1]
    total = 0.0
    for query in (1, 2, 3):
        for position in (1, 2, 3):
            rows = (lines.query == query) & (lines.position == position)
            assert np.isin(lines.item[rows] - 1, range(first[query - 1], first[query])).all()
            spread = (chance[rows] * (1 - chance[rows])).sum()
            total += (lines.clicked[rows].sum() - chance[rows].sum()) ** 2 / spread
    assert total < 33.7
    displays = np.bincount(lines.query, minlength=51)[1:]
    law = (1 / np.arange(1, 51)) / (1 / np.arange(1, 51)).sum()
    off = np.abs(displays - 200_000 * law) / np.sqrt(200_000 * law * (1 - law))
    assert off.max() < 5
    assert (np.abs(displays - 200_000 / 50) / np.sqrt(200_000 / 50)).max() > 100


def test_clicks_never_exceed_impressions(tmp_path: Path) -> None:
    synth(tmp_path / "a.txt", ZipfTraffic(20_000, queries=3, items=3), "kdd2012")
    rows = np.loadtxt(tmp_path / "a.txt", dtype=np.int64)
    assert (rows[:, 0] <= rows[:, 1]).all()
    assert rows[:, 0].max() > 1
    assert (rows[:, 6] <= rows[:, 5]).all()  # the position is within the depth


def test_a_failed_write_leaves_nothing(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("precious")

    class Broken(ZipfTraffic):
        def lines(self, rng: np.random.Generator, batch_size: int):  # type: ignore[no-untyped-def]
            yield from super().lines(rng, batch_size)
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        synth(tmp_path / "a.csv", Broken(1_000), "csv")
    assert [path.name for path in tmp_path.iterdir()] == ["a.csv"]
    assert (tmp_path / "a.csv").read_text() == "precious"


def test_invalid_arguments_are_rejected(tmp_path: Path) -> None:
    with pytest.raises(sw.BadInput, match="unknown format 'xls'"):
        synth(tmp_path / "a", ZipfTraffic(10), "xls")
    with pytest.raises(sw.BadInput, match=r"no.a\.csv|/no"):
        synth(tmp_path / "no" / "a.csv", ZipfTraffic(10), "csv")
    with pytest.raises(sw.BadInput, match="lines = 0"):
        ZipfTraffic(0)
    with pytest.raises(sw.BadInput, match=r"query 1: .*\(1, 2\).*2 items x 2"):
        ExactTraffic([KnownQuery(1, [1, 2], sw.PBM([0.1, 0.2], [1, 0.5]), np.ones((1, 2), int))])
