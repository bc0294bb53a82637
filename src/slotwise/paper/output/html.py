"""The report: one self-contained HTML file. Its charts are interactive on a screen, and images in print."""

import base64
from importlib import resources
from typing import Any

import jinja2

from slotwise.charts.chart_page import drawing_library, script_json
from slotwise.paper.output.figures import QUICK, Figure
from slotwise.paper.output.quick_warning import quick_warning
from slotwise.paper.output.sections import SIGNS, Provenance, Section, cost_table, left_out, summarize_verdicts
from slotwise.paper.reproduce import Reproduction


def render(reproduction: Reproduction, sections: list[Section], provenance: Provenance, images: dict[str, str]) -> str:
    """The report as HTML. `images` maps the name of each figure to its SVG."""
    figures = [figure for section in sections for figure in section.figures]
    loader = jinja2.FileSystemLoader(str(resources.files("slotwise.paper.output")))
    environment = jinja2.Environment(loader=loader, autoescape=True, trim_blocks=True, lstrip_blocks=True)
    environment.undefined = jinja2.StrictUndefined
    return environment.get_template("report.html").render(
        reproduction=reproduction,
        sections=sections,
        provenance=provenance,
        quick=QUICK if reproduction.scope.quick else "",
        quick_warning=quick_warning(reproduction),
        summary=summarize_verdicts(reproduction.judgements),
        left_out=left_out(reproduction),
        signs=SIGNS,
        costs=cost_table(reproduction),
        notes=_notes,
        other_views=lambda shown: [figure for figure in figures if figure.view and figure.title == shown.title],
        image={name: _data_url(svg) for name, svg in images.items()},
        style=_asset("report.css"),
        script=_asset("report.js"),
        library=drawing_library(),
        specifications=script_json({figure.name: figure.chart.to_dict() for figure in figures}),
    )


def _asset(name: str) -> str:
    return resources.files("slotwise.paper.output").joinpath(name).read_text(encoding="utf-8")


def _data_url(svg: str) -> str:
    return "data:image/svg+xml;base64," + base64.b64encode(svg.encode()).decode()


def _notes(figure: Figure) -> list[str]:
    """The subtitle lines of a chart, which the report shows in the caption."""
    title: Any = figure.chart.to_dict()["title"]
    return list(title["subtitle"])
