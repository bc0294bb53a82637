"""The data that insights are computed from."""

from collections.abc import Callable
from typing import NamedTuple

from slotwise.counts import Counts
from slotwise.service.pages.page_definition import ItemSpec, PageSpec
from slotwise.service.pages.page_model import PageModel
from slotwise.service.store.records import StoredPage
from slotwise.service.templates.template_counts import TemplateCounts
from slotwise.service.templates.template_insight import MOST_CELLS


class InsightInputs(NamedTuple):
    """A copy of a page, for use on a background thread."""

    page: StoredPage
    counts: Counts | None  # None if the page has no items yet
    rows: list[tuple[str, str, ItemSpec]]  # (segment, item, definition) of each row
    segments: list[str]
    pins: dict[str, dict[str, str]]  # the pins in effect: layout -> position -> item
    default_displays: dict[str, dict[str, str]]  # the default order, pins included: layout -> position -> item
    now: float
    uses_template: bool
    shared: TemplateCounts | None  # the counts of all pages of the template, if the page has one

    @property
    def spec(self) -> PageSpec:
        return self.page.body.spec

    @property
    def layouts(self) -> dict[str, list[str]]:
        return self.spec.all_layouts()

    @property
    def columns(self) -> list[tuple[str, str]]:
        return self.page.body.columns


def insight_inputs(model: PageModel, now: float) -> Callable[[], InsightInputs]:
    """Copy the data that the event loop may change. Returns a function that a background thread calls for the rest."""
    page, names, specs, segments = model.page, list(model.names), list(model.specs), list(model.segments)
    body, template, uses_template = page.body, model.template, model.uses_template
    layouts, folded = list(body.spec.all_layouts()), model.folded.items
    pins = {layout: model.effective_pins(layout, now) for layout in layouts}
    defaults = {layout: model.default_display(layout, now) for layout in layouts}

    def inputs() -> InsightInputs:
        items = [item for item in range(len(names)) if item not in folded]
        rows = [(segment, names[item], specs[item]) for item in items for segment in body.segments]
        counts = model.counts(items) if items else None
        shared = None if template is None else template.read().limited(MOST_CELLS)
        return InsightInputs(page, counts, rows, segments, pins, defaults, now, uses_template, shared)

    return inputs
