"""Invalid input raises BadInput with a one-line message that names the value and what would be valid."""

import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import slotwise as sw
from slotwise.policies import uniform

NAN, INF = float("nan"), float("inf")
MODEL = sw.PBM([0.5, 0.3, 0.2], [1.0, 0.5])
Call = Callable[[], object]
Row = tuple[Call, tuple[str, ...]]


def simulate(policy: Any = "uniform", model: Any = MODEL, **settings: Any) -> sw.Result:
    return sw.simulate(policy, model, **({"rounds": 10, "runs": 1, "threads": 1} | settings))


def with_params(**params: Any) -> sw.Result:
    return simulate("pb_mhb", params=params)


def recommender(items: Any = ("hat", "tie", "bag"), positions: Any = ("hero", "side"), **settings: Any) -> Any:
    return sw.Recommender(items, positions, **settings)


def page() -> Any:
    """A page with counts and a retired item; untyped, so that mypy allows arguments of any type."""
    learnt = recommender()
    learnt.learn({"hero": "hat", "side": "tie"}, clicked=["hero"])
    learnt.retire("bag")
    return learnt


def refusal(call: Call) -> str:
    with pytest.raises(sw.BadInput) as caught:
        call()
    assert "\n" not in str(caught.value)
    return str(caught.value)


PBM_ROWS: dict[str, Row] = {
    "theta above one": (lambda: sw.PBM([0.5, 1.3], [1]), ("theta[1] = 1.3 is not in [0, 1]",)),
    "theta below zero": (lambda: sw.PBM([-0.1, 0.5], [1]), ("theta[0] = -0.1 is not in [0, 1]",)),
    "theta not a number": (lambda: sw.PBM([0.5, NAN], [1]), ("theta[1] = nan is not in [0, 1]",)),
    "theta infinite": (lambda: sw.PBM([INF], [1]), ("theta[0] = inf is not in [0, 1]",)),
    "kappa above one": (lambda: sw.PBM([0.5] * 3, [1, 0.2, 1.5]), ("kappa[2] = 1.5 is not in [0, 1]",)),
    "kappa not a number": (lambda: sw.PBM([0.5], [NAN]), ("kappa[0] = nan is not in [0, 1]",)),
    "more positions than items": (lambda: sw.PBM([0.5], [1, 1]), ("2 positions but only 1 items", "at least as many")),
    "no items": (lambda: sw.PBM([], [1]), ("theta has shape (0,)", "at least one number")),
    "no positions": (lambda: sw.PBM([0.5], []), ("kappa has shape (0,)", "at least one number")),
    "theta a matrix": (lambda: sw.PBM([[0.5]], [1]), ("theta has shape (1, 1)",)),
    "theta a text": (lambda: sw.PBM("0.5", [1]), ("theta = '0.5' is not made of numbers",)),
    "theta of texts": (lambda: sw.PBM(["0.5"], [1]), ("theta = ['0.5'] is not made of numbers",)),
    "theta of booleans": (lambda: sw.PBM([True, False], [1]), ("theta = [True, False] is not made of numbers",)),
    "theta nothing": (lambda: sw.PBM(None, [1]), ("theta = None is not made of numbers",)),
    "theta a mapping": (lambda: sw.PBM({"a": 0.5}, [1]), ("theta = {'a': 0.5} is not made of numbers",)),
    "theta ragged": (lambda: sw.PBM([[0.5], [0.1, 0.2]], [1]), ("theta = ", "is not made of numbers")),
    "theta complex": (lambda: sw.PBM([0.5j], [1]), ("theta = [0.5j] is not made of numbers",)),
}

