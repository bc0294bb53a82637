"""Sessions read from log files are those that a plain reading of the lines gives, whatever the order of the lines."""

import json
from collections import Counter, defaultdict
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

import slotwise as sw
from slotwise.logs import count_sessions
from slotwise.logs.read_sessions import SessionLog
from tests.logs.plain_counting import csv_text

HEADER = ("query", "display", "item", "position", "clicked")
Line = tuple[str, str, str, int, int]
Found = dict[str, Counter[tuple[tuple[str, int, int], ...]]]


def random_lines(seed: int = 0, displays: int = 300) -> list[Line]:
    """Two queries; displays have gaps, and their lines are out of order."""
    rng = np.random.default_rng(seed)
    lines: list[Line] = []
    for k in range(displays):
        items = rng.permutation(4)[: rng.integers(1, 4)]
        positions = rng.permutation(4)[: items.size] + 1
        query = f"q{k % 2}"
        lines += [
            (query, f"d{k}", f"item{item}", int(position), int(rng.random() < 0.3))
            for item, position in zip(items, positions, strict=True)
        ]
    return [lines[k] for k in rng.permutation(len(lines))]


def plain(lines: Sequence[Line]) -> Found:
    displays = defaultdict(list)
    for query, display, item, position, clicked in lines:
        displays[query, display].append((item, position, clicked))
    found: Found = defaultdict(Counter)
    for (query, _), cells in displays.items():
        found[query][tuple(sorted(cells))] += 1
    return dict(found)


def read(log: SessionLog) -> Found:
    found: Found = {}
    for query in log.queries:
        found[query.name] = Counter()
        for display, clicks, number in zip(query.displays, query.clicks, query.number, strict=True):
            cells = [
                (query.items[item], int(query.positions[k]), int(clicks[k]))
                for k, item in enumerate(display.tolist())
                if item >= 0
            ]
            found[query.name][tuple(sorted(cells))] += int(number)
    return found


def write(path: Path, lines: Sequence[Sequence[object]], header: Sequence[str] = HEADER) -> str:
    path.write_text(csv_text(lines, header=header))
    return str(path)


def test_sessions_are_those_of_a_plain_reading(tmp_path: Path) -> None:
    lines = random_lines()
    log = sw.read_sessions(write(tmp_path / "log.csv", lines))
    assert read(log) == plain(lines)
    assert log.account.good == len(lines)
    for query in log.queries:
        assert 0.3 < query.number[query.fold == 0].sum() / query.total < 0.7


def test_order_and_files_change_nothing(tmp_path: Path) -> None:
    lines = random_lines()
    first = sw.read_sessions(write(tmp_path / "log.csv", lines)).queries
    halves = [
        write(tmp_path / "a.csv", [line for k, line in enumerate(lines) if k % 2]),
        write(tmp_path / "b.csv", [line for k, line in enumerate(lines) if not k % 2][::-1]),
    ]
    second = sw.read_sessions(halves).queries
    for one, other in zip(first, second, strict=True):
        assert (one.name, one.items, one.positions) == (other.name, other.items, other.positions)
        for name in ("displays", "clicks", "fold", "number"):
            assert np.array_equal(getattr(one, name), getattr(other, name))
    fits = [sw.fit_queries(queries, clicks="auto") for queries in (first, second)]
    for one_fit, other_fit in zip(*fits, strict=True):
        assert one_fit.comparison is not None
        assert other_fit.comparison is not None
        assert one_fit.comparison.scores == other_fit.comparison.scores


def test_positions_beyond_the_sample_are_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(count_sessions, "_SAMPLE", 1)
    lines = random_lines()
    assert read(sw.read_sessions(write(tmp_path / "log.csv", lines))) == plain(lines)


def test_items_beyond_the_sample_are_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(count_sessions, "_SAMPLE", 50)
    usual: list[Line] = [("q", f"d{k}", "usual", 1, k % 2) for k in range(100)]
    lines: list[Line] = [*usual, ("q", "d3", "rare", 2, 1)]
    assert read(sw.read_sessions(write(tmp_path / "log.csv", lines))) == plain(lines)


