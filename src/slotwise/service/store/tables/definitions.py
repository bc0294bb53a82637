"""The definitions in a store: pages, their items, and the secrets that sign tokens."""

from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import lru_cache
from secrets import token_bytes

import msgspec

from slotwise.service.errors import StaleVersion
from slotwise.service.pages.limits import MOST_ITEMS
from slotwise.service.pages.page_definition import ItemSpec, PageBody
from slotwise.service.pages.units import SECRET_BYTES
from slotwise.service.store.records import StoredItem, StoredPage
from slotwise.service.store.tables.bulk_insert import insert
from slotwise.service.store.tables.change_history import ChangeHistory
from slotwise.service.store.tables.key_table import SAVE_META

_decode_body = msgspec.json.Decoder(PageBody).decode
_item = msgspec.json.Decoder(ItemSpec)
_encode = msgspec.json.Encoder().encode
TEMPLATE = "json_extract(body, '$.spec.template')"  # as in the index


@lru_cache(64)
def decode_body(text: str) -> PageBody:
    """The definition of a page. Nothing changes it, so pages with equal definitions share one object."""
    return _decode_body(text)


class Definitions(ChangeHistory):
    """The operations of a ledger that do not depend on traffic. `Ledger` describes them."""

    _TEMPLATE = TEMPLATE

    def page(self, name: str) -> StoredPage | None:
        return next(self._pages("WHERE name = ?", name), None)

    def template_page(self, template: str, other_than: str) -> StoredPage | None:
        return next(
            self._pages(f"WHERE {self._TEMPLATE} = ? AND archived = 0 AND name <> ?", template, other_than), None
        )

    def _pages(self, where: str, *values: str) -> Iterator[StoredPage]:
        columns = "page, name, version, archived, epoch, epoch_began, body, allocation, unit_secret"
        for number, name, version, archived, epoch, began, body, *units in self._run(
            f"SELECT {columns} FROM pages {where}", values
        ):
            yield StoredPage(number, name, version, bool(archived), epoch, began, decode_body(body), *units)

    def page_names(self) -> list[str]:
        return [name for (name,) in self._run("SELECT name FROM pages WHERE archived = 0 ORDER BY name")]

    def save_page(
        self, name: str, body: PageBody, expected: int | None, now: float, archived: bool = False
    ) -> StoredPage:
        before = self.page(name)
        if (before and before.version) != expected:
            raise StaleVersion
        text, began, allocation = _encode(body).decode(), now, 1
        if before is not None and before.body.spec.half_life == body.spec.half_life:
            began = before.epoch_began
        if before is not None:
            allocation = before.allocation + (before.body.spec.shares != body.spec.shares)
        with self._changing_page("name = ?", (name,)):
            self._run(
                "INSERT INTO pages (name, version, archived, body, epoch_began, allocation, unit_secret) "
                "VALUES (?, 1, ?, ?, ?, ?, ?) ON CONFLICT (name) DO UPDATE SET version = pages.version + 1, "
                "archived = excluded.archived, body = excluded.body, epoch_began = excluded.epoch_began, "
                "allocation = excluded.allocation",
                (name, int(archived), text, began, allocation, token_bytes(SECRET_BYTES)),
            )
        saved = self.page(name)
        assert saved is not None
        return saved

    def items(self, page: int) -> list[tuple[str, ItemSpec]]:
        rows = self._run("SELECT name, body FROM items WHERE page = ? ORDER BY number", (page,))
        return [(name, _item.decode(body)) for name, body in rows]

    def n_items(self, page: int) -> int:
        # numbers are consecutive, and looking up the last one is faster than counting
        (last,) = self._run("SELECT max(number) FROM items WHERE page = ?", (page,)).fetchone()
        return 0 if last is None else int(last) + 1

    def item(self, page: int, name: str) -> StoredItem | None:
        row = self._run("SELECT number, version, body FROM items WHERE page = ? AND name = ?", (page, name)).fetchone()
        return None if row is None else StoredItem(row[0], name, row[1], _item.decode(row[2]))

    def specs(self, page: int, names: Sequence[str]) -> dict[str, ItemSpec]:
        marks = ", ".join("?" * len(names))
        rows = self._run(f"SELECT name, body FROM items WHERE page = ? AND name IN ({marks})", (page, *names))
        return {name: _item.decode(body) for name, body in rows}

    def save_items(
        self, page: int, items: list[tuple[str, ItemSpec]], most: int = MOST_ITEMS
    ) -> list[tuple[int, bool] | None]:
        numbers = {name: number for number, name in self._run("SELECT number, name FROM items WHERE page = ?", (page,))}
        results: list[tuple[int, bool] | None] = []
        batches: list[list[tuple[object, ...]]] = [[]]  # an item is at most once in each, because a statement
        seen: Counter[str] = Counter()  # of PostgreSQL cannot change a row twice
        for name, spec in items:
            is_new = name not in numbers
            if is_new and len(numbers) >= most:
                results.append(None)
                continue
            number = numbers.setdefault(name, len(numbers))
            results.append((number, is_new))
            if seen[name] == len(batches):
                batches.append([])
            batches[seen[name]].append((page, number, name, _encode(spec).decode(), 1))
            seen[name] += 1
        update = (
            "ON CONFLICT (page, number) DO UPDATE SET body = excluded.body, "
            "version = items.version + CASE WHEN items.body <> excluded.body THEN 1 ELSE 0 END"
        )
        names = dict(items)  # without repetitions
        marks = ", ".join("?" * len(names))
        with self._checksums.changing("items", f"page = ? AND name IN ({marks})", (page, *names)):
            for rows in batches:
                insert(self._connection, "items", rows, update)
        return results

    def secrets(self) -> list[tuple[float, str]]:
        row = self._run("SELECT value FROM meta WHERE key = 'secrets'").fetchone()
        return msgspec.json.decode(row[0], type=list[tuple[float, str]]) if row else []

    def save_secrets(self, secrets: list[tuple[float, str]]) -> None:
        with self._checksums.changing("meta", "key = 'secrets'"):
            self._run(SAVE_META, ("secrets", _encode(secrets).decode()))

    @contextmanager
    def _changing_page(self, where: str, arguments: Sequence[object]) -> Iterator[None]:
        with (
            self._checksums.changing("pages", where, arguments),
            self._checksums.changing("revisions", where, arguments),
        ):
            yield
