"""The compile cache: the next process uses it, and it is never stale after any edit."""

import importlib
import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

import numba
import numpy as np
import pytest

from slotwise import jit
from slotwise.clickmodels import pbm
from slotwise.jit import CACHE_VARIABLE, cache_folder, direct, kernel, prune
from slotwise.simulation.simulation_loop import loop_of

Output = dict[str, Any]  # what a process printed
Written = Callable[[str, str], ModuleType]
Scenario = Callable[[Path], list[Output]]
Results = Callable[[Scenario], list[Output]]

FAR = """
from slotwise.jit import kernel

@kernel
def scaled(x):
    return 2.0 * x
"""
MIDDLE = """
import far
from slotwise.jit import kernel

@kernel
def shifted(x):
    return far.scaled(x) + 1.0
"""
NEAR = """
from middle import shifted
from slotwise.jit import kernel

@kernel
def answer(x):
    return shifted(x)
"""
# shows the most clicked items; the edited version swaps the first two
POLICY = """
from typing import NamedTuple

from slotwise.arrange import arrange
from slotwise.counts import CountArrays, add, empty
from slotwise.jit import kernel

class Params(NamedTuple):
    unused: bool = False

class State(NamedTuple):
    counts: CountArrays

@kernel
def init(params, n_items, n_positions, rng):
    return State(empty(n_items, n_positions))

@kernel(inline=True)
def choose(params, state, rng, display):
    arrange(state.counts.item_clicks, state.counts.position_clicks, display)
    # as arranged

@kernel(inline=True)
def update(params, state, display, clicks):
    add(state.counts, display, clicks)
"""
EDITED_POLICY = POLICY.replace("# as arranged", "display[0], display[1] = display[1], display[0]")

# the programs end by printing `output`
CALL = """
from near import answer

output = {"answer": answer(10.0), **cache_stats(answer)}
"""
SIMULATE = """
import outside, slotwise as sw
from slotwise.clickmodels import pbm
from slotwise.policies._policy_module import find
from slotwise.simulation.simulation_loop import loop_of

def simulate(policy):
    result = sw.simulate(policy, sw.PBM([0.9, 0.5, 0.1], [0.5, 1.0]), rounds=50, runs=1, seed=1, threads=1)
    return {"regret": float(result.regret[0, -1]), **cache_stats(loop_of(find(policy), pbm))}

output = {"module": simulate(outside)}
"""
SIMULATE_BOTH = f"""
{SIMULATE}
output["path"] = simulate("outside.py")
"""
EDIT_TOO_LATE = """
import far

edit("far.py", "2.0 * x", "500.0 * x")
from near import answer

output = {"answer": answer(10.0)}
"""
# settings whose type is defined in the program itself, as in a script with a policy
PROGRAM = """
from typing import NamedTuple
from slotwise.jit import kernel

class Params(NamedTuple):
    factor: float

@kernel
def answer(params, x):
    return params.factor * x

output = {"answer": answer(Params(2.0), 10.0), **cache_stats(answer)}
"""
PRELUDE = """
import json, os, pathlib

def cache_stats(kernel):
    stats = getattr(kernel, "stats", None)
    return {"hits": len(stats.cache_hits), "misses": len(stats.cache_misses)} if stats else {}

def edit(name, old, new):
    path = pathlib.Path(name)
    assert old in path.read_text()
    path.write_text(path.read_text().replace(old, new))

def files():
    return sum(path.is_file() for path in pathlib.Path(os.environ["SLOTWISE_CACHE_DIR"]).rglob("*"))
"""


class Workspace:
    """A folder with modules and its own cache."""

    def __init__(self, folder: Path, **sources: str) -> None:
        self.folder, self.cache = folder, folder / "cache"
        folder.mkdir()
        for name, source in sources.items():
            (folder / f"{name}.py").write_text(source)

    def run(self, program: str, launcher: tuple[str, ...] = (), **environment: str) -> Output:
        """Run a program in a new process; return its output and the number of files in the cache."""
        script = self.folder / "program.py"
        script.write_text(f"{PRELUDE}\n{program}\nprint(json.dumps(output | {{'files': files()}}))\n")
        # no bytecode: for an edit within the same second Python itself would load the old one
        settings = {CACHE_VARIABLE: str(self.cache), "PYTHONDONTWRITEBYTECODE": "1", "PYTHONWARNINGS": "error"}
        done = subprocess.run(
            [*launcher, sys.executable, script.name],
            cwd=self.folder,
            env=os.environ | settings | environment,
            capture_output=True,
            text=True,
        )
        assert done.returncode == 0, done.stderr
        output: Output = json.loads(done.stdout)
        return output


