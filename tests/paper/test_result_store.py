"""The store keeps complete chunks; the runs of damaged ones are repeated."""

import threading
from pathlib import Path

import pytest

from slotwise.paper.chunks import Chunk, ChunkResult, RunConfig, code_version, run_chunk, split_into_chunks
from slotwise.paper.result_store import FORMAT_VERSION, ResultStore

CONFIG = RunConfig("uniform", {}, "q10", 50, 7)


def result(runs: range) -> ChunkResult:
    return ChunkResult([10, 50], [[run / 3, run / 7] for run in runs], 0.5, "code")


def chunk(first: int, runs: int) -> Chunk:
    return Chunk(CONFIG, first, runs, "code")


def stored(folder: Path) -> ResultStore:
    store = ResultStore(folder)
    store.add(chunk(0, 3), result(range(3)))
    store.add(chunk(3, 2), result(range(3, 5)))
    return store


def the_file(folder: Path) -> Path:
    return next(folder.rglob("000000-000002.json"))


def test_stored_results_are_exact_to_the_last_bit(tmp_path: Path) -> None:
    before = stored(tmp_path).result(CONFIG, 5)
    after = ResultStore(tmp_path).result(CONFIG, 5)
    assert before.regret.tolist() == after.regret.tolist() == [[run / 3, run / 7] for run in range(5)]
    assert after.rounds.tolist() == [10, 50]
    assert sorted(ResultStore(tmp_path).run_seconds(CONFIG)) == [0, 1, 2, 3, 4]


def test_more_runs_only_add_runs(tmp_path: Path) -> None:
    seconds = stored(tmp_path).run_seconds(CONFIG)
    more = list(split_into_chunks(CONFIG, set(range(9)) - seconds.keys()))
    assert [(chunk.first, chunk.runs) for chunk in more] == [(5, 4)]


def test_only_missing_runs_are_added(tmp_path: Path) -> None:
    assert [(chunk.first, chunk.runs) for chunk in split_into_chunks(CONFIG, [1, 2, 5, 7, 8])] == [
        (1, 2),
        (5, 1),
        (7, 2),
    ]
    long = RunConfig("pb_mhb", {"sweeps": 100}, "standard", 100_000, 0)
    assert {chunk.runs for chunk in split_into_chunks(long, range(4))} == {1}


DAMAGES = {
    "the first half": lambda text: text[: len(text) // 2],
    "empty": lambda text: text[:0],
    "another number": lambda text: text.replace("0.3333333333333333", "0.4333333333333333"),
    "another version": lambda text: text.replace(f'"version":{FORMAT_VERSION}', '"version":99'),
    "something else": lambda text: text.replace("slotwise-chunk", "slotwise-result"),
    "not text": lambda text: text.replace("{", "\x00"),
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_file_causes_a_warning_and_its_runs_are_missing(damage: str, tmp_path: Path) -> None:
    stored(tmp_path)
    path = the_file(tmp_path)
    text = DAMAGES[damage](path.read_text())
    assert text != path.read_text()
    path.write_text(text)
    warnings: list[str] = []
    store = ResultStore(tmp_path, warnings.append)
    assert sorted(store.run_seconds(CONFIG)) == [3, 4]
    assert len(warnings) == 1
    assert "000000-000002.json" in warnings[0]
    store.add(chunk(0, 3), result(range(3)))
    assert sorted(ResultStore(tmp_path).run_seconds(CONFIG)) == [0, 1, 2, 3, 4]


def test_an_unfinished_file_is_not_read(tmp_path: Path) -> None:
    stored(tmp_path)
    beside = the_file(tmp_path).with_name(".000000-000002.json.abc")
    beside.write_text("{")
    warnings: list[str] = []
    assert len(ResultStore(tmp_path, warnings.append).run_seconds(CONFIG)) == 5
    assert warnings == []


def test_several_writers_at_once(tmp_path: Path) -> None:
    def write() -> None:
        store = ResultStore(tmp_path)
        for first in range(0, 40, 2):
            store.add(chunk(first, 2), result(range(first, first + 2)))

    writers = [threading.Thread(target=write) for _ in range(4)]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()
    assert ResultStore(tmp_path).result(CONFIG, 40).regret[:, 0].tolist() == [run / 3 for run in range(40)]


def test_the_key_depends_on_everything_that_determines_the_numbers() -> None:
    same = RunConfig("pb_mhb", {"width": 100}, "standard", 100, 0)
    assert same.key() == RunConfig("pb_mhb", {"sweeps": 1}, "standard", 100, 0).key()  # both are the defaults
    others = [
        RunConfig("pb_mhb", {"width": 10.0}, "standard", 100, 0),
        RunConfig("pb_mhb", {}, "near-one", 100, 0),
        RunConfig("pb_mhb", {}, "standard", 101, 0),
        RunConfig("pb_mhb", {}, "standard", 100, 1),
        RunConfig("uniform", {}, "standard", 100, 0),
    ]
    assert len({config.key() for config in [same, *others]}) == 6


@pytest.mark.parametrize(
    ("edited", "changed"),
    [
        ("truncated_random_walk.py", ["pb_mhb"]),
        ("simulate.py", ["pb_mhb", "uniform"]),
        ("report.py", []),
        ("claim.py", []),
    ],
)
def test_the_key_depends_only_on_code_that_the_simulation_uses(edited: str, changed: list[str], monkeypatch) -> None:
    from slotwise import jit

    versions = {policy: code_version.__wrapped__(policy) for policy in ("pb_mhb", "uniform")}
    content = jit._content
    monkeypatch.setattr(jit, "_content", lambda path, modified: content(path, modified) + b"#" * (path.name == edited))
    monkeypatch.setattr(jit, "_digest", jit._digest.__wrapped__)  # not what it remembers of the unedited files
    assert [policy for policy in versions if code_version.__wrapped__(policy) != versions[policy]] == changed


def test_the_runs_of_a_chunk_do_not_depend_on_the_chunk() -> None:
    version = code_version("uniform")
    all_runs = run_chunk(Chunk(CONFIG, 0, 5, version))
    last_runs = run_chunk(Chunk(CONFIG, 3, 2, version))
    assert last_runs.regret == all_runs.regret[3:]
    assert all_runs.code == version