@pytest.mark.parametrize(("positions", "items"), [(60, 3), (40, 70), (3, 2000)])
def test_sessions_of_many_positions_and_items_are_those_of_a_plain_reading(
    tmp_path: Path, positions: int, items: int
) -> None:
    rng = np.random.default_rng(1)
    lines: list[Line] = [
        ("q", f"d{k}", f"item{rng.integers(items)}", position + 1, int(rng.random() < 0.3))
        for k in range(1000 // positions)
        for position in range(positions)
    ]
    names = tuple(str(position + 1) for position in range(positions))
    log = sw.read_sessions(write(tmp_path / "log.csv", lines), schema={"positions": names})
    assert read(log) == plain(lines)


def test_halves_of_the_sessions_are_random(tmp_path: Path) -> None:
    """Each half of 10,000 equal sessions has 5,000 +- 50; the limits are 5 standard deviations away."""
    hats = sw.make_sessions("hats", ["felt"], ["1"], np.zeros((10_000, 1)), np.zeros((10_000, 1)), np.zeros(10_000))
    halves = hats.split()
    assert halves.fold.tolist() == [0, 1]
    assert halves.total == 10_000
    assert 4750 < halves.number[0] < 5250
    assert halves.split().number.sum() == 10_000


def test_counts_of_sessions_are_those_of_the_log(tmp_path: Path) -> None:
    path = write(tmp_path / "log.csv", random_lines())
    counted = {query.name: query for query in sw.read_log(path).queries}
    for sessions in sw.read_sessions(path).queries:
        query, counts = counted[sessions.name], sessions.query().counts
        assert np.array_equal(query.counts.clicks, counts.clicks)
        assert np.array_equal(query.counts.skips, counts.skips)


def test_a_log_of_the_service_has_names_of_positions_and_displays_that_do_not_count(tmp_path: Path) -> None:
    lines = []
    for k in range(40):
        shown = int(k % 4 > 0)
        for position, item in (("hero", "a"), ("aside", "b")):
            line = {"page": "home", "display": f"d{k}", "issued": 1.0, "segment": "", "layout": "default"}
            lines.append(
                line | {"position": position, "item": item, "shown": shown, "clicked": shown * int(k % 3 == 0)}
            )
    path = tmp_path / "log.ndjson"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    (home,) = sw.read_sessions(str(path), "slotwise").queries
    assert (home.name, home.positions, home.total) == ("home", ["hero", "aside"], 30)
    assert home.items == ["a", "b"]
    assert home.displays.tolist() == [[0, 1]] * len(home.displays)


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        ([("q", "d", "a", 1, 0)] * 2, "1 displays have a position twice, 2 lines in all, for example display 'd'"),
        (
            [("q", "d", "a", 1, k % 2) for k in range(3)] + [("q", "d", "b", 2, 1)],
            "1 displays have a position twice, 4 lines in all",
        ),
        ([("q", "d", f"item{k % 50}", 1 + k % 20, 1) for k in range(5000)], "1 displays have a position twice"),
        ([("q", "d", "a", 1, 0.5)], "a field that must be a whole number is not"),
        ([("q", "d", "a", 1, 2)], "negative clicks, or more clicks than impressions"),
        ([("q", "", "a", 1, 0)], "the query or the item is missing"),
        ([("q", "d", "a", 0, 0)] * 30, "positions are probably numbered from 0"),
    ],
)
def test_a_malformed_log_is_refused(tmp_path: Path, lines: list[Line], message: str) -> None:
    with pytest.raises(sw.BadInput, match=message):
        sw.read_sessions(write(tmp_path / "log.csv", lines))


def test_a_log_without_displays_is_refused(tmp_path: Path) -> None:
    path = write(tmp_path / "log.csv", [("q", "s", "a", 1, 0)], ("query", "session", "item", "position", "clicked"))
    with pytest.raises(sw.BadInput, match="display=session"):
        sw.read_sessions(path)
    assert sw.read_sessions(path, schema={"display": "session"}).queries[0].total == 1
    with pytest.raises(sw.BadInput, match="a kdd2012 log does not say which lines belong to the same display"):
        sw.read_sessions(path, "kdd2012")
    with pytest.raises(sw.BadInput, match="--min-shown"):
        sw.read_sessions(path, schema={"display": "session", "min_shown": 1})


def test_lines_that_are_sums_of_displays_are_refused(tmp_path: Path) -> None:
    path = write(tmp_path / "log.csv", [("q", "d", "a", 1, 2, 5)], (*HEADER, "shown"))
    with pytest.raises(sw.BadInput, match="1 lines are the sum of several displays"):
        sw.read_sessions(path)


def test_tolerated_displays_with_a_position_twice_are_left_out(tmp_path: Path) -> None:
    lines: list[Line] = [*random_lines(), ("q0", "twice", "item1", 1, 1), ("q0", "twice", "item2", 1, 0)]
    log = sw.read_sessions(write(tmp_path / "log.csv", lines), max_bad=2)
    assert log.left_out == 1
    assert read(log) == plain(lines[:-2])


def test_make_sessions_refuses_what_is_not_a_session() -> None:
    for displays, clicks, message in (
        ([[0, 1]], [[0]], "sessions x positions"),
        ([[0, 2]], [[0, 0]], "not from 0 to 1"),
        ([[0, 1]], [[0, 2]], "neither 0 nor 1"),
    ):
        with pytest.raises(sw.BadInput, match=message):
            sw.make_sessions("q", ["a", "b"], ["1", "2"], displays, clicks)
