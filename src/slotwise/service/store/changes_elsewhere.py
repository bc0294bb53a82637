"""What other nodes have committed to a store that several nodes share."""

from collections.abc import Sequence
from typing import Literal

from msgspec import Struct

from slotwise.service.pages.page_definition import ItemSpec
from slotwise.service.store.records import StoredPage

ChangedCell = tuple[int, int, int, int, int, int]  # epoch, item, segment, column, change of clicks, change of skips


class ChangedCounts(Struct, frozen=True, array_like=True):
    """How a group has changed the counts of a page, and the displays of each epoch."""

    page: int
    cells: Sequence[ChangedCell]
    displays: Sequence[tuple[int, int]]  # epoch, change


class ChangedItems(Struct, frozen=True, array_like=True, tag="items"):
    """Items of a page that were added or changed."""

    page: int
    items: Sequence[tuple[int, str, ItemSpec]]


class ChangedPage(Struct, frozen=True, array_like=True, tag="page"):
    """A page that was created, changed or archived. `left` is the template that it belonged to before."""

    page: StoredPage
    left: str | None


class BegunEpoch(Struct, frozen=True, array_like=True, tag="epoch"):
    """A page whose earlier counts weigh less now."""

    page: int
    epoch: int
    began: float


class ReplacedCounts(Struct, frozen=True, array_like=True, tag="counts"):
    """A page whose counts were replaced by an import."""

    page: int


class PurgedPage(Struct, frozen=True, array_like=True, tag="purge"):
    """A page that was deleted for good. `name` is the one that it had."""

    page: int
    name: str
    template: str | None


class ChangedSecrets(Struct, frozen=True, array_like=True, tag="secrets"):
    """The secrets that sign tokens were rotated."""


ChangedDefinition = ChangedItems | ChangedPage | BegunEpoch | ReplacedCounts | PurgedPage | ChangedSecrets
Kind = Literal["counts", "definitions"]


class GroupElsewhere(Struct, frozen=True):
    """What one group of another node has changed."""

    node: int
    number: int  # of the group; the groups of a node are numbered in the order of their commits
    counts: Sequence[ChangedCounts]
    definitions: Sequence[ChangedDefinition]


class ChangesElsewhere(Struct, frozen=True):
    """The groups of other nodes, those that change definitions in the order of their commits.

    If `is_complete` is false, earlier groups were missed, so that everything in memory is out of date.
    """

    groups: Sequence[GroupElsewhere]
    is_complete: bool = True
