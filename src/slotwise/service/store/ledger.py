"""The operations that make up a transaction of a store.

An operation is a function of a `Ledger`. It runs inside the transaction of a group, after every display that was added
before it.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Protocol, TypeVar

from slotwise.checks import Floats
from slotwise.service.history import Action, Author, Change
from slotwise.service.keys.api_keys import ApiKey
from slotwise.service.keys.ended_sessions import EndedSession
from slotwise.service.pages.folded import Folded
from slotwise.service.pages.limits import MOST_ITEMS
from slotwise.service.pages.page_definition import ItemSpec, PageBody
from slotwise.service.preconditions import Precondition
from slotwise.service.store.records import (
    CountRows,
    DailyRate,
    Display,
    Event,
    HourlyRate,
    LogRow,
    NodeState,
    PageCounts,
    Purge,
    RecordedEvents,
    StoredItem,
    StoredPage,
)

ResultT = TypeVar("ResultT")


class KeyLedger(Protocol):
    """The operations of one transaction on API keys, and on the history."""

    def keys_version(self) -> int:
        """A number that grows with every `save_key` and `save_ended_sessions`."""

    def keys(self) -> list[ApiKey]:
        """All API keys, also expired and revoked ones, oldest first."""

    def key(self, id: str) -> ApiKey | None:
        """The API key with this id, or None."""

    def save_key(self, key: ApiKey) -> None:
        """Add or replace an API key."""

    def mark_keys_used(self, used: Iterable[tuple[str, float]]) -> None:
        """Save when keys were last used, as (id, time). An earlier time than the saved one changes nothing."""

    def ended_sessions(self) -> list[EndedSession]:
        """The sessions that people have ended."""

    def save_ended_sessions(self, sessions: list[EndedSession]) -> None:
        """Replace the sessions that people have ended by these."""

    def record_change(
        self, page: int, author: Author, now: float, action: Action, subject: str, sides: tuple[Any, Any]
    ) -> None:
        """Add a change to the history of a page: what differs, before and after. The oldest changes are deleted.

        Changes that belong to no page have `STORE` instead of its number.
        """

    def history(self, page: int, before: int, most: int) -> list[Change]:
        """The newest changes of a page whose numbers are below `before`, newest first."""


class Ledger(KeyLedger, Protocol):
    """The operations of one transaction."""

    def page(self, name: str) -> StoredPage | None:
        """The page with this name, even if it is archived, or None."""

    def page_names(self) -> list[str]:
        """The names of all pages that are not archived, sorted."""

    def template_page(self, template: str, other_than: str) -> StoredPage | None:
        """A page of a template that is not archived and has another name, or None."""

    def template_pages(self, template: str) -> list[tuple[StoredPage, float]]:
        """The pages of a template that are not archived, and the displays of each, as weighted in its current epoch.

        Pages with more displays come first.
        """

    def save_page(
        self, name: str, body: PageBody, expected: int | None, now: float, archived: bool = False
    ) -> StoredPage:
        """Create or replace a page. Raises StaleVersion unless `expected` is its version (None for a new page)."""

    def items(self, page: int) -> list[tuple[str, ItemSpec]]:
        """Every item of a page, in the order of their numbers."""

    def n_items(self, page: int) -> int:
        """The number of items of a page."""

    def item(self, page: int, name: str) -> StoredItem | None:
        """The item of a page with this name, or None."""

    def specs(self, page: int, names: Sequence[str]) -> dict[str, ItemSpec]:
        """The definitions of those items of a page that exist."""

    def save_items(
        self, page: int, items: list[tuple[str, ItemSpec]], most: int = MOST_ITEMS
    ) -> list[tuple[int, bool] | None]:
        """Add or change items. For each item, returns its number and whether it is new.

        An item whose definition stays the same keeps its version. Items are numbered in the order in which they are
        added, and a number never changes. A new item beyond `most` is not added. Its result is None.
        """

    def begin_purge(self, page: int, author: Author, now: float) -> None:
        """Delete a page for good. Its name can be used for a new page, and its number is never used again.

        Its data are removed by calls of `purge`. Add this to the history of the store.
        """

    def purges(self) -> list[Purge]:
        """The pages whose data are not all removed yet."""

    def purge(self, purge: Purge, after: int, now: float) -> int | None:
        """Remove a bounded part of the data of a page. Returns None if this was the last part.

        `after` is 0 in the first call, and then the result of the last call.
        """

    def issue(self, display: Display) -> Display:
        """Add a display whose id the caller chose. Returns the display with this id: this, or an earlier one."""

    def seen(self) -> dict[int, int]:
        """The number of the last group of each node that the ledger sees, if several nodes share the store."""

    def counts(self, page: int) -> PageCounts:
        """All counts of a page."""

    def count_rows(self, page: int) -> CountRows:
        """All counts of a page as an array. Other threads can run while it is filled."""

    def logged(self, page: int) -> Folded:
        """The items, columns and segments with counts from displays in the log. All others are folded."""

    def display(self, id: str) -> Display | None:
        """A display that is still in the log, with its registers."""

    def record_events(self, events: list[Event], now: float) -> RecordedEvents:
        """Apply events to the registers, log them and update the counts."""

    def begin_epoch(self, page: int, epoch: int, began: float) -> None:
        """Count new displays in this epoch. Earlier epochs lose weight."""

    def begin_import(self) -> int:
        """The number of a new snapshot, which belongs to no page yet."""

    def stage_counts(self, number: int, cells: Floats) -> None:
        """Add rows of (item, segment, column, clicks, skips) to a new snapshot."""

    def import_counts(self, page: int, snapshot: int, displays: float, expected: Precondition | None) -> int:
        """Replace all counts by a new snapshot, and return the new revision. Earlier displays only change the rates.

        `expected` applies to the revision before the import.
        """

    def abandon_imports(self) -> None:
        """Let every new snapshot that belongs to no page be deleted."""

    def unused_snapshots(self) -> list[int]:
        """The numbers of the snapshots that must be deleted."""

    def remove_snapshot(self, number: int) -> bool:
        """Delete a bounded number of rows of an unused snapshot. Returns whether there may be more."""

    def prune(self, now: float, most: int) -> int:
        """Add up to `most` expired displays to the snapshot and delete them. Returns their number."""

    def nodes(self) -> list[NodeState]:
        """The nodes that have used the store within an hour, if several nodes share it."""

    def fold_nodes(self, now: float, most: int) -> int:
        """Add up what nodes have written that have ended, for up to `most` pages. Returns their number."""

    def rates(self, page: int) -> list[HourlyRate]:
        """The click rates of each variant in each hour."""

    def daily_rates(self, page: int, allocation: int) -> list[DailyRate]:
        """What the displays of one allocation earned, by day, variant and bucket, where there are displays."""

    def log(self, page: int, after: int, most: int) -> list[LogRow]:
        """The registers of the next `most` displays with entries. Their numbers are above `after`, in order."""

    def check_writable(self) -> None:
        """Write to the store. Raises an exception if that fails."""

    def secrets(self) -> list[tuple[float, str]]:
        """The secrets that sign tokens, as (time of creation, secret). The oldest comes first."""

    def save_secrets(self, secrets: list[tuple[float, str]]) -> None:
        """Replace all secrets by these."""


Operation = Callable[[Ledger], ResultT]