COUNTS_ROWS: dict[str, Row] = {
    "negative clicks": (lambda: sw.Counts([[1, -1]], [[1, 1]]), ("clicks[0][1] = -1.0", "at least 0")),
    "negative skips": (lambda: sw.Counts([[1, 1]], [[-2, 1]]), ("skips[0][0] = -2.0", "at least 0")),
    "clicks not a number": (lambda: sw.Counts([[NAN]], [[1]]), ("clicks[0][0] = nan", "at least 0")),
    "skips infinite": (lambda: sw.Counts([[1]], [[INF]]), ("skips[0][0] = inf", "finite")),
    "other shapes": (lambda: sw.Counts([[1, 2]], [[1], [2]]), ("(1, 2)", "(2, 1)", "items x positions")),
    "a list": (lambda: sw.Counts([1, 2], [1, 2]), ("clicks has shape (2,)", "items x positions")),
    "nothing": (lambda: sw.Counts([[]], [[]]), ("clicks has shape (1, 0)", "items x positions")),
    "booleans": (lambda: sw.Counts([[True]], [[1]]), ("clicks = [[True]] is not made of numbers",)),
    "texts": (lambda: sw.Counts([[1]], [["1"]]), ("skips = [['1']] is not made of numbers",)),
    "negative displays": (lambda: sw.Counts([[1]], [[1]], -1), ("displays = -1", "at least 0")),
    "displays not a number": (lambda: sw.Counts([[1]], [[1]], NAN), ("displays = nan", "at least 0")),
}

SIMULATE_ROWS: dict[str, Row] = {
    "unknown policy": (lambda: simulate("pb_mbh"), ("unknown policy 'pb_mbh'", "did you mean 'pb_mhb'?", "uniform")),
    "policy a number": (lambda: simulate(5), ("unknown policy 5", "known:")),
    "policy nothing": (lambda: simulate(None), ("unknown policy None", "known:")),
    "private module": (lambda: simulate("_policy_module"), ("unknown policy '_policy_module'",)),
    "no policy file": (lambda: simulate("nowhere/mine.py"), ("nowhere/mine.py' does not exist",)),
    "not a policy": (lambda: simulate(sys), ("module 'sys' is not a policy", "Params, State, init, choose, update")),
    "model a mapping": (lambda: simulate(model={"theta": [1]}), ("model = {'theta': [1]}", "slotwise.PBM(theta=")),
    "no rounds": (lambda: simulate(rounds=0), ("rounds = 0", "whole number of at least 1")),
    "negative rounds": (lambda: simulate(rounds=-5), ("rounds = -5", "whole number of at least 1")),
    "half a round": (lambda: simulate(rounds=1.5), ("rounds = 1.5", "whole number of at least 1")),
    "rounds not a number": (lambda: simulate(rounds=NAN), ("rounds = nan", "whole number of at least 1")),
    "rounds a boolean": (lambda: simulate(rounds=True), ("rounds = True", "whole number of at least 1")),
    "rounds a text": (lambda: simulate(rounds="10"), ("rounds = '10'", "whole number of at least 1")),
    "rounds nothing": (lambda: simulate(rounds=None), ("rounds = None", "whole number of at least 1")),
    "no runs": (lambda: simulate(runs=0), ("runs = 0", "whole number of at least 1")),
    "runs a list": (lambda: simulate(runs=[1]), ("runs = [1]", "whole number of at least 1")),
    "negative seed": (lambda: simulate(seed=-1), ("seed = -1", "whole number of at least 0")),
    "seed nothing": (lambda: simulate(seed=None), ("seed = None", "whole number of at least 0")),
    "negative delay": (lambda: simulate(delay=-1), ("delay = -1", "whole number of at least 0")),
    "delay infinite": (lambda: simulate(delay=INF), ("delay = inf", "whole number of at least 0")),
    "negative threads": (lambda: simulate(threads=-2), ("threads = -2", "whole number of at least 1")),
    "checkpoint zero": (lambda: simulate(checkpoints=[0]), ("checkpoints = 0.0", "whole number of at least 1")),
    "half a checkpoint": (lambda: simulate(checkpoints=[2, 2.5]), ("checkpoints = 2.5", "whole number")),
    "checkpoint too late": (
        lambda: simulate(checkpoints=[11]),
        (
            "checkpoint 11",
            "last round, 10",
        ),
    ),
    "no checkpoints": (lambda: simulate(checkpoints=[]), ("checkpoints has shape (0,)",)),
    "checkpoints a text": (lambda: simulate(checkpoints="abc"), ("checkpoints = 'abc' is not made of numbers",)),
    "checkpoint not a number": (lambda: simulate(checkpoints=[NAN]), ("checkpoints = nan",)),
}

