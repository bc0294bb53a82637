"""Extras: what works without each of them, and the one line that says which extra is missing."""

import ast
import sys
from pathlib import Path

import pytest
from packaging.requirements import Requirement

import slotwise as sw
from slotwise.extras import EXTRAS
from tests import partial_installation
from tests.partial_installation import (
    PROJECT,
    distributions_of_packages,
    hidden_packages,
    normalized,
    run_commands_without,
    run_python_without,
)

ROOT = Path(__file__).parent.parent
NOBODY = "http://127.0.0.1:9"  # no service listens there
SIMULATE = ["simulate", "--policies", "uniform", "--rounds", "10", "--runs", "1"]
REPRODUCE = ["reproduce", "--quick", "--only", "tab-data", "--out", "{folder}/paper"]
# commands that need an extra, for each extra; none of them gets as far as compiling
AFFECTED = {
    "service": [["serve", "--dev", "--store", "sqlite:///{folder}/a.db"], ["demo", "--headless", "--rounds", "5"]],
    "otel": [["serve", "--dev", "--traces", "--port", "0", "--store", "sqlite:///{folder}/a.db"]],
    "logs": [
        ["fit", "{folder}/a.csv"],
        ["logs", "count", "{folder}/a.csv", "--output", "{folder}/cells.parquet"],
        ["logs", "synth", "{folder}/b.csv"],
    ],
    "charts": [
        [*SIMULATE, "--chart", "{folder}/regret.svg"],
        ["diagnose", "--setting", "standard", "--chart", "{folder}/ranks.svg"],
        ["load", "--url", NOBODY, "--chart", "{folder}/curve.svg"],
        ["fit", "{folder}/a.csv", "--chart", "{folder}/fits.svg"],
        REPRODUCE,
    ],
    "diagnostics": [["diagnose", "--setting", "standard"]],
    "cluster": [[*REPRODUCE, "--dask", "tcp://127.0.0.1:9"]],
    "postgres": [
        ["serve", "--dev", "--port", "0", "--store", "postgresql:///none"],
        ["verify", "--store", "postgresql:///none"],
        ["keys", "list", "--store", "postgresql:///none"],
    ],
    "spark": [["fit", "{folder}/a.csv", "--engine", "spark"]],
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "a.csv").write_text("query,item,position,clicked\nhats,felt,1,1\nhats,straw,2,0\n")
    return tmp_path


def test_every_extra_has_its_cases() -> None:
    assert sorted(AFFECTED) == sorted(partial_installation.EXTRAS)


@pytest.mark.parametrize("extra", AFFECTED)
def test_a_command_without_its_extra_names_the_pip_install_in_one_line(extra: str, folder: Path) -> None:
    commands = [[word.format(folder=folder) for word in command] for command in AFFECTED[extra]]
    before = set(folder.iterdir())
    for result in run_commands_without([extra], commands):
        result.assert_refused(f"pip install 'slotwise[{extra}]'")
    assert {path.name for path in set(folder.iterdir()) - before} <= {"paper"}, "a refused command wrote a file"


def test_without_any_extra_every_other_command_works_and_imports_nothing_optional(folder: Path) -> None:
    policies, simulated, verified, listed, applied, loaded = run_commands_without(
        AFFECTED,
        [
            ["policies"],
            [*SIMULATE, "--json"],
            ["verify", "--store", f"sqlite:///{folder}/missing.db"],
            ["pages", "list", "--url", NOBODY],
            ["pages", "apply", str(ROOT / "examples" / "shop.toml"), "--url", NOBODY],
            ["load", "--url", NOBODY],
        ],
    )
    assert (policies.exit_code, "pb_mhb" in policies.stdout) == (0, True), policies
    assert simulated.json()[0]["regret"][-1] > 0
    verified.assert_refused("missing.db")
    for result in (listed, applied, loaded):
        result.assert_refused(NOBODY)


def test_without_any_extra_every_public_name_is_there_and_functions_raise_one_exception(folder: Path) -> None:
    program = """
import slotwise as sw
folder = sys.argv[1]
names = [getattr(sw, name) for name in sw.__all__]
counts = sw.Counts(clicks=[[4, 2], [2, 1]], skips=[[6, 8], [8, 9]])
result = sw.Result("uniform", {}, sw.PBM([0.5, 0.1], [1.0]), 0, 0, [1, 10], [[0.1, 0.4]], 0.1)
calls = {
    "logs": [lambda: sw.read_log(f"{folder}/a.csv"), lambda: sw.save_fits([], f"{folder}/fits.parquet")],
    "charts": [lambda: sw.regret_chart([result]), lambda: sw.fit_chart([]), lambda: sw.save_chart(None, "a.svg")],
}
for extra, functions in calls.items():
    for function in functions:
        try:
            function()
        except sw.MissingExtra as error:
            assert f"pip install 'slotwise[{extra}]'" in str(error), error
            assert isinstance(error, sw.BadInput)
        else:
            sys.exit(f"{extra}: no error")
print(len(names))
"""
    assert int(run_python_without(AFFECTED, program, str(folder))) == len(sw.__all__)


def test_the_packages_of_an_extra_are_those_of_pyproject() -> None:
    distribution_of = distributions_of_packages()
    for extra, packages in EXTRAS.items():
        named = {normalized(Requirement(text).name) for text in PROJECT["optional-dependencies"][extra]}
        provided = [set(map(normalized, distribution_of[package])) for package in packages]  # several share a namespace
        assert all(found & named for found in provided), extra
        assert named <= set().union(*provided), extra


def test_every_extra_is_in_the_table_of_the_readme() -> None:
    readme = (ROOT / "README.md").read_text()
    assert all(f"| `{extra}` |" in readme for extra in PROJECT["optional-dependencies"])


def test_every_imported_package_is_a_dependency_or_in_an_extra() -> None:
    core = {normalized(Requirement(text).name) for text in PROJECT["dependencies"]}
    optional = {package for packages in EXTRAS.values() for package in packages}
    for path in (ROOT / "src").rglob("*.py"):
        for package in imported_packages(path.read_text()) - sys.stdlib_module_names - {"slotwise"}:
            assert package in optional or normalized(package) in core, f"{path}: {package}"


def imported_packages(source: str) -> set[str]:
    nodes = list(ast.walk(ast.parse(source)))
    names = [alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names]
    names += [node.module for node in nodes if isinstance(node, ast.ImportFrom) and node.module and not node.level]
    return {name.partition(".")[0] for name in names}


def test_packages_are_hidden_unless_something_else_brings_them() -> None:
    assert {"altair", "vl_convert"} <= set(hidden_packages(["charts"]))
    assert "jinja2" not in hidden_packages(["charts"])  # the service needs it too
    assert {"jinja2", "pyarrow", "pandas", "starlette", "pyspark"} <= set(hidden_packages(AFFECTED))
    assert not {"numpy", "numba", "llvmlite", "scipy", "typer", "rich"} & set(hidden_packages(AFFECTED))
