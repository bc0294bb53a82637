"""What a page is built from, and how it is read from the store."""

from typing import NamedTuple

import numpy as np

from slotwise.service.pages.folded import NOTHING_FOLDED, Folded, find_unused
from slotwise.service.pages.page_definition import ItemSpec
from slotwise.service.store.ledger import Ledger
from slotwise.service.store.records import CountRows, StoredPage

BUILT_AT_ONCE = 2_000  # counts; a larger page is read and built on a background thread


class PageContent(NamedTuple):
    """The data that a page model is built from."""

    page: StoredPage
    items: list[tuple[str, ItemSpec]]
    counts: CountRows
    folded: Folded


def begin_load(ledger: Ledger, name: str, now: float) -> tuple[StoredPage, PageContent | None] | None:
    """Begin the epoch of a page that is due, and find the page. A small page is read at once.

    To read a large page takes long. On the thread that commits, everything else would have to wait.
    """
    page = ledger.page(name)
    if page is None or page.archived:
        return None
    passed, began = page.body.spec.epochs_since(page.epoch_began, now)
    if passed > 0:
        page = page._replace(epoch=page.epoch + passed, epoch_began=began)
        ledger.begin_epoch(page.number, page.epoch, began)
    size = ledger.n_items(page.number) * len(page.body.segments) * page.body.n_columns
    return page, read_content(ledger, name) if size <= BUILT_AT_ONCE else None


def read_content(ledger: Ledger, name: str) -> PageContent | None:
    """Everything that a page model is built from. None if the page does not exist or is archived."""
    page = ledger.page(name)
    if page is None or page.archived:
        return None
    items, counts = ledger.items(page.number), ledger.count_rows(page.number)
    counted = np.unique(counts.cells[:, 0].astype(np.int64)).tolist()
    unused = find_unused(page.body, [spec for _, spec in items], counted)
    folded = NOTHING_FOLDED if unused == NOTHING_FOLDED else unused - ledger.logged(page.number)
    return PageContent(page, items, counts, folded)
