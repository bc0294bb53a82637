"""The operations of the PostgreSQL store, in one transaction."""

from collections import defaultdict
from collections.abc import Callable, Sequence
from typing import Any

from slotwise.service.history import Author
from slotwise.service.pages.limits import MOST_ITEMS
from slotwise.service.pages.page_definition import ItemSpec, PageBody
from slotwise.service.preconditions import Precondition
from slotwise.service.store.changes_elsewhere import (
    BegunEpoch,
    ChangedDefinition,
    ChangedItems,
    ChangedPage,
    ChangedSecrets,
    PurgedPage,
    ReplacedCounts,
)
from slotwise.service.store.interface import TrafficRows
from slotwise.service.store.postgres.no_checksums import NoChecksums
from slotwise.service.store.postgres.postgres_connection import PostgresConnection, array_literal
from slotwise.service.store.postgres.postgres_schema import JANITOR_LOCK
from slotwise.service.store.records import Display, NodeState, StoredPage
from slotwise.service.store.tables.bulk_insert import add_on_conflict
from slotwise.service.store.tables.checksums import DISPLAY
from slotwise.service.store.tables.count_deltas import Deltas
from slotwise.service.store.tables.display_log import EventRow, display_row, displays_of
from slotwise.service.store.tables.rate_deltas import KEYS, SUMS
from slotwise.service.store.tables.sql_connection import SqlConnection
from slotwise.service.store.tables.sql_ledger import SqlLedger

NO_NODE = 0  # the node of rows that belong to none
JOURNAL_SECONDS = 600.0  # a node that was away for longer loads its pages again
ENDED_SECONDS = 3600.0  # a node that has not written for as long has ended; if it returns, it writes new rows
NODE_SECONDS = 30 * 86400.0
_TABLES = {name: f"node_{name}" for name in ("counts", "epochs", "rates", "daily_rates")}
_COLUMNS = DISPLAY.split(", ")[1:]  # without the number
_TYPES = {"id": "text", "layout": "text", "variant": "text", "entries": "text"} | dict.fromkeys(
    ("issued", "until", "drop_after"), "float8"
)
_ARRAYS = ", ".join(f"?::{_TYPES.get(name, 'bigint')}[]" for name in _COLUMNS)
_INSERT_DISPLAYS = (
    f"INSERT INTO displays ({', '.join(_COLUMNS)}, generation) SELECT d.*, p.counted_from FROM "
    f"unnest({_ARRAYS}) AS d ({', '.join(_COLUMNS)}) "
    "JOIN pages p ON p.page = d.page ORDER BY d.id ON CONFLICT (id) DO NOTHING RETURNING id, number"
)
_EVENTS_OF = (
    "SELECT display, kind, entry FROM events WHERE accepted = 1 "
    "AND display IN (SELECT number FROM displays WHERE id = ANY(?::text[]))"
)
_EVENT_TYPES = ["bigint", "bigint", "bigint", "bigint", "float8"]
_ADD_EVENTS = (
    "ON CONFLICT (display, kind, entry) DO UPDATE SET received = excluded.received, "
    "accepted = greatest(events.accepted, excluded.accepted)"
)
_RATE_TYPES = ["bigint", "bigint", "text", *["bigint"] * 4]
_DAILY_TYPES = ["bigint", "bigint", "bigint", "text", *["bigint"] * 5]
_NAMES = [f"c{k}" for k in range(9)]
_OF_SNAPSHOT = (  # the counts have the number of the page's snapshot
    "coalesce((SELECT value::integer FROM meta WHERE key = 'snapshot:' || c0), c0), " + ", ".join(_NAMES[1:8])
)
_COUNT_KEYS = ("page", "epoch", "node", "item", "segment", '"column"')
_RATE_KEYS, _DAILY_KEYS = KEYS["rates"], KEYS["daily_rates"]
_ADD_COUNTS = add_on_conflict("node_counts", _COUNT_KEYS, ("clicks", "skips"))
_ADD_EPOCHS = add_on_conflict("node_epochs", ("page", "epoch", "node"), ("displays", "revision"))
_ADD_RATES = add_on_conflict("node_rates", (*_RATE_KEYS, "node"), SUMS["rates"])
_ADD_DAILY_RATES = add_on_conflict("node_daily_rates", (*_DAILY_KEYS, "node"), SUMS["daily_rates"])
_FOLDED = [  # table, keys, sums, and the sums that a row needs to be kept
    ("node_counts", ("page", "epoch", "item", "segment", '"column"'), ("clicks", "skips"), ("clicks", "skips")),
    ("node_epochs", ("page", "epoch"), ("displays", "revision"), ("displays",)),
    ("node_rates", _RATE_KEYS, SUMS["rates"], SUMS["rates"]),
    ("node_daily_rates", _DAILY_KEYS, SUMS["daily_rates"], SUMS["daily_rates"]),
]


