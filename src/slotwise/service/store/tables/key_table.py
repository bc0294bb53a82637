"""API keys in a store."""

from collections.abc import Iterable
from typing import Any

import msgspec

from slotwise.service.keys.api_keys import ApiKey
from slotwise.service.keys.ended_sessions import EndedSession
from slotwise.service.store.tables.checksums import Checksums
from slotwise.service.store.tables.sql_connection import SqlConnection

COPYING = "copying"  # the key in `meta` of the progress of a copy of a store that is not complete
SAVE_META = "INSERT INTO meta VALUES (?, ?) ON CONFLICT (key) DO UPDATE SET value = excluded.value"
_COLUMNS = ("id", "digest", "name", "scopes", "pages", "origins", "rate", "created", "expires", "revoked", "last_used")
_LISTS = ("scopes", "pages", "origins")
_SAVE = f"INSERT INTO keys VALUES ({', '.join('?' * len(_COLUMNS))}) ON CONFLICT (id) DO UPDATE SET " + ", ".join(
    f"{name} = excluded.{name}" for name in _COLUMNS[1:]
)
_encode, _decode = msgspec.json.Encoder().encode, msgspec.json.Decoder(tuple[str, ...] | None).decode
_decode_sessions = msgspec.json.Decoder(list[EndedSession]).decode


class KeyTable:
    """The operations of a ledger on API keys. `Ledger` describes them."""

    def __init__(self, connection: SqlConnection) -> None:
        self._run, self._connection = connection.execute, connection
        self._checksums = self._make_checksums(connection)

    @property
    def connection(self) -> SqlConnection:
        """The connection of the transaction, for what no operation does."""
        return self._connection

    def _make_checksums(self, connection: SqlConnection) -> Checksums:
        return Checksums(connection)

    def keys_version(self) -> int:
        row = self._run("SELECT value FROM meta WHERE key = 'keys_version'").fetchone()
        return int(row[0])

    def keys(self) -> list[ApiKey]:
        return [_key(row) for row in self._run(f"SELECT {', '.join(_COLUMNS)} FROM keys ORDER BY created, id")]

    def key(self, id: str) -> ApiKey | None:
        row = self._run(f"SELECT {', '.join(_COLUMNS)} FROM keys WHERE id = ?", (id,)).fetchone()
        return None if row is None else _key(row)

    def save_key(self, key: ApiKey) -> None:
        with self._checksums.changing("keys", "id = ?", (key.id,)):
            self._run(_SAVE, [_stored(name, getattr(key, name)) for name in _COLUMNS])
        self._count_change()

    def _count_change(self) -> None:
        with self._checksums.changing("meta", "key = 'keys_version'"):
            self._run("UPDATE meta SET value = CAST(CAST(value AS INTEGER) + 1 AS TEXT) WHERE key = 'keys_version'")

    def mark_keys_used(self, used: Iterable[tuple[str, float]]) -> None:
        for id, when in used:
            with self._checksums.changing("keys", "id = ?", (id,)):
                update = "UPDATE keys SET last_used = ? WHERE id = ? AND coalesce(last_used, 0) < ?"
                self._run(update, (when, id, when))

    def ended_sessions(self) -> list[EndedSession]:
        row = self._run("SELECT value FROM meta WHERE key = 'ended_sessions'").fetchone()
        return _decode_sessions(row[0]) if row else []

    def save_ended_sessions(self, sessions: list[EndedSession]) -> None:
        with self._checksums.changing("meta", "key = 'ended_sessions'"):
            self._run(SAVE_META, ("ended_sessions", _encode(sessions).decode()))
        self._count_change()


def _stored(name: str, value: Any) -> Any:
    return _encode(value).decode() if name in _LISTS and value is not None else value


def _key(row: tuple[Any, ...]) -> ApiKey:
    fields = dict(zip(_COLUMNS, row, strict=True))
    for name in _LISTS:
        fields[name] = fields[name] and _decode(fields[name])
    return ApiKey(**fields)