PARAMS_ROWS: dict[str, Row] = {
    "unknown": (lambda: with_params(widht=1), ("unknown pb_mhb parameter 'widht'", "did you mean 'width'?")),
    "unlike any": (lambda: with_params(zzz=1), ("unknown pb_mhb parameter 'zzz'", "known: reference, start")),
    "width a text": (lambda: with_params(width="wide"), ("width = 'wide' is not a number",)),
    "width a boolean": (lambda: with_params(width=True), ("width = True is not a number",)),
    "width nothing": (lambda: with_params(width=None), ("width = None is not a number",)),
    "width zero": (lambda: with_params(width=0), ("width = 0.0 is not a positive number",)),
    "width not a number": (lambda: with_params(width=NAN), ("width = nan is not a positive number",)),
    "width infinite": (lambda: with_params(width=INF), ("width = inf is not a positive number",)),
    "half a sweep": (lambda: with_params(sweeps=1.5), ("sweeps = 1.5 is not a whole number",)),
    "no sweeps": (lambda: with_params(sweeps=0), ("sweeps = 0 is not a whole number of at least 1",)),
    "sweeps a boolean": (lambda: with_params(sweeps=True), ("sweeps = True is not a whole number",)),
    "no such choice": (lambda: with_params(reference="last"), ("reference = 'last' is not one of first, none",)),
    "choice by number": (lambda: with_params(start=1), ("start = 1 is not one of warm, random",)),
    "not true or false": (lambda: simulate(params={"unused": 1}), ("unused = 1 is not true or false",)),
    "name a number": (lambda: simulate(params={1: 2}), ("params = {1: 2} is not a mapping of names to values",)),
}