def helper_two_imports_away(folder: Path) -> list[Output]:
    workspace = Workspace(folder, near=NEAR, middle=MIDDLE, far=FAR)
    outputs = [workspace.run(CALL), workspace.run(CALL)]
    (folder / "far.py").write_text(FAR.replace("2.0 * x", "500.0 * x"))
    return [*outputs, workspace.run(CALL)]


def two_copies(folder: Path) -> list[Output]:
    """The same source in two folders, as in two checkouts or two environments, with one cache."""
    folder.mkdir()
    copies = [Workspace(folder / name, near=NEAR, middle=MIDDLE, far=FAR, outside=POLICY) for name in ("one", "two")]
    copies[1].cache = copies[0].cache
    return [copy.run(program) for copy in copies for program in (CALL, SIMULATE)]


def outside_policy(folder: Path) -> list[Output]:
    workspace = Workspace(folder, outside=POLICY)
    outputs = [workspace.run(SIMULATE_BOTH), workspace.run(SIMULATE_BOTH)]
    (folder / "outside.py").write_text(EDITED_POLICY)
    return [*outputs, workspace.run(SIMULATE)]


def no_cache_to_write_to(folder: Path) -> list[Output]:
    workspace = Workspace(folder, near=NEAR, middle=MIDDLE, far=FAR)
    workspace.cache = folder / "far.py" / "cache"  # below a file: not even root can create a folder there
    return [workspace.run(CALL)]


def read_only_cache(folder: Path) -> list[Output]:
    """Compile for any processor, as in a container image, then use the cache for any processor and for this one."""
    workspace = Workspace(folder, near=NEAR, middle=MIDDLE, far=FAR)
    portable = {"NUMBA_CPU_NAME": "generic", "NUMBA_CPU_FEATURES": ""}
    compiled = workspace.run(CALL, **portable)
    for path in [workspace.cache, *workspace.cache.rglob("*")]:
        path.chmod(0o555 if path.is_dir() else 0o444)
    return [compiled, workspace.run(CALL, unprivileged(), **portable), workspace.run(CALL, unprivileged())]


def unprivileged() -> tuple[str, ...]:
    """A launcher that makes permissions of files apply to root as well."""
    if os.geteuid() != 0:
        return ()
    if shutil.which("setpriv") is None:
        pytest.skip("setpriv is not installed, so root can write to a read-only cache")
    return ("setpriv", "--bounding-set=-all", "--inh-caps=-all")


def not_compiled(folder: Path) -> list[Output]:
    workspace = Workspace(folder, outside=POLICY)
    return [workspace.run(SIMULATE_BOTH, NUMBA_DISABLE_JIT="1")]


def edited_too_late(folder: Path) -> list[Output]:
    workspace = Workspace(folder, near=NEAR, middle=MIDDLE, far=FAR)
    return [workspace.run(EDIT_TOO_LATE), workspace.run(CALL)]


def types_of_the_program(folder: Path) -> list[Output]:
    workspace = Workspace(folder)
    return [workspace.run(PROGRAM), workspace.run(PROGRAM)]


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Results:
    """The outputs of the processes of a scenario, in order; each scenario runs once."""
    return cache(lambda scenario: scenario(tmp_path_factory.mktemp("scenarios") / scenario.__name__))


# within one process


@pytest.fixture
def kernels(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv(CACHE_VARIABLE, str(tmp_path / "cache"))
    return tmp_path / "cache" / "kernels"


@pytest.fixture
def written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Written]:
    """Write a module named jit_..., and import or reload it; all are removed from sys.modules afterwards."""
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    # as if the files were older than this process; test_an_edit_while_the_process_runs tests the other case
    monkeypatch.setattr(jit, "_STARTED", time.time() + 3600.0)

    def write(name: str, source: str) -> ModuleType:
        path = tmp_path / f"{name.replace('.', '/')}.py"
        path.parent.mkdir(exist_ok=True)
        path.write_text(source)
        importlib.invalidate_caches()
        return importlib.reload(sys.modules[name]) if name in sys.modules else importlib.import_module(name)

    yield write
    for name in [name for name in sys.modules if name.startswith("jit_")]:
        del sys.modules[name]


