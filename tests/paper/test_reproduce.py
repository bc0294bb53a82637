"""Reproductions give the same numbers when stopped and continued, on threads and on a cluster."""

import json
import os
import signal
import subprocess
from collections.abc import Callable, Iterator
from concurrent.futures import CancelledError, Executor, Future
from contextlib import contextmanager
from pathlib import Path

import pytest

from slotwise.checks import BadInput
from slotwise.paper import executor as executor_module
from slotwise.paper.chunks import RunConfig
from slotwise.paper.executor import Workers
from slotwise.paper.experiments import EXPERIMENTS, POOLED, select_experiments
from slotwise.paper.plan import missing_chunks, plan_curves
from slotwise.paper.reproduce import Reproduction, Scope, SilentListener, prepare_folder, reproduce
from slotwise.paper.result_store import ResultStore
from slotwise.paper.timing import paper_seconds
from tests.command_line import COMMAND
from tests.waiting import HANG, wait_until

SMALL = Scope(only=["fig-warm"], quick=True, runs=3)
REPRODUCE = [*COMMAND, "reproduce", "--only", "fig-warm", "--quick", "--runs", "3", "--json"]


def numbers(reproduction: Reproduction) -> dict[str, list[list[float]]]:
    return {"/".join(key): result.regret.tolist() for key, result in reproduction.results.simulations.items()}


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Reproduction]:
    out = tmp_path_factory.mktemp("paper") / "alone"
    return out, reproduce(out, SMALL, Workers(jobs=1))


def test_the_number_of_jobs_changes_nothing(undisturbed, tmp_path: Path) -> None:
    together = reproduce(tmp_path / "out", SMALL, Workers(jobs=2))
    assert numbers(together) == numbers(undisturbed[1])
    assert together.chunks_now == undisturbed[1].chunks_now


def test_a_repeated_reproduction_runs_nothing_and_more_runs_add_only_runs(undisturbed) -> None:
    out, first = undisturbed
    again = reproduce(out, SMALL)
    assert again.chunks_now == 0
    assert numbers(again) == numbers(first)
    more = reproduce(out, SMALL._replace(runs=4))
    rounds = sum(cost.rounds_now for cost in more.costs.values())
    assert rounds == 7 * 10_000  # one more run of each of the seven contenders
    for key, regret in numbers(first).items():
        assert numbers(more)[key][:3] == regret


def results_in(out: Path) -> list[Path]:
    return sorted((out / "results").rglob("[0-9]*.json"))


def stopped_after_a_chunk(out: Path, number: int) -> tuple[list[Path], str, int]:
    """Stop a reproduction by a signal when its first chunk is stored; returns its files, its stderr, its exit code."""
    process = subprocess.Popen([*REPRODUCE, "--out", str(out), "--jobs", "1"], stderr=subprocess.PIPE, text=True)
    wait_until(lambda: bool(results_in(out)) or process.poll() is not None)
    process.send_signal(number)
    _, stderr = process.communicate(timeout=HANG)
    return results_in(out), stderr, process.returncode


def continue_reproduction(out: Path) -> dict[str, object]:
    done = subprocess.run([*REPRODUCE, "--out", str(out)], capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


def test_a_killed_reproduction_continues_where_it_stopped(undisturbed, tmp_path: Path) -> None:
    out = tmp_path / "out"
    stored, _, code = stopped_after_a_chunk(out, signal.SIGKILL)
    assert code == -signal.SIGKILL
    total = undisturbed[1].chunks_now
    assert 0 < len(stored) < total
    before = {path: path.stat().st_mtime_ns for path in stored}
    summary = continue_reproduction(out)
    assert summary["chunks_now"] == total - len(stored)
    assert {path: path.stat().st_mtime_ns for path in stored} == before  # no stored run was repeated
    assert numbers(reproduce(out, SMALL)) == numbers(undisturbed[1])
    assert (out / "report.html").stat().st_size > 1_000_000
    assert b"mean,standard_error" in (out / "data" / "fig-warm.csv").read_bytes()


def test_ctrl_c_keeps_finished_chunks_and_says_where(tmp_path: Path) -> None:
    out = tmp_path / "out"
    stored, stderr, code = stopped_after_a_chunk(out, signal.SIGINT)
    assert code == 130
    assert stored
    assert str(out) in stderr.replace("\n", "")
    assert "Traceback" not in stderr


# on a cluster


class OnFirstChunk(SilentListener):
    """Calls a function when the first chunk is done."""

    def __init__(self, action: Callable[[], None]) -> None:
        self._action = action
        self.called = False

    def advance(self, experiment: str, work: float) -> None:  # noqa: ARG002 - an override
        if not self.called:
            self.called = True
            self._action()


def test_a_cluster_that_loses_a_worker_gives_the_same_numbers(undisturbed, tmp_path: Path) -> None:
    distributed = pytest.importorskip("distributed", reason="no Dask here: pip install 'slotwise[cluster]'")
    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None, host="127.0.0.1", silence_logs=50
    ) as cluster:
        victim = next(iter(cluster.workers.values())).pid
        listener = OnFirstChunk(lambda: os.kill(victim, signal.SIGKILL))
        reproduction = reproduce(tmp_path / "out", SMALL, Workers(dask=cluster.scheduler_address), listener)
    assert listener.called
    assert numbers(reproduction) == numbers(undisturbed[1])


