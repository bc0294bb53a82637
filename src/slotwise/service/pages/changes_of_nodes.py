"""Apply to a page in memory what another node has committed."""

from collections import defaultdict
from collections.abc import Sequence

from slotwise.service.pages.page_model import PageModel
from slotwise.service.registers import Counting, EntryChange, Registers
from slotwise.service.store.changes_elsewhere import ChangedCounts, ChangedItems, ChangedPage
from slotwise.service.store.records import Display, DisplayChange, DisplayEntry


def added_up(changes: Sequence[ChangedCounts]) -> ChangedCounts:
    """The sum of changes of the same page."""
    cells: dict[tuple[int, int, int, int], list[int]] = {}
    displays: dict[int, int] = defaultdict(int)
    for changed in changes:
        for epoch, item, segment, column, clicks, skips in changed.cells:
            cell = cells.setdefault((epoch, item, segment, column), [0, 0])
            cell[0] += clicks
            cell[1] += skips
        for epoch, number in changed.displays:
            displays[epoch] += number
    rows = [(*key, clicks, skips) for key, (clicks, skips) in cells.items()]
    return ChangedCounts(changes[0].page, rows, list(displays.items()))


def add_counts(changed: ChangedCounts, model: PageModel) -> bool:
    """Add changes of counts. Returns False if the page must be loaded again."""
    last = max((item for _, item, *_ in changed.cells), default=-1)
    if last >= len(model.specs):
        return False
    return model.apply_changes(_as_changes(changed))


def _as_changes(changed: ChangedCounts) -> list[DisplayChange]:
    """The changes of each epoch and segment, in the form of the changes of one display."""
    displays = dict(changed.displays)
    entries: dict[tuple[int, int], list[DisplayEntry]] = {}
    changes: dict[tuple[int, int], list[EntryChange]] = {}
    for epoch, item, segment, column, clicks, skips in changed.cells:
        key = (epoch, segment)
        listed = entries.setdefault(key, [])
        changes.setdefault(key, []).append(EntryChange(len(listed), clicks, skips))
        listed.append(DisplayEntry("", column, item, ""))
    for epoch in displays:
        if not any(known == epoch for known, _ in entries):
            entries[epoch, 0], changes[epoch, 0] = [], []
    return [
        DisplayChange(
            _display(changed.page, epoch, segment, entries[epoch, segment]),
            changes[epoch, segment],
            displays.pop(epoch, 0),
        )
        for epoch, segment in entries
    ]


def _display(page: int, epoch: int, segment: int, entries: list[DisplayEntry]) -> Display:
    registers = Registers(len(entries), Counting.NEVER)
    return Display("", 0, page, "", segment, 0.0, 0.0, 0.0, "", epoch, registers, entries)


def set_items(changed: ChangedItems, model: PageModel) -> bool:
    """Add or change items. Returns False if the page must be loaded again."""
    size = len(model.specs)
    for number, _, _ in changed.items:
        if number > size:
            return False  # an item before it is not known
        size = max(size, number + 1)
    return model.set_items(changed.items)


def redefine(changed: ChangedPage, model: PageModel) -> bool:
    """Follow a new definition, unless a newer one is known. Returns False if the page must be loaded again."""
    page, before = changed.page, model.page
    if page.version <= before.version:
        return True
    if page.epoch > before.epoch:
        model.begin_epoch(page.epoch, page.epoch_began)
    elif page.epoch < before.epoch:
        page = page._replace(epoch=before.epoch, epoch_began=before.epoch_began)
    return model.redefine(page)
