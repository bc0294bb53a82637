"""The compile cache: found again by the next process, and never stale, whatever was edited in between."""

import importlib
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from types import ModuleType
from typing import Any

import numba
import numpy as np
import pytest

from slotwise import jit
from slotwise.clickmodels import pbm
from slotwise.jit import CACHE_VARIABLE, cache_folder, direct, kernel, prune
from slotwise.simulation.episode import episode_of

Seen = dict[str, Any]  # what a process told
Written = Callable[[str, str], ModuleType]
Story = Callable[[Path], list[Seen]]
Told = Callable[[Story], list[Seen]]

pytest_plugins = ["tests.background_runs"]  # they begin at once, see there

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
# shows what was clicked most; once edited, with the first two items the other way round
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

# the programs end by printing `told`
ASK = """
from near import answer

told = {"answer": answer(10.0), **found(answer)}
"""
PLAY = """
import outside, slotwise as sw
from slotwise.clickmodels import pbm
from slotwise.policies._contract import find
from slotwise.simulation.episode import episode_of

def play(policy):
    result = sw.simulate(policy, sw.PBM([0.9, 0.5, 0.1], [0.5, 1.0]), rounds=50, runs=1, seed=1, threads=1)
    return {"regret": float(result.regret[0, -1]), **found(episode_of(find(policy), pbm))}

told = {"module": play(outside)}
"""
PLAY_BOTH = f"""
{PLAY}
told["path"] = play("outside.py")
"""
EDIT_TOO_LATE = """
import far

edit("far.py", "2.0 * x", "500.0 * x")
from near import answer

told = {"answer": answer(10.0)}
"""
# settings of a type that is defined in the program itself, as a policy in a script has them
PROGRAM = """
from typing import NamedTuple
from slotwise.jit import kernel

class Params(NamedTuple):
    factor: float

@kernel
def answer(params, x):
    return params.factor * x

told = {"answer": answer(Params(2.0), 10.0), **found(answer)}
"""
PRELUDE = """
import json, os, pathlib

def found(kernel):
    stats = getattr(kernel, "stats", None)
    return {"hits": len(stats.cache_hits), "misses": len(stats.cache_misses)} if stats else {}

def edit(name, old, new):
    path = pathlib.Path(name)
    assert old in path.read_text()
    path.write_text(path.read_text().replace(old, new))

def files():
    return sum(path.is_file() for path in pathlib.Path(os.environ["SLOTWISE_CACHE_DIR"]).rglob("*"))
"""


class Place:
    """A folder with modules, and a cache of its own."""

    def __init__(self, folder: Path, **sources: str) -> None:
        self.folder, self.cache = folder, folder / "cache"
        folder.mkdir()
        for name, source in sources.items():
            (folder / f"{name}.py").write_text(source)

    def run(self, program: str, **environment: str) -> Seen:
        """Run a program in a new process: what it told, and how many files the cache then holds."""
        script = self.folder / "program.py"
        script.write_text(f"{PRELUDE}\n{program}\nprint(json.dumps(told | {{'files': files()}}))\n")
        # no bytecode: Python itself would serve an old one for an edit within the same second
        settings = {CACHE_VARIABLE: str(self.cache), "PYTHONDONTWRITEBYTECODE": "1", "PYTHONWARNINGS": "error"}
        done = subprocess.run(
            [sys.executable, script.name],
            cwd=self.folder,
            env=os.environ | settings | environment,
            capture_output=True,
            text=True,
        )
        assert done.returncode == 0, done.stderr
        seen: Seen = json.loads(done.stdout)
        return seen


def helper_two_imports_away(folder: Path) -> list[Seen]:
    place = Place(folder, near=NEAR, middle=MIDDLE, far=FAR)
    seen = [place.run(ASK), place.run(ASK)]
    (folder / "far.py").write_text(FAR.replace("2.0 * x", "500.0 * x"))
    return [*seen, place.run(ASK)]


def outside_policy(folder: Path) -> list[Seen]:
    place = Place(folder, outside=POLICY)
    seen = [place.run(PLAY_BOTH), place.run(PLAY_BOTH)]
    (folder / "outside.py").write_text(EDITED_POLICY)
    return [*seen, place.run(PLAY)]


def no_cache_to_write_to(folder: Path) -> list[Seen]:
    place = Place(folder, near=NEAR, middle=MIDDLE, far=FAR)
    place.cache = folder / "far.py" / "cache"  # below a file: no folder can be made there, not even by root
    return [place.run(ASK)]


def not_compiled(folder: Path) -> list[Seen]:
    place = Place(folder, outside=POLICY)
    return [place.run(PLAY_BOTH, NUMBA_DISABLE_JIT="1")]


def edited_too_late(folder: Path) -> list[Seen]:
    place = Place(folder, near=NEAR, middle=MIDDLE, far=FAR)
    return [place.run(EDIT_TOO_LATE), place.run(ASK)]


def types_of_the_program(folder: Path) -> list[Seen]:
    place = Place(folder)
    return [place.run(PROGRAM), place.run(PROGRAM)]


