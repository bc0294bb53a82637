"""The report: one HTML file that needs nothing else, with live charts on a screen and still ones on paper."""

import base64
import json
import re
from importlib import resources
from typing import Any

import jinja2

from slotwise.paper.output.figures import QUICK, Figure
from slotwise.paper.output.sections import SIGNS, Facts, Section, spent_table, tally
from slotwise.paper.reproduce import Reproduction


def render(found: Reproduction, parts: list[Section], told: Facts, pictures: dict[str, str]) -> str:
    """The report as HTML; `pictures` has each figure as SVG, by name."""
    import vl_convert

    bundle: Any = vl_convert.javascript_bundle  # its stub asks for an argument that it does not need
    drawn = [figure for part in parts for figure in part.figures]
    loader = jinja2.FileSystemLoader(str(resources.files("slotwise.paper.output")))
    environment = jinja2.Environment(loader=loader, autoescape=True, trim_blocks=True, lstrip_blocks=True)
    environment.undefined = jinja2.StrictUndefined
    return environment.get_template("report.html").render(
        found=found,
        sections=parts,
        facts=told,
        quick=QUICK if found.quick else "",
        tally=tally(found.judgements),
        signs=SIGNS,
        spent=spent_table(found),
        notes=_notes,
        variants={figure.title: figure for figure in drawn if figure.variant},
        picture={name: _data_address(svg) for name, svg in pictures.items()},
        style=_inside("report.css"),
        script=_inside("report.js"),
        library=_closed(bundle()),
        specifications=_closed(json.dumps({figure.name: figure.chart.to_dict() for figure in drawn})),
    )


def _inside(name: str) -> str:
    return resources.files("slotwise.paper.output").joinpath(name).read_text(encoding="utf-8")


def _closed(text: str) -> str:
    """Text that cannot end the script element it stands in."""
    return re.sub("</(script)", r"<\\/\1", text, flags=re.IGNORECASE)


def _data_address(svg: str) -> str:
    return "data:image/svg+xml;base64," + base64.b64encode(svg.encode()).decode()


def _notes(figure: Figure) -> list[str]:
    """The lines below a chart's title, which on a page stand in its caption."""
    title: Any = figure.chart.to_dict()["title"]
    return list(title["subtitle"])