RECOMMENDER_ROWS: dict[str, Row] = {
    "no items": (lambda: recommender(items=[]), ("no items given", "at least one")),
    "no positions": (lambda: recommender(positions=[]), ("no positions given", "at least one")),
    "items one text": (lambda: recommender(items="abc"), ("items = 'abc' is a string", "a list of names")),
    "positions one text": (lambda: recommender(positions="ab"), ("positions = 'ab' is a string", "a list of names")),
    "item twice": (lambda: recommender(items=["hat", "tie", "hat"]), ("item 'hat' is given twice",)),
    "position twice": (lambda: recommender(positions=["a", "a"]), ("position 'a' is given twice",)),
    "item a number": (lambda: recommender(items=[1, 2]), ("1 in items is not a name", "a string")),
    "item nameless": (lambda: recommender(items=["hat", ""]), ("item '' is not a name", "at least one character")),
    "more positions than items": (lambda: recommender(items=["hat"]), ("2 positions but only 1 items",)),
    "unknown policy": (lambda: recommender(policy="unifrom"), ("unknown policy 'unifrom'", "did you mean 'uniform'?")),
    "unknown parameter": (lambda: recommender(params={"sweps": 2}), ("'sweps'", "did you mean 'sweeps'?")),
    "negative seed": (lambda: recommender(seed=-1), ("seed = -1", "whole number of at least 0")),
    "seed a boolean": (lambda: recommender(seed=True), ("seed = True", "whole number of at least 0")),
    "unknown eligible item": (lambda: page().recommend(eligible=["hta"]), ("unknown item 'hta'", "mean 'hat'?")),
    "unknown excluded item": (lambda: page().recommend(excluded=["tei"]), ("unknown item 'tei'", "mean 'tie'?")),
    "unknown pinned item": (lambda: page().recommend(pinned={"hero": "sofa"}), ("unknown item 'sofa'", "hat, tie")),
    "unknown pin": (lambda: page().recommend(pinned={"heor": "hat"}), ("unknown position 'heor'", "mean 'hero'?")),
    "pinned twice": (lambda: page().recommend(pinned={"hero": "hat", "side": "hat"}), ("pinned at two positions",)),
    "pinned retired": (lambda: page().recommend(pinned={"hero": "bag"}), ("item 'bag' is retired",)),
    "pinned nothing": (lambda: page().recommend(pinned={"hero": None}), ("unknown item None",)),
    "no display": (lambda: page().learn(None), ("display = None is not a mapping of positions to items",)),
    "display a list": (lambda: page().learn(["hat"]), ("display = ['hat'] is not a mapping",)),
    "display of unknown": (lambda: page().learn({"hero": "sofa"}), ("unknown item 'sofa'", "known: bag, hat, tie")),
    "display nowhere": (lambda: page().learn({"top": "hat"}), ("unknown position 'top'", "known: hero, side")),
    "display turned round": (lambda: page().learn({"hat": "hero"}), ("unknown item 'hero'",)),
    "shown twice": (lambda: page().learn({"hero": "hat", "side": "hat"}), ("shows an item twice",)),
    "unknown click": (lambda: page().learn({"hero": "hat"}, ["heor"]), ("unknown position 'heor'", "mean 'hero'?")),
    "click on an item": (lambda: page().learn({"hero": "hat"}, ["hat"]), ("unknown position 'hat'",)),
    "click on nothing": (lambda: page().learn({"hero": "hat"}, ["side"]), ("position 'side' was clicked, but",)),
    "late for nothing": (lambda: page().late_click({"hero": "tie"}, ["hero"]), ("no skip of 'tie' at 'hero'",)),
    "late on nothing": (lambda: page().late_click({"side": "tie"}, ["hero"]), ("position 'hero' was clicked, but",)),
    "late and empty": (lambda: page().late_click({}, ["hero"]), ("hero", "shows nothing there")),
    "already on the page": (lambda: page().add("sock", "hat"), ("item 'hat' is already on the page",)),
    "added twice": (lambda: page().add("sock", "sock"), ("item 'sock' is given twice",)),
    "nothing added": (lambda: page().add(), ("no items given",)),
    "a number added": (lambda: page().add(3), ("3 in items is not a name",)),
    "unknown retired": (lambda: page().retire("hta"), ("unknown item 'hta'", "did you mean 'hat'?")),
    "no draws": (lambda: page().posterior(0), ("draws = 0", "whole number of at least 1")),
}

RESULT_ROWS: dict[str, Row] = {
    "quantile above one": (lambda: simulate().quantiles([0.5, 1.5]), ("levels[1] = 1.5 is not in [0, 1]",)),
    "no quantiles": (lambda: simulate().quantiles([]), ("levels has shape (0,)",)),
    "other runs": (lambda: simulate().difference(simulate(runs=2)), ("same runs and checkpoints",)),
    "no such file": (lambda: sw.Result.load("nowhere.json"), ("cannot read 'nowhere.json'", "No such file")),
    "no such folder": (lambda: simulate().save("nowhere/r.json"), ("cannot write", "the folder 'nowhere'")),
    "no such page": (lambda: sw.Recommender.load("nowhere.json"), ("cannot read 'nowhere.json'", "No such file")),
    "no such page folder": (lambda: page().save("nowhere/p.json"), ("cannot write", "the folder 'nowhere'")),
}

TABLES = {
    "PBM": PBM_ROWS,
    "Counts": COUNTS_ROWS,
    "simulate": SIMULATE_ROWS,
    "params": PARAMS_ROWS,
    "Recommender": RECOMMENDER_ROWS,
    "Result": RESULT_ROWS,
}
ROWS = [pytest.param(*row, id=f"{table}: {name}") for table, rows in TABLES.items() for name, row in rows.items()]


