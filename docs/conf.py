"""The documentation site: Sphinx builds it from these pages and from the docstrings, with `make docs`.

The site works offline: the theme has no remote fonts or scripts, and the search runs from file:// too.
"""

import re
from typing import Any

import numpy.typing

from slotwise import checks
from slotwise.version import __version__

project = "slotwise"
copyright = "the slotwise contributors, MIT licence"
release = __version__
extensions = ["myst_parser", "sphinx.ext.autodoc"]

# GitHub shows the same pages, so headings have GitHub's anchors, and a block without a language is plain text
myst_heading_anchors = 4
highlight_language = "text"

# docstrings use single backticks for code
default_role = "code"
autodoc_member_order = "bysource"
autodoc_typehints = "signature"
add_module_names = False
toc_object_entries_show_parents = "hide"
python_use_unqualified_type_names = True
python_maximum_signature_line_length = 88

# signatures show these types by name, not what they stand for; this must happen before other modules are imported
for module, alias in ((numpy.typing, "ArrayLike"), (checks, "Floats"), (checks, "Ints")):
    setattr(module, alias, type(alias, (), {"__module__": "slotwise"}))

html_theme = "furo"
html_title = f"slotwise {release}"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_copy_source = False
html_show_sourcelink = False
html_show_search_summary = False  # the script would fetch each page that it found, which browsers refuse from file://

# files of the root, and the pages of the site that show them
ROOT_FILES = {"README.md": "index.md", "CONTRIBUTING.md": "contributing.md", "CHANGELOG.md": "changelog.md"}


def link_to_pages(*event: Any) -> None:
    """Make links to files in ROOT_FILES lead to their pages. The last argument is a list with the text."""
    text = event[-1]
    for name, page in ROOT_FILES.items():
        text[0] = re.sub(rf"\]\((?:\.\./)*{re.escape(name)}", f"](/{page}", text[0])


def link_from_root(*event: Any) -> None:
    """Change the links of a file in ROOT_FILES that a page includes. Its links to source files begin at the root."""
    link_to_pages(*event)
    text = event[-1]
    text[0] = re.sub(r"\]\((src|tests|examples)/", r"](../\1/", text[0])


def setup(app: Any) -> None:
    """Change links before the pages are parsed."""
    app.connect("source-read", link_to_pages)
    app.connect("include-read", link_from_root)
