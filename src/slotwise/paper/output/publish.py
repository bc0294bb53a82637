"""Write all output of a reproduction: figures, data, the report and the Markdown page."""

from pathlib import Path

from slotwise.charts import save_chart
from slotwise.files import write_whole
from slotwise.paper.output.export import write_data
from slotwise.paper.output.html import render
from slotwise.paper.output.markdown import FIGURES, render_markdown
from slotwise.paper.output.sections import make_provenance, make_sections
from slotwise.paper.reproduce import Reproduction

REPORT, PAGE, DATA = "report.html", "paper.md", "data"
DRAFT_SCALE, FULL_SCALE = 1.0, 2.0


def publish(reproduction: Reproduction, out: Path, command: str) -> None:
    """Write all files. The report is written last, so if it exists, everything that it refers to exists too."""
    sections = make_sections(reproduction)
    provenance = make_provenance(command)
    folder = out / FIGURES
    folder.mkdir(exist_ok=True)
    figures = [figure for section in sections for figure in section.figures]
    for figure in figures:
        save_chart(figure.chart, folder / f"{figure.name}.svg")
        if not (reproduction.scope.quick and figure.view):  # half a second each, too long for a quick trial
            save_chart(
                figure.chart, folder / f"{figure.name}.png", DRAFT_SCALE if reproduction.scope.quick else FULL_SCALE
            )
    write_data(reproduction, out / DATA)
    write_whole(out / PAGE, render_markdown(reproduction, sections, provenance).encode())
    images = {figure.name: (folder / f"{figure.name}.svg").read_text(encoding="utf-8") for figure in figures}
    write_whole(out / REPORT, render(reproduction, sections, provenance, images).encode())