@pytest.mark.parametrize(("call", "says"), ROWS)
def test_bad_input_is_refused_in_one_line(call: Call, says: tuple[str, ...]) -> None:
    message = refusal(call)
    for fragment in says:
        assert fragment in message


def test_bad_input_is_a_value_error() -> None:
    assert issubclass(sw.BadInput, ValueError)


@pytest.mark.parametrize(
    "call",
    [
        pytest.param(lambda shop: shop.learn({"hero": "hat", "side": "tie"}, ["hero", "top"]), id="learn"),
        pytest.param(lambda shop: shop.late_click({"hero": "hat", "side": "tie"}, ["side", "hero"]), id="late_click"),
        pytest.param(lambda shop: shop.add("bag", "sock", "hat"), id="add"),
        pytest.param(lambda shop: shop.retire("hat", "sofa"), id="retire"),
        pytest.param(lambda shop: shop.recommend(pinned={"hero": "hat"}, excluded=["sofa"]), id="recommend"),
    ],
)
def test_a_rejected_call_changes_nothing(call: Callable[[Any], object]) -> None:
    shop, untouched = page(), page()
    refusal(lambda: call(shop))
    assert (shop.items, shop.retired) == (untouched.items, untouched.retired)
    assert shop.counts.clicks.tolist() == untouched.counts.clicks.tolist()
    assert shop.counts.skips.tolist() == untouched.counts.skips.tolist()
    assert [shop.recommend() for _ in range(5)] == [untouched.recommend() for _ in range(5)]


# files and modules of the wrong kind


def test_files_of_another_kind_are_refused(tmp_path: Path) -> None:
    simulate().save(tmp_path / "result.json")
    page().save(tmp_path / "page.json")
    wrong_page = refusal(lambda: sw.Recommender.load(tmp_path / "result.json"))
    assert "is a 'slotwise-result' file; a 'slotwise-recommender' file is needed" in wrong_page
    wrong_result = refusal(lambda: sw.Result.load(tmp_path / "page.json"))
    assert "is a 'slotwise-recommender' file; a 'slotwise-result' file is needed" in wrong_result


POLICY = Path(uniform.__file__).read_text()


@pytest.mark.parametrize(
    ("source", "says"),
    [
        pytest.param("", ("lacks Params, State, init, choose, update",), id="empty"),
        pytest.param(POLICY.replace("choose =", "chose ="), ("is not a policy: it lacks choose",), id="a name"),
        pytest.param("import no_such_module", ("bad.py' cannot be imported", "no_such_module"), id="a bad import"),
        pytest.param("def choose(:", ("bad.py' cannot be imported: SyntaxError",), id="not Python"),
        pytest.param("1 / 0", ("bad.py' cannot be imported: ZeroDivisionError",), id="a failure"),
        pytest.param(POLICY.replace("Params(NamedTuple)", "Params"), ("Params is not a NamedTuple",), id="a class"),
        pytest.param(
            POLICY.replace("unused: bool = False", "depth: float"),
            ("policy bad: Params.depth needs a default", "bad.py, line"),
            id="no default",
        ),
    ],
)
def test_a_file_that_is_not_a_policy_is_rejected(source: str, says: tuple[str, ...], tmp_path: Path) -> None:
    (tmp_path / "bad.py").write_text(source)
    message = refusal(lambda: simulate(str(tmp_path / "bad.py")))
    for fragment in says:
        assert fragment in message


def test_a_policy_file_can_be_corrected_after_it_failed(tmp_path: Path) -> None:
    (tmp_path / "mended.py").write_text("1 / 0")
    refusal(lambda: simulate(str(tmp_path / "mended.py")))
    (tmp_path / "mended.py").write_text("raise KeyError('now')")
    assert "KeyError" in refusal(lambda: simulate(str(tmp_path / "mended.py")))


