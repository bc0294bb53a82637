"""The documentation site: it builds without a warning, its links resolve, and it loads nothing from other hosts."""

import re
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

import slotwise as sw

ROOT = Path(__file__).parent.parent.parent
USERS = ["engineer", "merchandiser", "operator", "analyst", "researcher"]


def build(source: Path, out: Path) -> subprocess.CompletedProcess[str]:
    """The command of `make docs`, for the pages of a folder."""
    command = [sys.executable, "-m", "sphinx", "-q", "-W", "--keep-going", "-d", str(out.with_suffix(".doctrees"))]
    return subprocess.run([*command, "-c", str(ROOT / "docs"), str(source), str(out)], capture_output=True, text=True)


class HtmlPage(HTMLParser):
    """What a page loads, what it links to, and the anchors that it has."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.loaded: list[str] = []
        self.links: list[str] = []
        self.anchors: set[str] = set()
        self.feed(path.read_text())

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        self.anchors.add(given.get("id", ""))
        if tag == "a":
            self.links.append(given.get("href", ""))
        elif tag != "form":
            self.loaded += [given[name] for name in ("src", "href", "data", "srcset", "poster") if given.get(name)]


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("docs") / "site"
    done = build(ROOT / "docs", out)
    assert (done.returncode, done.stderr) == (0, "")
    return out


@pytest.fixture(scope="module")
def pages(site: Path) -> dict[Path, HtmlPage]:
    return {path: HtmlPage(path) for path in sorted(site.rglob("*.html"))}


def test_every_page_of_the_documentation_is_in_the_site(pages: dict[Path, HtmlPage], site: Path) -> None:
    built = {str(path.relative_to(site).with_suffix(".md")) for path in pages}
    assert {str(path.relative_to(ROOT / "docs")) for path in (ROOT / "docs").rglob("*.md")} <= built


def test_links_and_anchors_resolve(pages: dict[Path, HtmlPage], site: Path) -> None:
    """Also those of the navigation and of the reference, which Sphinx makes."""
    for path, page in pages.items():
        for link in [*page.links, *page.loaded]:
            address = urlsplit(link)
            if not address.scheme:
                target = (path.parent / unquote(address.path)).resolve() if address.path else path
                assert target.is_file(), f"{path.relative_to(site)}: {link}"
                if address.fragment and target.suffix == ".html":
                    assert unquote(address.fragment) in pages[target].anchors | {"top"}, f"{path.name}: {link}"


def test_nothing_is_loaded_from_other_hosts(pages: dict[Path, HtmlPage], site: Path) -> None:
    for path, page in pages.items():
        assert [source for source in page.loaded if urlsplit(source).netloc] == [], path.name
    for path in site.rglob("*.css"):
        assert not re.search(r"@import|url\(\s*['\"]?(https?:)?//", path.read_text()), path.name


def test_the_reference_has_every_public_name(pages: dict[Path, HtmlPage], site: Path) -> None:
    names = {f"slotwise.{name}" for name in sw.__all__ if not name.startswith("__")}
    assert names - pages[site / "reference.html"].anchors == set()


def test_the_home_page_is_the_readme_and_leads_every_user_on(pages: dict[Path, HtmlPage], site: Path) -> None:
    home = pages[site / "index.html"]
    assert {"why", "where-to-start", "comparison-with-other-tools"} <= home.anchors
    assert {f"start/{user}.html" for user in USERS} <= set(home.links)


def test_the_search_index_has_the_pages(site: Path) -> None:
    index = (site / "searchindex.js").read_text()
    assert index.startswith("Search.setIndex(")  # a script, so that it loads from file:// too
    assert all(f'"{name}"' in index for name in ("service", "reference", "policies/slot_ts"))


def test_the_build_is_strict(tmp_path: Path) -> None:
    wrong = "[no page](page.md)\n\n[no heading](index.md#heading)\n\n![no picture](picture.svg)\n"
    (tmp_path / "index.md").write_text(f"# Title\n\n{wrong}")
    done = build(tmp_path, tmp_path / "out")
    assert done.returncode == 1
    for problem in ("not found: 'page.md'", "not found in doc 'index': 'heading'", "not readable: picture.svg"):
        assert problem in done.stderr
