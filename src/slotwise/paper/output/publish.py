"""Writing everything that a reproduction gives to a reader: figures, numbers, the report and the page."""

from pathlib import Path

from slotwise.charts import save_chart
from slotwise.files import write_whole
from slotwise.paper.output.export import write_data
from slotwise.paper.output.html import render
from slotwise.paper.output.markdown import FIGURES, write_page
from slotwise.paper.output.sections import facts, sections
from slotwise.paper.reproduce import Reproduction

REPORT, PAGE, DATA = "report.html", "paper.md", "data"
DRAFT_SCALE, FULL_SCALE = 1.0, 2.0


def publish(found: Reproduction, out: Path, command: str) -> None:
    """Write the report last: when it is there, so is all that it speaks of."""
    parts = sections(found)
    told = facts(found, command)
    folder = out / FIGURES
    folder.mkdir(exist_ok=True)
    for figure in (figure for part in parts for figure in part.figures):
        save_chart(figure.chart, folder / f"{figure.name}.svg")
        if not (found.quick and figure.variant):  # half a second each: too long for a quick look
            save_chart(figure.chart, folder / f"{figure.name}.png", DRAFT_SCALE if found.quick else FULL_SCALE)
    write_data(found, out / DATA)
    write_whole(out / PAGE, write_page(found, parts, told).encode())
    pictures = {
        figure.name: (folder / f"{figure.name}.svg").read_text(encoding="utf-8")
        for part in parts
        for figure in part.figures
    }
    write_whole(out / REPORT, render(found, parts, told, pictures).encode())
