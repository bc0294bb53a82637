"""Policies from outside: what they fill in is checked, and errors name the policy and the line of its file."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import slotwise as sw
from slotwise import jit
from slotwise.clickmodels import pbm
from slotwise.policies import _source_lines, uniform
from slotwise.policies._policy_module import find
from slotwise.simulation import simulation_loop
from slotwise.simulation.simulate import counts_after
from tests.policies import faulty_runs
from tests.policies.faulty_runs import FILE, MISTAKES, MODEL, ROUND, message
from tests.waiting import HANG, wait_until

ROOT = Path(__file__).parent.parent.parent
LINES = FILE.read_text().splitlines()


def line(text: str) -> str:
    (number,) = (k for k, source in enumerate(LINES, start=1) if text in source)
    return f"faulty_policy.py, line {number}: "


INIT, CHOOSE, UPDATE = line("def init("), line("def choose("), line("def update(")
SAYS: dict[str, list[str]] = {
    "none": [],
    "nothing_filled": [f": choose does not fill display[0] in round {ROUND}; the items are 0 to 4 (", CHOOSE],
    "last_not_filled": [f": choose does not fill display[2] in round {ROUND}; the items are 0 to 4 (", CHOOSE],
    "too_large": [f": choose sets display[2] = 5 in round {ROUND}; the items are 0 to 4 (", CHOOSE],
    "negative": [f": choose sets display[2] = -1 in round {ROUND}; the items are 0 to 4 (", CHOOSE],
    "twice": [f": choose sets both display[0] and display[2] to item 0 in round {ROUND}; ", CHOOSE],
    "update_writes": [f": update sets display[1] = 1000 in round {ROUND}; the items are 0 to 4 (", UPDATE],
    "counts": [": init returns counts.clicks of shape (3, 5); for 5 items and 3 positions it must be (5, 3) (", INIT],
    "index": [" fails: IndexError: ", line("# index of display")],
    "step": [" fails: ValueError: range() arg 3 must not be zero (", line("# a step of zero")],
    "raise": [" fails: RuntimeError: no more displays (", line("no more\\ndisplays")],
    "update_raise": [" fails: RuntimeError: no more updates (", line('"no more updates"')],
    "update_index": [" fails: IndexError: ", line("# index of clicks")],
    "init": [" fails: ValueError: init (", line('ValueError("init")')],
    "long_order": [" fails: IndexError: ", line("# as many positions as items")],
    "add": [" fails: IndexError: ", line("# an item that does not exist")],
    "shift_many": [" fails: IndexError: ", line("# which calls shift")],
    "init_add": [" fails: IndexError: ", line("# in plain Python")],
}
COMPILED = {
    "helper": [" fails: IndexError: ", line("        helper(state.index)")],
}
PLAIN = {  # plain Python knows more: the line inside the helper
    "helper": [" fails: IndexError: ", line("# index of the helper")],
}


def check(text: str, fragments: list[str]) -> None:
    assert "\n" not in text
    assert bool(text) == bool(fragments)
    for fragment in ["policy faulty_policy", *fragments] if fragments else []:
        assert fragment in text, text


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_in_the_compiled_loop_is_reported_with_its_line(mistake: str) -> None:
    check(message(mistake), (SAYS | COMPILED)[mistake])


def test_plain_python_reports_the_same_mistakes() -> None:
    command = [sys.executable, "-m", faulty_runs.__name__]
    plain = subprocess.run(command, env=os.environ | {"NUMBA_DISABLE_JIT": "1"}, capture_output=True, cwd=ROOT)
    assert plain.returncode == 0, plain.stderr
    messages = json.loads(plain.stdout)
    for mistake in MISTAKES:
        check(messages[mistake], (SAYS | PLAIN)[mistake])


def test_threads_and_executors_report_the_same() -> None:
    alone = message("twice", threads=1)
    assert message("twice", threads=3, runs=6) == alone
    with ThreadPoolExecutor(2) as pool:
        assert message("twice", executor=pool) == alone


def test_counts_after_a_run_reports_the_same() -> None:
    with pytest.raises(sw.BadInput, match=r"choose sets display\[2\] = 5 in round 1"):
        counts_after(str(FILE), MODEL, 10, params={"mistake": "too_large"})


def test_the_original_error_is_the_cause() -> None:
    with pytest.raises(sw.BadInput) as caught:
        sw.simulate(str(FILE), MODEL, rounds=9, runs=1, params={"mistake": "raise"})
    assert isinstance(caught.value.__cause__, RuntimeError)


# the cost for policies of slotwise


def test_the_checks_are_not_compiled_into_the_loop_of_a_policy_of_slotwise(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jit, "cache_folder", lambda *_: None)  # compile it now
    loop: Any = simulation_loop._build.__wrapped__(uniform, pbm, uniform.choose, uniform.update, pbm.click)
    rng, cells = np.random.default_rng(0), np.zeros(2, np.int64)
    state = uniform.init(uniform.Params(), 5, 3, rng)
    loop(uniform.Params(), state, MODEL.arrays(), np.arange(3), cells[:1], 0, rng, rng, cells, np.zeros(1))
    (code,) = loop.inspect_llvm().values()
    assert "arrange" in code
    assert "check_display" not in code


# division by zero


@jit.kernel
def quotients(x: float, n: int) -> tuple[float, int, int]:
    return x / 0.0, n // 0, n % 0


def test_a_division_by_zero_is_silent_in_compiled_code_and_an_error_in_plain_python() -> None:
    kernel: Any = quotients
    assert kernel(1.0, 1) == (np.inf, 0, 0)
    assert np.isnan(kernel(0.0, 1)[0])
    with pytest.raises(ZeroDivisionError):
        kernel.py_func(1.0, 1)


# through a recommender


def page(mistake: str) -> sw.Recommender:
    return sw.Recommender(list("abcde"), ["top", "middle", "side"], policy=str(FILE), params={"mistake": mistake})


def learn(recommender: sw.Recommender) -> None:
    recommender.learn({"top": "a"})


RECOMMENDED: dict[str, tuple[Callable[[], object], list[str]]] = {
    "init": (lambda: page("init"), SAYS["init"]),
    "counts": (lambda: page("counts"), SAYS["counts"]),
    "theta": (
        lambda: page("score_theta").recommend(),
        [": score leaves theta[1] unfilled or NaN; ", line("def score(")],
    ),
    "kappa": (
        lambda: page("score_kappa").recommend(),
        [": score leaves kappa[1] unfilled or NaN; ", line("def score(")],
    ),
    "score": (lambda: page("score_raise").recommend(), [" fails: RuntimeError: no more scores (", line("more scores")]),
    "update": (lambda: learn(page("update_raise")), SAYS["update_raise"]),
    "update's index": (lambda: learn(page("update_index")), SAYS["update_index"]),
    "grow": (lambda: page("grow").add("f"), [": grow returns counts.clicks of shape (5, 3); ", line("def grow(")]),
}


@pytest.mark.parametrize("mistake", RECOMMENDED)
def test_a_recommender_reports_a_mistake_with_its_line(mistake: str) -> None:
    call, fragments = RECOMMENDED[mistake]
    with pytest.raises(sw.BadInput) as caught:
        call()
    check(str(caught.value), fragments)


def test_a_recommender_without_a_mistake_works_with_a_policy_from_outside() -> None:
    shop = page("none")
    shop.add("f")
    assert shop.recommend() == {"top": "f", "middle": "e", "side": "d"}
    learn(shop)
    assert shop.counts.displays == 1


def test_a_page_keeps_its_items_when_the_policy_cannot_grow() -> None:
    shop = page("grow")
    shop.retire("a")
    with pytest.raises(sw.BadInput):
        shop.add("a", "f")
    assert shop.items == list("bcde")
    assert shop.all_items == list("abcde")
    assert len(shop.recommend()) == 3


# files that cannot be compiled

SMALL = """
import numpy as np
from typing import NamedTuple
from slotwise.jit import kernel

