"""The documentation is complete and correct: links resolve, every name has an entry, examples run."""

import re
import subprocess
from pathlib import Path

import pytest
import typer.main

import slotwise as sw
from slotwise.cli import app
from slotwise.counts import empty
from slotwise.paper.experiments import EXPERIMENTS
from slotwise.paper.named_click_models import SETTINGS
from slotwise.service.pages.page_definition import PageSpec

ROOT = Path(__file__).parent.parent.parent
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
COMMANDS = typer.main.get_command(app).commands  # type: ignore[attr-defined]


def blocks(page: Path, language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", page.read_text(), flags=re.DOTALL)


def test_the_code_of_the_readme_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys) -> None:
    monkeypatch.chdir(tmp_path)
    (code,) = blocks(ROOT / "README.md", "python")
    names: dict[str, object] = {}
    exec(compile(code, "README.md", "exec"), names)
    assert "clicks lost in 10,000 rounds" in capsys.readouterr().out
    assert names["display"]["right"] == "hat"
    assert sw.Recommender.load(tmp_path / "page.json").counts.displays == 1


def test_the_commands_of_the_readme_are_in_the_makefile() -> None:
    makefile = (ROOT / "Makefile").read_text()
    targets = re.findall(r"^make (\w+)", (ROOT / "README.md").read_text(), flags=re.MULTILINE)
    assert targets == ["run", "test"]
    assert all(re.search(rf"^{target}:", makefile, flags=re.MULTILINE) for target in targets)
    assert (ROOT / ".ci" / "run").read_text().strip().endswith("make test")


def test_the_example_policy_runs_as_documented(slotwise_process) -> None:
    page = ROOT / "docs" / "adding_a_policy.md"
    (shown,) = blocks(page, "python")
    assert shown == (ROOT / "examples" / "click_share.py").read_text()
    (command,) = [line for line in page.read_text().splitlines() if line.startswith("slotwise simulate")]
    arguments = command.replace("--rounds 10000", "--rounds 500 --runs 2").split()[1:]
    result = slotwise_process(*arguments, cwd=ROOT)
    assert result.exit_code == 0, result.stderr
    assert "click_share bonus=1" in result.stdout


def test_the_fields_of_the_counts_are_documented_with_their_shapes() -> None:
    text = (ROOT / "docs" / "adding_a_policy.md").read_text().partition("| field | shape |")[2].partition("\n\n")[0]
    sizes = {"items": 5, "positions": 3, "1": 1}
    rows = re.findall(r"^\| `(\w+)` \| ([\w ]+) \|", text, flags=re.MULTILINE)
    shapes = {name: tuple(sizes[size] for size in shape.split(" x ")) for name, shape in rows}
    assert shapes == {name: array.shape for name, array in empty(5, 3)._asdict().items()}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_and_pictures_exist(page: Path) -> None:
    for target in re.findall(r"\]\(([^)#]+?)(?:#[^)]*)?\)", page.read_text()):
        assert target.startswith("http") or (page.parent / target).exists(), target


def test_pictures_are_small() -> None:
    assert {path.name for path in (ROOT / "docs" / "figures").glob("*.png") if path.stat().st_size > 300_000} == set()


def slug(heading: str) -> str:
    """The anchor of a heading, as GitHub derives it."""
    return re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")


def anchors(page: Path) -> set[str]:
    text = re.sub(r"```.*?```", "", page.read_text(), flags=re.DOTALL)
    return {slug(heading.strip()) for heading in re.findall(r"^#+ (.*)$", text, flags=re.MULTILINE)}


def test_anchors_are_derived_as_github_does() -> None:
    assert slug("PBM: how visitors click") == "pbm-how-visitors-click"
    assert slug("slot_ts against `pb_mhb`") == "slot_ts-against-pb_mhb"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_to_headings_resolve(page: Path) -> None:
    for target, anchor in re.findall(r"\]\(([^)#\s]*)#([^)\s]+)\)", page.read_text()):
        if not target.startswith("http"):
            linked = page.parent / target if target else page
            assert anchor in anchors(linked), f"{target}#{anchor}"


def test_every_page_is_linked_from_the_table_of_the_readme() -> None:
    rows = [line for line in (ROOT / "README.md").read_text().splitlines() if line.startswith("|")]
    linked = {target for row in rows for target in re.findall(r"\]\(([^)#]+)\)", row)}
    included = "```{include} ../"  # such a page of the site shows a file of the root
    pages = {str(page.relative_to(ROOT)) for page in PAGES[1:] if not page.read_text().startswith(included)}
    assert pages - linked == set()


@pytest.mark.parametrize("name", sorted(COMMANDS))
def test_every_command_and_option_is_documented(name: str) -> None:
    page = (ROOT / "docs" / "command_line.md").read_text()
    section = page.partition(f"## slotwise {name}\n")[2].partition("\n## ")[0]
    assert section, f"slotwise {name} has no section"
    for parameter in COMMANDS[name].params:
        for option in parameter.opts:
            assert option == "--help" or f"`{option}`" in section, option


@pytest.mark.parametrize("page", ["python_api.md", "reference.md"])
def test_every_public_name_is_documented(page: str) -> None:
    text = (ROOT / "docs" / page).read_text()
    for name in sw.__all__:
        assert name.startswith("__") or re.search(rf"\b{name}\b", text), name


def test_every_policy_is_in_the_overview() -> None:
    page = (ROOT / "docs" / "policies.md").read_text()
    assert all(f"[{name}](policies/{name}.md)" in page for name in sw.policies())


def test_every_setting_is_documented() -> None:
    page = (ROOT / "docs" / "command_line.md").read_text()
    assert all(f"`{name}`" in page for name in SETTINGS)


def test_every_experiment_is_documented() -> None:
    for name in ("reproduce.md", "command_line.md"):
        page = (ROOT / "docs" / name).read_text()
        assert all(f"`{experiment}`" in page for experiment in EXPERIMENTS), name


def test_every_setting_of_a_page_is_documented() -> None:
    page = (ROOT / "docs" / "service.md").read_text()
    for name in PageSpec.__struct_fields__:
        assert f"`{name}`" in page, name


def test_the_project_stands_alone() -> None:
    """No committed file has a path of one machine or the address of a package index."""
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True)
    if listed.returncode:
        pytest.skip("not a git checkout")
    for name in listed.stdout.split():
        if Path(name).suffix in {".py", ".md", ".toml", ".txt", ""} and (ROOT / name).is_file():
            text = (ROOT / name).read_text()
            assert not re.search(r"(?<![\w.])/(home|root|work)/|files\.pythonhosted|pypi\.org", text), name
