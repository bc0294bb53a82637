"""The store: what is whole is kept, what is not is played again."""

import threading
from pathlib import Path

import pytest

from slotwise.paper.chunks import Chunk, Outcome, Play, code_version, cut, play_chunk
from slotwise.paper.result_store import Store

PLAY = Play("uniform", {}, "q10", 50, 7)


def outcome(runs: range) -> Outcome:
    return Outcome([10, 50], [[run / 3, run / 7] for run in runs], 0.5, "code")


def chunk(first: int, runs: int) -> Chunk:
    return Chunk(PLAY, first, runs, "code")


def stored(folder: Path) -> Store:
    store = Store(folder)
    store.add(chunk(0, 3), outcome(range(3)))
    store.add(chunk(3, 2), outcome(range(3, 5)))
    return store


def the_file(folder: Path) -> Path:
    return next(folder.rglob("000000-000002.json"))


def test_what_is_added_comes_back_to_the_last_bit(tmp_path: Path) -> None:
    before = stored(tmp_path).result(PLAY, 5)
    after = Store(tmp_path).result(PLAY, 5)
    assert before.regret.tolist() == after.regret.tolist() == [[run / 3, run / 7] for run in range(5)]
    assert after.rounds.tolist() == [10, 50]
    assert sorted(Store(tmp_path).kept(PLAY)) == [0, 1, 2, 3, 4]


def test_more_runs_only_add_runs(tmp_path: Path) -> None:
    kept = stored(tmp_path).kept(PLAY)
    more = list(cut(PLAY, set(range(9)) - kept.keys()))
    assert [(one.first, one.runs) for one in more] == [(5, 4)]


def test_holes_are_filled_and_nothing_else(tmp_path: Path) -> None:
    assert [(one.first, one.runs) for one in cut(PLAY, [1, 2, 5, 7, 8])] == [(1, 2), (5, 1), (7, 2)]
    long = Play("pb_mhb", {"sweeps": 100}, "standard", 100_000, 0)
    assert {one.runs for one in cut(long, range(4))} == {1}


DAMAGES = {
    "half of it": lambda text: text[: len(text) // 2],
    "empty": lambda text: text[:0],
    "another number": lambda text: text.replace("0.3333333333333333", "0.4333333333333333"),
    "another version": lambda text: text.replace('"version":1', '"version":99'),
    "something else": lambda text: text.replace("slotwise-chunk", "slotwise-result"),
    "not text": lambda text: text.replace("{", "\x00"),
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_file_is_said_and_its_runs_are_missing(damage: str, tmp_path: Path) -> None:
    stored(tmp_path)
    path = the_file(tmp_path)
    text = DAMAGES[damage](path.read_text())
    assert text != path.read_text()
    path.write_text(text)
    told: list[str] = []
    store = Store(tmp_path, told.append)
    assert sorted(store.kept(PLAY)) == [3, 4]
    assert len(told) == 1
    assert "000000-000002.json" in told[0]
    assert "played again" in told[0]
    store.add(chunk(0, 3), outcome(range(3)))
    assert sorted(Store(tmp_path).kept(PLAY)) == [0, 1, 2, 3, 4]


def test_a_file_under_way_is_never_read(tmp_path: Path) -> None:
    stored(tmp_path)
    beside = the_file(tmp_path).with_name(".000000-000002.json.abc")
    beside.write_text("{")
    told: list[str] = []
    assert len(Store(tmp_path, told.append).kept(PLAY)) == 5
    assert told == []


def test_several_writers_at_once(tmp_path: Path) -> None:
    def write() -> None:
        store = Store(tmp_path)
        for first in range(0, 40, 2):
            store.add(chunk(first, 2), outcome(range(first, first + 2)))

    writers = [threading.Thread(target=write) for _ in range(4)]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()
    assert Store(tmp_path).result(PLAY, 40).regret[:, 0].tolist() == [run / 3 for run in range(40)]


def test_the_key_is_that_of_what_decides_the_numbers() -> None:
    same = Play("pb_mhb", {"width": 100}, "standard", 100, 0)
    assert same.key() == Play("pb_mhb", {"sweeps": 1}, "standard", 100, 0).key()  # both are the defaults
    others = [
        Play("pb_mhb", {"width": 10.0}, "standard", 100, 0),
        Play("pb_mhb", {}, "near-one", 100, 0),
        Play("pb_mhb", {}, "standard", 101, 0),
        Play("pb_mhb", {}, "standard", 100, 1),
        Play("uniform", {}, "standard", 100, 0),
    ]
    assert len({play.key() for play in [same, *others]}) == 6


@pytest.mark.parametrize(
    ("edited", "changed"),
    [("metropolis.py", ["pb_mhb"]), ("simulate.py", ["pb_mhb", "uniform"]), ("report.py", []), ("claim.py", [])],
)
def test_only_code_that_can_be_reached_is_in_the_key(edited: str, changed: list[str], monkeypatch) -> None:
    from slotwise import jit

    versions = {policy: code_version.__wrapped__(policy) for policy in ("pb_mhb", "uniform")}
    content = jit._content
    monkeypatch.setattr(jit, "_content", lambda path: content(path) + b"#" * (path.name == edited))
    assert [policy for policy in versions if code_version.__wrapped__(policy) != versions[policy]] == changed


def test_a_chunk_is_a_part_of_the_whole() -> None:
    version = code_version("uniform")
    whole = play_chunk(Chunk(PLAY, 0, 5, version))
    part = play_chunk(Chunk(PLAY, 3, 2, version))
    assert part.regret == whole.regret[3:]
    assert whole.code == version
