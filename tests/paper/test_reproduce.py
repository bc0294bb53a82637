"""Reproductions: stopped and gone on with, on threads and on a cluster, always the same numbers."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import CancelledError, Executor, Future
from contextlib import contextmanager
from pathlib import Path

import pytest

from slotwise.checks import BadInput
from slotwise.paper import executor as run_module
from slotwise.paper import reproduce as reproduce_module
from slotwise.paper.chunks import Play
from slotwise.paper.experiments import EXPERIMENTS, POOLED, chosen
from slotwise.paper.plan import missing, wanted
from slotwise.paper.reproduce import Reproduction, Silent, prepare, reproduce
from slotwise.paper.result_store import Store
from slotwise.paper.timing import paper_seconds

SMALL = {"only": ["fig-warm"], "quick": True, "runs": 3}
COMMAND = [sys.executable, "-m", "slotwise", "reproduce", "--only", "fig-warm", "--quick", "--runs", "3", "--json"]


def numbers(found: Reproduction) -> dict[str, list[list[float]]]:
    return {"/".join(where): result.regret.tolist() for where, result in found.evidence.results.items()}


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Reproduction]:
    out = tmp_path_factory.mktemp("paper") / "alone"
    return out, reproduce(out, jobs=1, **SMALL)


def test_the_number_of_jobs_changes_nothing(undisturbed, tmp_path: Path) -> None:
    together = reproduce(tmp_path / "out", jobs=2, **SMALL)
    assert numbers(together) == numbers(undisturbed[1])
    assert together.chunks_now == undisturbed[1].chunks_now


def test_a_second_time_plays_nothing_and_more_runs_add_only_runs(undisturbed) -> None:
    out, first = undisturbed
    again = reproduce(out, **SMALL)
    assert again.chunks_now == 0
    assert numbers(again) == numbers(first)
    more = reproduce(out, **(SMALL | {"runs": 4}))
    played = sum(spent.rounds_now for spent in more.spent.values())
    assert played == 7 * 10_000  # one more run of each of the seven contenders
    for where, regret in numbers(first).items():
        assert numbers(more)[where][:3] == regret


def results_in(out: Path) -> list[Path]:
    return sorted((out / "results").rglob("[0-9]*.json"))


def stopped_after_a_chunk(out: Path, number: int) -> tuple[list[Path], str, int]:
    """Start it, stop it by a signal as soon as something is kept, and say what is there."""
    process = subprocess.Popen([*COMMAND, "--out", str(out), "--jobs", "1"], stderr=subprocess.PIPE, text=True)
    limit = time.monotonic() + 120
    while not results_in(out) and process.poll() is None and time.monotonic() < limit:
        time.sleep(0.01)
    process.send_signal(number)
    _, told = process.communicate(timeout=60)
    return results_in(out), told, process.returncode


def goes_on(out: Path) -> dict[str, object]:
    done = subprocess.run([*COMMAND, "--out", str(out)], capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


def test_a_killed_reproduction_goes_on_where_it_was(undisturbed, tmp_path: Path) -> None:
    out = tmp_path / "out"
    kept, _, code = stopped_after_a_chunk(out, signal.SIGKILL)
    assert code == -signal.SIGKILL
    total = undisturbed[1].chunks_now
    assert 0 < len(kept) < total
    before = {path: path.stat().st_mtime_ns for path in kept}
    summary = goes_on(out)
    assert summary["chunks_now"] == total - len(kept)
    assert {path: path.stat().st_mtime_ns for path in kept} == before  # nothing stored was played again
    assert numbers(reproduce(out, **SMALL)) == numbers(undisturbed[1])
    assert (out / "report.html").stat().st_size > 1_000_000
    assert b"mean,standard_error" in (out / "data" / "fig-warm.csv").read_bytes()


def test_ctrl_c_keeps_what_is_done_and_says_how_to_go_on(tmp_path: Path) -> None:
    out = tmp_path / "out"
    kept, told, code = stopped_after_a_chunk(out, signal.SIGINT)
    assert code == 130
    assert kept
    assert "the same command goes on from there" in told
    assert "Traceback" not in told


# on a cluster


class Killer(Silent):
    """Does something terrible when the first chunk comes in."""

    def __init__(self, strike: Callable[[], None]) -> None:
        self._strike = strike
        self.struck = False

    def advance(self, experiment: str, work: float) -> None:  # noqa: ARG002 - that something came in is enough
        if not self.struck:
            self.struck = True
            self._strike()


def test_a_cluster_that_loses_a_worker_gives_the_same_numbers(undisturbed, tmp_path: Path) -> None:
    distributed = pytest.importorskip("distributed", reason="no Dask here: pip install 'slotwise[cluster]'")
    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None, host="127.0.0.1", silence_logs=50
    ) as cluster:
        victim = next(iter(cluster.workers.values())).pid
        watcher = Killer(lambda: os.kill(victim, signal.SIGKILL))
        found = reproduce(tmp_path / "out", dask=cluster.scheduler_address, watcher=watcher, **SMALL)
    assert watcher.struck
    assert numbers(found) == numbers(undisturbed[1])


def test_workers_with_other_code_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    play = run_module.play_chunk
    monkeypatch.setattr(run_module, "play_chunk", lambda chunk: play(chunk)._replace(code="other"))
    with pytest.raises(BadInput, match="another version of slotwise"):
        reproduce(tmp_path / "out", **SMALL)
    assert results_in(tmp_path / "out") == []


@pytest.mark.parametrize("error", [RuntimeError("all workers are gone"), CancelledError()], ids=["lost", "cancelled"])
def test_a_cluster_that_fails_for_good_gets_one_clear_line(error: Exception, tmp_path: Path, monkeypatch) -> None:
    class Broken(Executor):
        def submit(self, *_: object) -> Future:
            future: Future = Future()
            future.set_exception(error)
            return future

    @contextmanager
    def broken(*_: object) -> Iterator[Executor]:
        yield Broken()

    monkeypatch.setattr(reproduce_module, "workers", broken)
    with pytest.raises(BadInput, match=r"the cluster failed: .*the same command goes on"):
        reproduce(tmp_path / "out", **SMALL)


def test_the_paper_would_have_taken_longer() -> None:
    assert paper_seconds(Play("pb_mhb", {}, "standard", 100_000, 0)) == pytest.approx(1800)  # its 30 minutes
    assert paper_seconds(Play("pb_mhb", {"sweeps": 100}, "standard", 1000, 0)) == pytest.approx(1800)
    assert paper_seconds(Play("pbm_ts", {"kappa": "svd"}, "standard", 1000, 0)) == pytest.approx(4.8)
    assert paper_seconds(Play("uniform", {}, "standard", 1000, 0)) == 0


# the plan


def test_a_larger_experiment_adds_to_what_a_smaller_one_has(tmp_path: Path) -> None:
    both = list(wanted(chosen(["fig-simulated", "fig-spread"]), 0, {}))
    todo = missing(both, Store(tmp_path))
    standard = [item for item in both if item.label == "PB-MHB" and item.setting == "standard"]
    assert [item.runs for item in standard] == [20, 200, 1000]
    key = standard[0].play.key()
    runs = [(name, chunk.first, chunk.runs) for name, chunk in todo if chunk.play.key() == key]
    assert sum(count for _, _, count in runs) == 1000
    assert sum(count for name, _, count in runs if name == "fig-spread") == 800


def test_the_best_c_waits_for_its_tuning() -> None:
    experiments = chosen(["fig-behavioral"])
    before = {item.label for item in wanted(experiments, 0, {})}
    after = [item for item in wanted(experiments, 0, {("fig-behavioral", POOLED): 10.0}) if item.label.startswith("ε")]
    assert "ε-greedy, best c" not in before
    assert {item.play.params["c"] for item in after} == {10.0}
    tuning = [item.play.seed for item in wanted(experiments, 3, {}) if item.plays == "tuning"]
    assert set(tuning) == {4}  # other visitors than those of the figure, seed 3


def test_quick_is_less_of_everything() -> None:
    for name in EXPERIMENTS:
        (full,), (quick,) = chosen([name]), chosen([name], quick=True)
        for plays in full.plays:
            assert quick.plays[plays].rounds < full.plays[plays].rounds
            assert quick.plays[plays].runs < full.plays[plays].runs


# the folder


def test_a_folder_of_something_else_is_refused(tmp_path: Path) -> None:
    (tmp_path / "letter.txt").write_text("dear reader")
    with pytest.raises(BadInput, match="holds files of something else"):
        prepare(tmp_path)
    assert (tmp_path / "letter.txt").read_text() == "dear reader"


def test_an_earlier_reproduction_is_welcome(tmp_path: Path) -> None:
    assert prepare(tmp_path / "new" / "folder") == prepare(tmp_path / "new" / "folder")