def test_a_policy_that_keeps_no_counts_cannot_learn_late(tmp_path: Path) -> None:
    (tmp_path / "forgetful.py").write_text(POLICY.replace("counts: CountArrays", "totals: CountArrays"))
    message = refusal(lambda: simulate(str(tmp_path / "forgetful.py"), delay=2))
    assert "forgetful keeps no counts, so it cannot learn with a delay of 2 rounds" in message


# unusual input: wrong types, and numbers that are too large


def without_file() -> ModuleType:
    module = ModuleType("typed_at_a_prompt")
    for name in ("Params", "State", "init", "choose", "update"):
        setattr(module, name, getattr(uniform, name))
    return module


def test_a_policy_without_a_file_runs_in_this_process() -> None:
    assert simulate(without_file()).policy == "typed_at_a_prompt"


ODD: dict[str, Row] = {
    "theta a number": (lambda: sw.PBM(0.5, [1]), ("theta", "a list of at least one number")),
    "params a list": (lambda: simulate(params=[1]), ("params = [1] is not a mapping",)),
    "params a text": (lambda: simulate(params="width"), ("params = 'width' is not a mapping",)),
    "params of a page a number": (lambda: recommender(params=5), ("params = 5 is not a mapping",)),
    "rounds too large for a float": (lambda: simulate(rounds=10**400), ("rounds = 1000",)),
    "seed too small for a float": (lambda: simulate(seed=-(10**400)), ("seed = -1000",)),
    "width too large": (lambda: with_params(width=10**400), ("width = 1000",)),
    "sweeps too large": (lambda: recommender(params={"sweeps": 2**70}), ("sweeps = 1180591620717411303424",)),
    "no threads": (lambda: simulate(threads=0), ("threads = 0", "whole number of at least 1")),
    "threads a boolean": (lambda: simulate(threads=False), ("threads = False", "whole number of at least 1")),
    "threads a text": (lambda: simulate(threads=""), ("threads = ''", "whole number of at least 1")),
    "executor a number": (lambda: simulate(executor=4), ("executor = 4",)),
    "progress a number": (lambda: simulate(progress=5), ("progress = 5",)),
    "a policy without a file in another process": (
        lambda: simulate(without_file(), executor=ThreadPoolExecutor(1)),
        ("typed_at_a_prompt", "no file"),
    ),
    "the truth a number": (lambda: simulate("oracle", params={"best": 5}), ("best = 5",)),
    "display out of range": (lambda: MODEL.expected_clicks(np.array([0, 3])), ("3",)),
    "display too long": (lambda: MODEL.expected_clicks(np.array([0, 1, 2])), ("3",)),
    "display of halves": (lambda: MODEL.expected_clicks(np.array([0.5, 1.0])), ("0.5",)),
    "display a text": (lambda: MODEL.expected_clicks("ab"), ("'ab'",)),  # type: ignore[arg-type]
    "displays a text": (lambda: sw.Counts([[1]], [[1]], "many"), ("displays = 'many'",)),  # type: ignore[arg-type]
    "displays a boolean": (lambda: sw.Counts([[1]], [[1]], True), ("displays = True",)),
    "displays a list": (lambda: sw.Counts([[1]], [[1]], [1, 2]), ("displays = [1, 2]",)),  # type: ignore[arg-type]
    "items nothing": (lambda: recommender(items=None), ("items = None", "a list of names")),
    "positions a number": (lambda: recommender(positions=3), ("positions = 3", "a list of names")),
    "eligible a number": (lambda: page().recommend(eligible=5), ("eligible = 5",)),
    "eligible one text": (lambda: recommender(["a", "b"], ["x"]).recommend(eligible="ab"), ("eligible = 'ab'",)),
    "excluded one text": (lambda: recommender(["a", "b"], ["x"]).recommend(excluded="a"), ("excluded = 'a'",)),
    "excluded a number": (lambda: page().recommend(excluded=5), ("excluded = 5",)),
    "eligible of lists": (lambda: page().recommend(eligible=[["hat"]]), ("['hat']",)),
    "pinned a list": (lambda: page().recommend(pinned=[("hero", "hat")]), ("pinned = [('hero', 'hat')]",)),
    "pinned a text": (lambda: page().recommend(pinned="hero"), ("pinned = 'hero'",)),
    "pinned a list of items": (lambda: page().recommend(pinned={"hero": ["hat"]}), ("['hat']",)),
    "display of lists": (lambda: page().learn({"hero": ["hat"]}), ("['hat']",)),
    "clicked nothing": (lambda: page().learn({"hero": "hat"}, None), ("clicked = None",)),
    "clicked a number": (lambda: page().learn({"hero": "hat"}, 1), ("clicked = 1",)),
    "clicked one text": (lambda: recommender(["a"], ["x"]).learn({"x": "a"}, "x"), ("clicked = 'x'",)),
    "late clicked nothing": (lambda: page().late_click({"side": "tie"}, None), ("clicked = None",)),
    "retired a list": (lambda: page().retire(["hat"]), ("['hat']",)),
    "saved nowhere": (lambda: page().save(None), ("None",)),
    "loaded from a number": (lambda: sw.Result.load(5.5), ("5.5",)),  # type: ignore[arg-type]
    "loaded from an odd path": (lambda: sw.Result.load("a\0b"), (r"a\x00b",)),
    "difference to nothing": (lambda: simulate().difference(None), ("None",)),  # type: ignore[arg-type]
}