def test_workers_with_other_code_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run = executor_module.run_chunk
    monkeypatch.setattr(executor_module, "run_chunk", lambda chunk: run(chunk)._replace(code="other"))
    with pytest.raises(BadInput, match="version"):
        reproduce(tmp_path / "out", SMALL)
    assert results_in(tmp_path / "out") == []


@pytest.mark.parametrize("error", [RuntimeError("all workers are gone"), CancelledError()], ids=["lost", "cancelled"])
def test_a_cluster_that_fails_permanently_gets_one_clear_line(error: Exception, tmp_path: Path, monkeypatch) -> None:
    class Broken(Executor):
        def submit(self, *_: object) -> Future:
            future: Future = Future()
            future.set_exception(error)
            return future

    @contextmanager
    def broken(*_: object) -> Iterator[Executor]:
        yield Broken()

    monkeypatch.setattr(Workers, "executor", broken)
    with pytest.raises(BadInput, match=str(error) or type(error).__name__):
        reproduce(tmp_path / "out", SMALL)


def test_seconds_at_the_speed_of_the_paper() -> None:
    assert paper_seconds(RunConfig("pb_mhb", {}, "standard", 100_000, 0)) == pytest.approx(1800)  # its 30 minutes
    assert paper_seconds(RunConfig("pb_mhb", {"sweeps": 100}, "standard", 1000, 0)) == pytest.approx(1800)
    assert paper_seconds(RunConfig("pbm_ts", {"kappa": "svd"}, "standard", 1000, 0)) == pytest.approx(4.8)
    assert paper_seconds(RunConfig("uniform", {}, "standard", 1000, 0)) == 0


# the plan


def test_a_larger_experiment_adds_runs_to_those_of_a_smaller_one(tmp_path: Path) -> None:
    curves = list(plan_curves(select_experiments(["fig-simulated", "fig-spread"]), 0, {}))
    missing = missing_chunks(curves, ResultStore(tmp_path))
    standard = [curve for curve in curves if curve.label == "PB-MHB" and curve.setting == "standard"]
    assert [curve.runs for curve in standard] == [20, 200, 1000]
    key = standard[0].config.key()
    runs = [(name, chunk.first, chunk.runs) for name, chunk in missing if chunk.config.key() == key]
    assert sum(count for _, _, count in runs) == 1000
    assert sum(count for name, _, count in runs if name == "fig-spread") == 800


def test_the_best_c_waits_for_its_tuning() -> None:
    experiments = select_experiments(["fig-behavioral"])
    before = {curve.label for curve in plan_curves(experiments, 0, {})}
    after = [
        curve
        for curve in plan_curves(experiments, 0, {("fig-behavioral", POOLED): 10.0})
        if curve.label.startswith("ε")
    ]
    assert "ε-greedy, best c" not in before
    assert {curve.config.params["c"] for curve in after} == {10.0}
    tuning = [curve.config.seed for curve in plan_curves(experiments, 3, {}) if curve.run_set == "tuning"]
    assert set(tuning) == {4}  # other visitors than those of the figure, which has seed 3


def test_quick_has_fewer_runs_and_rounds() -> None:
    for experiment in EXPERIMENTS:
        (full,), (quick,) = select_experiments([experiment]), select_experiments([experiment], quick=True)
        for name in full.run_sets:
            assert quick.run_sets[name].rounds < full.run_sets[name].rounds
            assert quick.run_sets[name].runs < full.run_sets[name].runs


# the folder


def test_a_folder_with_other_files_is_rejected(tmp_path: Path) -> None:
    (tmp_path / "letter.txt").write_text("dear reader")
    with pytest.raises(BadInput, match=tmp_path.name):
        prepare_folder(tmp_path)
    assert (tmp_path / "letter.txt").read_text() == "dear reader"


def test_the_folder_of_an_earlier_reproduction_is_accepted(tmp_path: Path) -> None:
    assert prepare_folder(tmp_path / "new" / "folder") == prepare_folder(tmp_path / "new" / "folder")