STORIES: list[Story] = [
    outside_policy,  # the longest first
    helper_two_imports_away,
    edited_too_late,
    types_of_the_program,
    no_cache_to_write_to,
    not_compiled,
]


pool = ThreadPoolExecutor(os.cpu_count(), thread_name_prefix="stories")


@cache
def folder() -> TemporaryDirectory[str]:
    return TemporaryDirectory(prefix="slotwise-stories-")


@cache
def begin() -> dict[Story, Future[list[Seen]]]:
    return {story: pool.submit(story, Path(folder().name) / story.__name__) for story in STORIES}


def end() -> None:
    pool.shutdown(cancel_futures=True)
    folder().cleanup()


@pytest.fixture
def told() -> Told:
    """What the processes of a story told, one after the other."""
    return lambda story: begin()[story].result()


# within one process


@pytest.fixture
def kernels(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv(CACHE_VARIABLE, str(tmp_path / "cache"))
    return tmp_path / "cache" / "kernels"


@pytest.fixture
def written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Written]:
    """Write a module whose name begins with jit_, and import it, or reload it; all are forgotten afterwards."""
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    # as if the files had been there before this process began; test_an_edit_while_the_process_runs is about the other
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
    """What was imported may be older than what the file says by now, so no key would be right."""
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


def test_an_import_that_python_itself_gives_up_is_no_obstacle(kernels: Path, written: Written) -> None:
    either = "try:\n    from .constants import FACTOR\nexcept ImportError:\n    FACTOR = 2.0\n"
    assert written("jit_either", either + FAR).scaled(10.0) == 20.0


def test_a_reloaded_policy_gets_another_loop(kernels: Path, written: Written) -> None:
    policy = written("jit_policy", POLICY)
    loop = episode_of(policy, pbm)
    assert episode_of(policy, pbm) is loop
    assert episode_of(written("jit_policy", EDITED_POLICY), pbm) is not loop


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
    jit._writable.cache_clear()  # as in another process
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


def test_the_second_process_finds_what_the_first_compiled(told: Told) -> None:
    first, second, _ = told(helper_two_imports_away)
    assert (first["answer"], first["hits"], first["misses"]) == (21.0, 0, 1)
    assert (second["answer"], second["hits"], second["misses"]) == (21.0, 1, 0)


def test_editing_a_helper_two_imports_away_gives_the_new_answer(told: Told) -> None:
    *_, edited = told(helper_two_imports_away)
    assert (edited["answer"], edited["hits"], edited["misses"]) == (5001.0, 0, 1)


@pytest.mark.parametrize("given", ["module", "path"])
def test_a_policy_from_outside_the_package_is_found_again(given: str, told: Told) -> None:
    first, second, _ = told(outside_policy)
    assert (first[given]["hits"], first[given]["misses"]) == (0, 1)
    assert (second[given]["hits"], second[given]["misses"]) == (1, 0)
    assert second[given]["regret"] == first[given]["regret"] == first["module"]["regret"]


def test_editing_a_policy_outside_the_package_gives_the_new_answer(told: Told) -> None:
    first, _, edited = told(outside_policy)
    assert (edited["module"]["hits"], edited["module"]["misses"]) == (0, 1)
    assert edited["module"]["regret"] != first["module"]["regret"]


def test_the_cache_does_not_grow_while_nothing_changes(told: Told) -> None:
    for story in (helper_two_imports_away, outside_policy):
        first, second, edited = told(story)
        assert 0 < first["files"] == second["files"] < edited["files"]


def test_a_cache_that_cannot_be_written_is_done_without(told: Told) -> None:
    (seen,) = told(no_cache_to_write_to)
    assert (seen["answer"], seen["files"]) == (21.0, 0)


def test_kernels_run_as_plain_python(told: Told) -> None:
    (plain,) = told(not_compiled)
    compiled, *_ = told(outside_policy)
    assert plain["files"] == 0
    for given in ("module", "path"):
        assert plain[given] == {"regret": compiled[given]["regret"]}  # and no cache hits or misses to tell of


def test_a_file_edited_after_its_import_does_not_spoil_the_cache(told: Told) -> None:
    _, fresh = told(edited_too_late)
    assert fresh["answer"] == 5001.0


def test_types_of_the_program_itself_do_not_fill_the_cache(told: Told) -> None:
    first, second = told(types_of_the_program)
    assert first["answer"] == second["answer"] == 20.0
    assert second["files"] == first["files"]


def test_the_compiled_code_itself_does_the_same() -> None:
    first, second = np.zeros(3), np.zeros(3)
    count_up(first, 1.5)
    direct(count_up)(second, 1.5)
    assert first.tolist() == second.tolist() == [1.5, 1.5, 1.5]
    count_up(np.zeros(3, np.float32), 1.5)  # now there are two of them, and numba has to look at the types
    assert direct(count_up) is count_up


@kernel
def count_up(values, by):  # type: ignore[no-untyped-def]
    for k in range(values.size):
        values[k] += by