@pytest.mark.parametrize(("call", "says"), [pytest.param(*row, id=name) for name, row in ODD.items()])
def test_odd_input_is_refused_in_one_line(call: Call, says: tuple[str, ...]) -> None:
    message = refusal(call)
    for fragment in says:
        assert fragment in message


def test_a_model_of_another_size_is_rejected_as_the_truth() -> None:
    assert "model" in refusal(lambda: simulate("pbm_ucb", params={"model": sw.PBM([0.5], [1])}))


REGRET = b'"regret":[[1.0,2.0],[3.0,4.0]]'
RESULT = (
    b'{"format":"slotwise-result","version":1,"body":{"policy":"p","params":{},"theta":[0.5],"kappa":[1.0],'
    b'"seed":0,"delay":0,"rounds":[1,2],' + REGRET + b',"seconds":1.0}}'
)


def test_the_result_that_the_next_test_damages_is_valid(tmp_path: Path) -> None:
    (tmp_path / "good.json").write_bytes(RESULT)
    assert sw.Result.load(tmp_path / "good.json").regret.tolist() == [[1.0, 2.0], [3.0, 4.0]]


@pytest.mark.parametrize(
    ("old", "new"),
    [
        pytest.param(REGRET, b'"regret":[[1.0,2.0],[3.0]]', id="ragged regret"),
        pytest.param(REGRET, b'"regret":[]', id="no runs"),
        pytest.param(b"[1,2]", b"[1," + b"9" * 40 + b"]", id="a checkpoint too large"),
        pytest.param(b"[1,2]", b"[2,1]", id="checkpoints in disorder"),
        pytest.param(b'"theta":[0.5]', b'"theta":[7.5]', id="theta above one"),
        pytest.param(b'"params":{}', b'"params":{"a":' + b"[" * 5000 + b"]" * 5000 + b"}", id="nested too deep"),
    ],
)
def test_a_damaged_result_is_refused(old: bytes, new: bytes, tmp_path: Path) -> None:
    assert old in RESULT
    (tmp_path / "bad.json").write_bytes(RESULT.replace(old, new))
    assert "bad.json" in refusal(lambda: sw.Result.load(tmp_path / "bad.json"))