class Params(NamedTuple):
    unused: bool = False

class State(NamedTuple):
    index: np.ndarray

@kernel
def init(params, n_items, n_positions, rng):
    return State(np.zeros(n_items))

@kernel
def helper(index):
    return index[0]

@kernel
def choose(params, state, rng, display):
    helper(state.index)
    for position in range(display.size):
        display[position] = position

@kernel
def update(params, state, display, clicks):
    pass
"""
NOT_COMPILED = {
    "an undefined name": ("display[position] = position", "display[position] = rank", "NameError: name 'rank'", "rank"),
    "an unknown field": ("helper(state.index)", "state.indices[0] = 1", "attribute 'indices' of type State", "indices"),
    "a text in a display": ("= position", "= 'hat'", "setitem(array(int64, 1d, C), ", "'hat'"),
    "an array in a display": ("= position", "= state.index", "setitem(array(int64, 1d, C), ", "= state.index"),
    "a helper": ("index[0]", "index.first", "attribute 'first' of type array", "index.first"),
    "a name that numpy lacks": ("helper(state.index)", "np.zeors(3)", "no attribute 'zeors'", "np.zeors(3)"),
    "init": ("State(np.zeros(n_items))", "State()", "required argument: 'index'", "State()"),
    "a field": ("helper(state.index)", "state.index += 1", "in state.index[0] += 1 (", "state.index += 1"),
    "a field and a text": (
        "helper(state.index)",
        "state.index += 'x'",
        "a field of State cannot be replaced",
        "+= 'x'",
    ),
    "a setting": ("    pass", "    params.unused = True", "params.unused cannot be replaced", "params.unused"),
    "update": ("    pass", "    display.shuffle()", "attribute 'shuffle' of type array", "display.shuffle()"),
}


def report_of(folder: Path, mistake: tuple[str, str, str, str]) -> str:
    """The error for the small policy with a mistake: (right code, wrong code, what is said, the line that is named)."""
    right, wrong, says, source = mistake
    assert right in SMALL
    text = SMALL.replace(right, wrong)
    (folder / "small.py").write_text(text)
    with pytest.raises(sw.BadInput) as caught:
        sw.simulate(str(folder / "small.py"), MODEL, rounds=5, runs=1, threads=1)
    reported = str(caught.value)
    number = next(k for k, one in enumerate(text.splitlines(), start=1) if source in one)
    assert says in reported
    assert (f"small.py, line {number}: " if source else "small.py") in reported
    assert "simulation_loop.py" not in reported
    assert "\n" not in reported
    return reported


@pytest.mark.parametrize("mistake", NOT_COMPILED)
def test_a_file_that_cannot_be_compiled_is_reported_with_its_line(mistake: str, tmp_path: Path) -> None:
    assert report_of(tmp_path, NOT_COMPILED[mistake]).startswith("policy small cannot be compiled: ")


def test_plain_python_reports_an_assignment_to_a_field_in_the_same_words(tmp_path: Path) -> None:
    text = SMALL.replace("return State(", "state = State(").replace("n_items))\n", "n_items))\n    state.index = 1\n")
    path = tmp_path / "small.py"
    path.write_text(text.replace("@kernel\ndef init", "def init"))
    with pytest.raises(
        sw.BadInput, match=r"a field of State .* in state\.index\[0\] \+= 1 \(.*line 14: state\.index = 1"
    ):
        sw.simulate(str(path), MODEL, rounds=5, runs=1, threads=1)


def test_an_edited_file_is_loaded_again(tmp_path: Path) -> None:
    """The edit keeps the size and the time of the file, by which Python recognizes an edit otherwise."""
    path = tmp_path / "small.py"
    path.write_text(SMALL)
    first = find(str(path))
    assert find(str(path)) is first
    times = path.stat().st_atime_ns, path.stat().st_mtime_ns
    path.write_text(SMALL.replace("unused: bool = False", "unused: bool = 1 > 0"))
    os.utime(path, ns=times)
    assert first.Params().unused is False
    assert find(str(path)).Params().unused is True


def test_one_interrupt_ends_a_command_whose_policy_hangs(tmp_path: Path) -> None:
    hangs = SMALL.replace("helper(state.index)", "while state.index[0] == 0.0:\n        pass")
    hangs = hangs.replace(
        f"@kernel\n{HEAD}", f"def init(params, n_items, n_positions, rng):\n{NOTES_ITS_CALL}    return State("
    )
    (tmp_path / "hangs.py").write_text(hangs)
    run = (
        "import signal; signal.signal(signal.SIGINT, signal.default_int_handler); from slotwise.cli import main; main()"
    )
    options = ["simulate", "--policies", "hangs.py", "--rounds", "5", "--runs", "1"]
    process = subprocess.Popen([sys.executable, "-c", run, *options], cwd=tmp_path)
    try:
        calls = tmp_path / "calls"  # of init: the first one compiles the loop, the second one begins the run
        wait_until(lambda: calls.is_file() and calls.stat().st_size == 2)
        process.send_signal(signal.SIGINT)
        assert process.wait(HANG) == 130
    finally:
        process.kill()


def test_a_policy_cannot_change_the_visitors(tmp_path: Path) -> None:
    """The model that a policy reads is a copy: what it writes there changes neither clicks nor regret."""
    informed = SMALL.replace("class Params", "from slotwise.clickmodels.pbm import Model\nclass Params")
    informed = informed.replace("unused: bool = False", "model: Model = Model(np.zeros(0), np.zeros(0))")
    regrets = []
    for name, line in (("reads", "params.model.theta[0]"), ("writes", "params.model.theta[:] = 0.0")):
        (tmp_path / f"{name}.py").write_text(informed.replace("helper(state.index)", line))
        result = sw.simulate(str(tmp_path / f"{name}.py"), MODEL, rounds=50, runs=1, threads=1)
        regrets.append(result.regret[0, -1])
    assert regrets[0] == regrets[1] > 0.0


INIT_KERNEL = "@kernel\ndef init"
HEAD = "def init(params, n_items, n_positions, rng):\n    return State("
NOTES_ITS_CALL = "    with open('calls', 'a') as calls:\n        calls.write('x')\n"
PLAIN_INIT = f"@kernel\n{HEAD}np.zeros(n_items))", f"{HEAD}{{'a': 1}})"
WRONG_FORM = {
    "choose is no kernel": ("@kernel\ndef choose", "def choose", "choose is not a kernel; put @kernel", "def choose"),
    "numba's own decorator": (
        "@kernel\ndef choose",
        "import numba\n@numba.njit\ndef choose",
        "choose is not a kernel; put @kernel",
        "def choose",
    ),
    "other counts": (
        f"{INIT_KERNEL}{HEAD.removeprefix('def init')}np.zeros(n_items))",
        f"from slotwise.counts import empty\n@kernel\n{HEAD}empty(n_positions, n_items))",
        "init returns index.clicks of shape (3, 5); for 5 items",
        "def init",
    ),
    "too few arguments": ("rng, display)", "display)", "choose takes (params, state, display)", "def choose"),
    "not a function": ("    pass", "    pass\nupdate = 3", "update is not a function", "def update"),
    "no state": ("return State(", "State(", "init returns NoneType, not a State", "def init"),
    "no default": ("bool = False", "bool", "policy small: Params.unused needs a default", "class Params"),
    "a text as setting": (
        "bool = False",
        "str = 'a'",
        "unused is of type str; a setting is a float, int,",
        "class Params",
    ),
    "a union": ("bool = False", "float | None = None", "unused is of type float | None; a setting is", "class Params"),
    "a dict": ("np.zeros(n_items)", "{}", "State.index is of type dict; State holds numbers, arrays", "class State"),
    "a dict of a plain init": (PLAIN_INIT[0], PLAIN_INIT[1], "State.index is of type dict; ", "class State"),
    "a failing check": (INIT_KERNEL, f"def check(params):\n    params.used\n{INIT_KERNEL}", "'used'", "params.used"),
    "an odd check": (INIT_KERNEL, f"def check(params):\n    return 3\n{INIT_KERNEL}", "a text or None", "def check"),
    "an unknown type": ("unused: bool", "unused: 'boool'", "NameError: name 'boool' is not defined", ""),
    "not Python": ("def choose(", "def choose(:", "SyntaxError: invalid syntax", "def choose"),
    "a failing import": ("class Params", "import nunpy\nclass Params", "No module named 'nunpy'", "nunpy"),
    "a failing line": ("class Params", "1 / 0\nclass Params", "ZeroDivisionError: division by zero", "1 / 0"),
    "an exit": ("class Params", "import sys\nsys.exit(3)\nclass Params", "SystemExit: 3", "sys.exit(3)"),
    "an exit in init": (
        f"@kernel\n{HEAD}np.zeros(n_items))",
        f"import sys\n{HEAD}sys.exit(3))",
        "fails: SystemExit: 3",
        "State(sys.exit(3))",
    ),
    "a missing name": ("def update", "def learn", "it lacks update", ""),
}


@pytest.mark.parametrize("mistake", WRONG_FORM)
def test_a_file_of_a_wrong_form_is_reported_with_its_line(mistake: str, tmp_path: Path) -> None:
    report_of(tmp_path, WRONG_FORM[mistake])


WHOLE = {
    "a text": ("x", "'x' is not a whole number"),
    "too large": (2**63, "9223372036854775808 is not a whole number and below 2^63"),
    "too small": (-(2**63) - 1, "-9223372036854775809 is not a whole number of at least -2^63"),
}


@pytest.mark.parametrize("value", WHOLE)
def test_a_wrong_value_of_a_whole_number_names_only_the_limit_that_it_breaks(value: str) -> None:
    given, says = WHOLE[value]
    with pytest.raises(sw.BadInput) as caught:
        sw.simulate(str(FILE), MODEL, rounds=5, runs=1, params={"after": given})
    assert str(caught.value) == f"after = {says}"


# how lines are found


def test_a_call_that_does_not_end_is_not_made_again_for_long(monkeypatch: pytest.MonkeyPatch) -> None:
    def endless() -> None:
        while True:
            pass

    monkeypatch.setattr(_source_lines, "REPLAY_SECONDS", 0.05)
    before = sys.gettrace()
    started = time.monotonic()
    found = _source_lines.line_of_error(find(str(FILE)), IndexError(), [_source_lines.KernelCall(endless, ())])
    assert time.monotonic() - started < 20
    assert found == (str(FILE), 0)
    assert sys.gettrace() is before


def test_an_error_of_a_policy_of_slotwise_keeps_its_traceback(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr(uniform, "init", broken)
    with pytest.raises(ZeroDivisionError):
        sw.simulate("uniform", MODEL, rounds=5, runs=1)
