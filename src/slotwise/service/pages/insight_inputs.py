"""The data that insights are computed from."""

from typing import NamedTuple

from slotwise.counts import Counts
from slotwise.service.pages.page import ItemSpec, PageSpec
from slotwise.service.pages.page_model import PageModel
from slotwise.service.store.interface import StoredPage


class InsightInputs(NamedTuple):
    """A copy of a page. It is made on the thread of the event loop. The thread that uses it adds the counts."""

    page: StoredPage
    counts: Counts | None  # None if the page has no items yet, or before they are copied
    rows: list[tuple[str, str, ItemSpec]]  # (segment, item, definition) of each row
    segments: list[str]
    pins: dict[str, dict[str, str]]  # the pins in effect: layout -> position -> item
    default_displays: dict[str, dict[str, str]]  # layout -> position -> item; empty in the mode `learn`
    now: float

    @property
    def spec(self) -> PageSpec:
        return self.page.body.spec

    @property
    def layouts(self) -> dict[str, list[str]]:
        return self.spec.all_layouts()

    @property
    def columns(self) -> list[tuple[str, str]]:
        return self.page.body.columns


def insight_inputs(model: PageModel, now: float) -> InsightInputs:
    """Copy everything that insights need from a page, except the counts."""
    body, names = model.page.body, model.names
    layouts = list(body.spec.all_layouts())
    rows = [(segment, name, spec) for name, spec in zip(names, model.specs, strict=True) for segment in body.segments]
    return InsightInputs(
        page=model.page,
        counts=None,
        rows=rows,
        segments=list(model.segments),
        pins={layout: model.effective_pins(layout, now) for layout in layouts},
        default_displays={
            layout: model.default_display(layout, now) for layout in layouts if body.spec.mode != "learn"
        },
        now=now,
    )