def test_reloading_an_edited_module_gives_the_new_answer(kernels: Path, written: Written) -> None:
    assert written("jit_reloaded", FAR).scaled(10.0) == 20.0
    assert written("jit_reloaded", FAR.replace("2.0", "300.0")).scaled(10.0) == 3000.0
    assert len(list(kernels.iterdir())) == 2


def test_another_helper_is_another_folder_and_the_same_one_the_same(kernels: Path, written: Written) -> None:
    written("jit_helper", "FACTOR = 2.0")
    written("jit_user", "from jit_helper import FACTOR")
    written("jit_stranger", "FACTOR = 2.0")
    user, stranger = cache_folder("jit_user"), cache_folder("jit_stranger")
    assert user == cache_folder("jit_user")
    assert user != stranger
    written("jit_helper", "FACTOR = 2.5")
    assert cache_folder("jit_user") != user
    assert cache_folder("jit_stranger") == stranger
    written("jit_helper", "FACTOR = 2.0")
    assert cache_folder("jit_user") == user


def test_an_edit_while_the_process_runs_is_never_cached(
    kernels: Path, written: Written, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The imported code may be older than the file, so no cache key would be right."""
    written("jit_edited", FAR)
    assert cache_folder("jit_edited") is not None
    monkeypatch.setattr(jit, "_STARTED", time.time() - 3600.0)
    assert cache_folder("jit_edited") is None
    assert written("jit_edited", FAR).scaled(10.0) == 20.0


def test_a_relative_import_is_followed(kernels: Path, written: Written) -> None:
    written("jit_package.inner", "FACTOR = 2.0")
    written("jit_package.outer", "from .inner import FACTOR")
    before = cache_folder("jit_package.outer")
    written("jit_package.inner", "FACTOR = 2.25")
    assert before is not None
    assert cache_folder("jit_package.outer") != before


def test_an_import_that_fails_in_python_too_is_ignored(kernels: Path, written: Written) -> None:
    either = "try:\n    from .constants import FACTOR\nexcept ImportError:\n    FACTOR = 2.0\n"
    assert written("jit_either", either + FAR).scaled(10.0) == 20.0


def test_a_reloaded_policy_gets_another_loop(kernels: Path, written: Written) -> None:
    policy = written("jit_policy", POLICY)
    loop = loop_of(policy, pbm)
    assert loop_of(policy, pbm) is loop
    assert loop_of(written("jit_policy", EDITED_POLICY), pbm) is not loop


def test_what_has_no_source_is_not_cached(kernels: Path) -> None:
    assert cache_folder("no_such_module") is None
    assert cache_folder("slotwise.arrange", "no_such_module") is None


def test_numba_keeps_its_own_cache_folder(kernels: Path, written: Written) -> None:
    before = numba.config.CACHE_DIR
    written("jit_polite", FAR).scaled(1.0)
    assert before == numba.config.CACHE_DIR
    assert [path.name for path in kernels.rglob("*.nbi")]


def aged(folder: Path, days: float) -> Path:
    folder.mkdir(parents=True)
    (folder / "kernel.nbc").write_text("machine code")
    then = time.time() - days * 24 * 3600
    os.utime(folder, (then, then))
    return folder


def test_prune_removes_old_folders_only(tmp_path: Path) -> None:
    old, new = aged(tmp_path / "old", days=31), aged(tmp_path / "new", days=29)
    prune(tmp_path)
    assert not old.exists()
    assert (new / "kernel.nbc").exists()
    prune(tmp_path, keep_seconds=3600)
    assert not new.exists()


def test_a_new_folder_prunes_the_old_ones_and_use_keeps_a_folder_young(kernels: Path, written: Written) -> None:
    written("jit_used", "FACTOR = 1.0")
    used = cache_folder("jit_used")
    assert used is not None
    os.utime(used, (0, 0))
    jit._usable.cache_clear()  # as in another process
    assert cache_folder("jit_used") == used
    old = aged(kernels / "old", days=31)
    written("jit_fresh", "FACTOR = 1.0")
    cache_folder("jit_fresh")
    assert used.exists()
    assert not old.exists()


def test_a_kernel_that_cannot_be_cached_works(kernels: Path) -> None:
    namespace: dict[str, Any] = {"kernel": kernel, "__name__": "typed_at_a_prompt"}
    exec("@kernel\ndef double(x):\n    return 2.0 * x\n", namespace)
    assert namespace["double"](4.0) == 8.0
    assert not list(kernels.rglob("*.nb?"))


# between processes


def test_the_second_process_finds_what_the_first_compiled(results: Results) -> None:
    first, second, _ = results(helper_two_imports_away)
    assert (first["answer"], first["hits"], first["misses"]) == (21.0, 0, 1)
    assert (second["answer"], second["hits"], second["misses"]) == (21.0, 1, 0)


def test_editing_a_helper_two_imports_away_gives_the_new_answer(results: Results) -> None:
    *_, edited = results(helper_two_imports_away)
    assert (edited["answer"], edited["hits"], edited["misses"]) == (5001.0, 0, 1)


def test_copies_of_the_same_source_share_what_is_compiled(results: Results) -> None:
    first_call, first_run, second_call, second_run = results(two_copies)
    assert (first_call["answer"], first_call["hits"], first_call["misses"]) == (21.0, 0, 1)
    assert (second_call["answer"], second_call["hits"], second_call["misses"]) == (21.0, 1, 0)
    assert (first_run["module"]["hits"], first_run["module"]["misses"]) == (0, 1)
    assert second_run["module"] == {"regret": first_run["module"]["regret"], "hits": 1, "misses": 0}


@pytest.mark.parametrize("given", ["module", "path"])
def test_a_policy_from_outside_the_package_is_found_again(given: str, results: Results) -> None:
    first, second, _ = results(outside_policy)
    assert (first[given]["hits"], first[given]["misses"]) == (0, 1)
    assert (second[given]["hits"], second[given]["misses"]) == (1, 0)
    assert second[given]["regret"] == first[given]["regret"] == first["module"]["regret"]


def test_editing_a_policy_outside_the_package_gives_the_new_answer(results: Results) -> None:
    first, _, edited = results(outside_policy)
    assert (edited["module"]["hits"], edited["module"]["misses"]) == (0, 1)
    assert edited["module"]["regret"] != first["module"]["regret"]


def test_the_cache_does_not_grow_while_nothing_changes(results: Results) -> None:
    for scenario in (helper_two_imports_away, outside_policy):
        first, second, edited = results(scenario)
        assert 0 < first["files"] == second["files"] < edited["files"]


def test_kernels_work_without_a_writable_cache(results: Results) -> None:
    (output,) = results(no_cache_to_write_to)
    assert (output["answer"], output["files"]) == (21.0, 0)


def test_a_read_only_cache_is_used(results: Results) -> None:
    compiled, portable, _ = results(read_only_cache)
    assert (compiled["answer"], compiled["misses"]) == (21.0, 1)
    assert (portable["answer"], portable["hits"], portable["misses"]) == (21.0, 1, 0)


def test_kernels_of_another_processor_in_a_read_only_cache_are_not_used(results: Results) -> None:
    compiled, _, native = results(read_only_cache)
    assert (native["answer"], native["hits"], native["misses"]) == (21.0, 0, 1)
    assert native["files"] == compiled["files"], "the cache stays as it is"


def test_kernels_run_as_plain_python(results: Results) -> None:
    (plain,) = results(not_compiled)
    compiled, *_ = results(outside_policy)
    assert plain["files"] == 0
    for given in ("module", "path"):
        assert plain[given] == {"regret": compiled[given]["regret"]}  # without cache hits or misses


def test_a_file_edited_after_its_import_does_not_make_the_cache_stale(results: Results) -> None:
    _, fresh = results(edited_too_late)
    assert fresh["answer"] == 5001.0


def test_types_of_the_program_itself_do_not_fill_the_cache(results: Results) -> None:
    first, second = results(types_of_the_program)
    assert first["answer"] == second["answer"] == 20.0
    assert second["files"] == first["files"]


def test_direct_gives_the_same_result() -> None:
    first, second = np.zeros(3), np.zeros(3)
    count_up(first, 1.5)
    direct(count_up)(second, 1.5)
    assert first.tolist() == second.tolist() == [1.5, 1.5, 1.5]
    count_up(np.zeros(3, np.float32), 1.5)  # now there are two signatures, and numba has to check the types
    assert direct(count_up) is count_up


@kernel
def count_up(values, by):  # type: ignore[no-untyped-def]
    for k in range(values.size):
        values[k] += by