class PageJournal:
    """What a group has changed in the counts of a page."""

    def __init__(self) -> None:
        self.cells: dict[tuple[int, ...], list[int]] = {}  # epoch, item, segment, column -> clicks, skips
        self.displays: dict[int, int] = defaultdict(int)

    def add_cell(self, key: tuple[int, ...], change: Sequence[int]) -> None:
        """Add changes of clicks and skips."""
        cell = self.cells.setdefault(key, [0, 0])
        cell[0] += change[0]
        cell[1] += change[1]


class PostgresLedger(SqlLedger):
    """Reads and writes the tables. A ledger without a node can only read.

    `definitions` has the changes of definitions that other nodes must apply, and `journal` those of counts.
    """

    _TEMPLATE = "(body::jsonb #>> '{spec,template}')"
    _SINCE = "generation"
    _LOCK_EXPIRED = "FOR UPDATE SKIP LOCKED"

    def __init__(self, connection: PostgresConnection, node: int = NO_NODE) -> None:
        super().__init__(connection)
        self.node = node
        self._leaving = Deltas()

    def _make_checksums(self, connection: SqlConnection) -> NoChecksums:
        return NoChecksums(connection)

    def forget(self) -> None:
        super().forget()
        self._leaving.clear()
        self.definitions: list[ChangedDefinition] = []
        self.journal: dict[int, PageJournal] = {}
        self._absent: set[str] = set()  # ids of displays that do not exist
        self._new_events: dict[tuple[int, int, int], tuple[int, float]] = {}

    def _table(self, name: str) -> str:
        return _TABLES.get(name, name)

    def check_writable(self) -> None:
        """Nothing to do: every group writes its number."""

    def seen(self) -> dict[int, int]:
        return dict(self._run("SELECT node, number FROM nodes WHERE node <> ?", (self.node,)).fetchall())

    # displays and events

    def prepare(self, traffic: TrafficRows) -> Callable[[], None]:
        """Lock the displays that events are about, in the order of their ids, and load them with their registers.

        What other nodes have done with them is committed then. The statements run in the caller's pipeline. After it,
        the caller calls the result.
        """
        ids = sorted({event.display for event in traffic.events})
        if not ids:
            return lambda: None
        locked = self._run(
            self._select_displays("WHERE id = ANY(?::text[]) ORDER BY id FOR UPDATE"), (array_literal(ids),)
        )
        events = self._run(
            _EVENTS_OF, (array_literal(ids),)
        )  # a statement of its own: it sees what the lock has waited for

        def receive() -> None:
            for display in displays_of(locked.fetchall(), events.fetchall()):
                self._cache(display)
            self._absent.update(id for id in ids if id not in self._cached)

        return receive

    def display(self, id: str) -> Display | None:
        if id in self._absent:
            return None
        if id not in self._cached and self.node != NO_NODE:
            for display in self.load("WHERE id = ? FOR UPDATE", (id,)):
                self._cache(display)
        return super().display(id)

    def _cache(self, display: Display) -> None:
        self._cached[display.id] = display  # as long as the transaction lasts

    def _insert_displays(self, displays: list[Display]) -> list[Display]:
        first = {display.id: display for display in reversed(displays)}  # of each id
        rows = [display_row(display)[1:] for display in first.values()]
        numbers = dict(
            self._run(_INSERT_DISPLAYS, [array_literal(column) for column in zip(*rows, strict=True)]).fetchall()
        )
        for id, display in first.items():
            display.number = numbers.get(id, -1)
        self._absent.difference_update(first)
        return [display for display in displays if first[display.id] is display and display.id in numbers]

    def _add_events(self, rows: list[EventRow]) -> None:
        """Log events with the next flush. A late event may be in the log already."""
        for display, kind, entry, accepted, received in rows:
            key = (display, kind, entry)
            before = self._new_events.get(key, (0, 0.0))
            self._new_events[key] = (max(before[0], accepted), received)

    def _delete_displays(self, numbers: list[int]) -> None:
        for table, column in (("events", "display"), ("event_ids", "display"), ("displays", "number")):
            self._run(f"DELETE FROM {table} WHERE {column} = ANY(?)", (numbers,))

    # counts

    def flush(self) -> None:
        if self._new_events:
            rows = [(*key, *event) for key, event in self._new_events.items()]
            self._upsert("events", _EVENT_TYPES, sorted(rows), _ADD_EVENTS)
            self._new_events = {}
        if self._deltas.epochs or self._deltas.rates.hours or self._deltas.rates.days:
            for (page, epoch, *key), change in self._deltas.cells.items():
                self._journal_of(page).add_cell((epoch, *key), change)
            for (page, epoch), number in self._deltas.epochs.items():
                self._journal_of(page).displays[epoch] += number
            self._write_counts(self._deltas, self.node, 1)
        if self._leaving.epochs:
            self._write_counts(self._leaving, NO_NODE, 0)

    def _journal_of(self, page: int) -> PageJournal:
        return self.journal.setdefault(page, PageJournal())

    def _write_counts(self, deltas: Deltas, node: int, revision: int) -> None:
        cells = [
            (page, epoch, node, *key, *change)
            for (page, epoch, *key), change in sorted(deltas.cells.items())
            if change != [0, 0]
        ]
        epochs = [(*key, node, number, revision) for key, number in sorted(deltas.epochs.items())]
        hours = [(*key, node, *sums) for key, sums in sorted(deltas.rates.hours.items()) if any(sums)]
        days = [(*key, node, *sums) for key, sums in sorted(deltas.rates.days.items()) if any(sums)]
        self._upsert("node_counts", ["bigint"] * 8, cells, _ADD_COUNTS, _OF_SNAPSHOT)
        self._upsert("node_epochs", ["bigint"] * 5, epochs, _ADD_EPOCHS)
        self._upsert("node_rates", _RATE_TYPES, hours, _ADD_RATES)
        self._upsert("node_daily_rates", _DAILY_TYPES, days, _ADD_DAILY_RATES)
        deltas.clear()

    def _upsert(
        self, table: str, types: Sequence[str], rows: list[tuple[Any, ...]], on_conflict: str, select: str = "*"
    ) -> None:
        """Add rows with one statement, whatever their number is. The server prepares it once."""
        if rows:
            arrays = ", ".join(f"?::{kind}[]" for kind in types)
            columns = [array_literal(column) for column in zip(*rows, strict=True)]
            rows_as = f"unnest({arrays}) AS r ({', '.join(_NAMES[: len(columns)])})"
            self._run(f"INSERT INTO {table} SELECT {select} FROM {rows_as} {on_conflict}", columns)

    def _revision(self, page: int) -> int:
        of_groups = "SELECT coalesce(sum(revision), 0)::bigint FROM node_epochs WHERE page = ?"
        (groups,) = self._run(of_groups, (page,)).fetchone()
        return super()._revision(page) + int(groups)

    def _next_counted(self, page: int) -> int:
        return int(self._run("SELECT counted_from + 1 FROM pages WHERE page = ?", (page,)).fetchone()[0])

    def _drop_zeros(self, page: int, displays: list[Display]) -> None:
        """Nothing: rows of different nodes are zero together only. `fold_nodes` removes them."""

    def prune(self, now: float, most: int) -> int:
        (is_janitor,) = self._run("SELECT pg_try_advisory_xact_lock(?)", (JANITOR_LOCK,)).fetchone()
        if not is_janitor:
            return 0
        self._run("DELETE FROM journal WHERE at < ?", (now - JOURNAL_SECONDS,))
        return super().prune(now, most)

    def nodes(self) -> list[NodeState]:
        now = "extract(epoch FROM clock_timestamp())"
        query = f"SELECT node, name, greatest({now} - seen, 0)::float8 FROM nodes WHERE seen > {now} - ? ORDER BY node"
        return [NodeState(*row) for row in self._run(query, (ENDED_SECONDS,))]

    def fold_nodes(self, now: float, most: int) -> int:
        """Add the rows of nodes that have ended to those of no node, for up to `most` pages. Returns their number.

        Rows that are zero are deleted. The counts of the pages stay the same.
        """
        self._run("DELETE FROM nodes WHERE seen < ?", (now - NODE_SECONDS,))
        ended = "SELECT n.node FROM nodes n WHERE n.seen >= ?"
        found = self._run(
            f"SELECT page FROM node_epochs WHERE node <> {NO_NODE} AND node NOT IN ({ended}) "
            "UNION SELECT page FROM epochs WHERE displays = 0 AND epoch < (SELECT max(e.epoch) FROM node_epochs e "
            "WHERE e.page = epochs.page) LIMIT ?",
            (now - ENDED_SECONDS, most),
        ).fetchall()
        for (page,) in found:
            self._fold_page(page)
        return len(found)

    def _fold_page(self, page: int) -> None:
        zeros = (
            "SELECT coalesce(sum(revision), 0)::bigint FROM (SELECT sum(revision) AS revision FROM node_epochs "
            "WHERE page = ? GROUP BY epoch HAVING sum(displays) = 0) AS ended"
        )
        self._run(f"UPDATE pages SET revision = revision + ({zeros}) WHERE page = ?", (page, page))
        for table, keys, sums, kept in _FOLDED:
            added = ", ".join(f"sum({column})::bigint" for column in sums)
            having = " OR ".join(f"sum({column}) <> 0" for column in kept)
            names = ", ".join((*keys, "node", *sums))
            self._run(
                f"WITH folded AS (DELETE FROM {table} WHERE page = ? RETURNING *) INSERT INTO {table} ({names}) "
                f"SELECT {', '.join(keys)}, {NO_NODE}, {added} FROM folded GROUP BY {', '.join(keys)} HAVING {having}",
                (self._snapshot_of(page) if table == "node_counts" else page,),
            )

    # definitions, which other nodes must apply, too

    def save_page(
        self, name: str, body: PageBody, expected: int | None, now: float, archived: bool = False
    ) -> StoredPage:
        before = self.page(name)
        saved = super().save_page(name, body, expected, now, archived)
        left = None if before is None or before.archived else before.body.spec.template
        self.definitions.append(ChangedPage(saved, left))
        return saved

    def save_items(
        self, page: int, items: list[tuple[str, ItemSpec]], most: int = MOST_ITEMS
    ) -> list[tuple[int, bool] | None]:
        results = super().save_items(page, items, most)
        saved = [(row[0], *item) for row, item in zip(results, items, strict=True) if row is not None]
        self.definitions.append(ChangedItems(page, saved))
        return results

    def begin_epoch(self, page: int, epoch: int, began: float) -> None:
        super().begin_epoch(page, epoch, began)
        self.definitions.append(BegunEpoch(page, epoch, began))

    def import_counts(self, page: int, snapshot: int, displays: float, expected: Precondition | None) -> int:
        revision = super().import_counts(page, snapshot, displays, expected)
        self.journal.pop(page, None)
        self.definitions.append(ReplacedCounts(page))
        return revision

    def begin_purge(self, page: int, author: Author, now: float) -> None:
        (name,) = self._run("SELECT name FROM pages WHERE page = ?", (page,)).fetchone()
        stored = self.page(name)
        assert stored is not None
        super().begin_purge(page, author, now)
        self.definitions.append(PurgedPage(page, name, stored.body.spec.template))

    def save_secrets(self, secrets: list[tuple[float, str]]) -> None:
        super().save_secrets(secrets)
        self.definitions.append(ChangedSecrets())
