"""The tables of the SQLite store, as an ordered list of migrations.

A migration is never edited after a release, because stores in use have already run it. New migrations are appended.
"""

import sqlite3
from contextlib import closing

from slotwise.checks import BadInput
from slotwise.service.store.tables.checksums import rebuild_checksums

APPLICATION = 0x534C4F54  # "SLOT", the application id in the file header: `file` and SQLite tools show it
MIGRATIONS = [
    """
    CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
    CREATE TABLE pages (
        page INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, version INTEGER NOT NULL, archived INTEGER NOT NULL,
        body TEXT NOT NULL, revision INTEGER NOT NULL DEFAULT 0,
        epoch INTEGER NOT NULL DEFAULT 0, epoch_began REAL NOT NULL DEFAULT 0,
        counted_from INTEGER NOT NULL DEFAULT 0,  -- displays with a lower number were issued before an import
        base_epoch INTEGER NOT NULL DEFAULT 0,  -- whose weights the snapshot is in
        base_displays REAL NOT NULL DEFAULT 0 CHECK (base_displays >= 0)
    );
    CREATE TABLE items (
        page INTEGER NOT NULL, number INTEGER NOT NULL, name TEXT NOT NULL, body TEXT NOT NULL,
        PRIMARY KEY (page, number)
    ) WITHOUT ROWID;
    CREATE TABLE displays (  -- the log
        number INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT NOT NULL UNIQUE, nonce INTEGER NOT NULL,
        page INTEGER NOT NULL, layout TEXT NOT NULL, segment INTEGER NOT NULL, issued REAL NOT NULL,
        until REAL NOT NULL, drop_after REAL NOT NULL, arm TEXT NOT NULL, epoch INTEGER NOT NULL,
        counting INTEGER NOT NULL, places TEXT NOT NULL
    );
    CREATE INDEX displays_by_drop ON displays (drop_after);
    CREATE TABLE events (  -- the log, too: at most one row for every move that a register can make
        display INTEGER NOT NULL, kind INTEGER NOT NULL, place INTEGER NOT NULL, accepted INTEGER NOT NULL,
        received REAL NOT NULL, PRIMARY KEY (display, kind, place)
    ) WITHOUT ROWID;
    CREATE TABLE event_ids (
        id TEXT PRIMARY KEY, display INTEGER NOT NULL, kind INTEGER NOT NULL, place INTEGER NOT NULL
    ) WITHOUT ROWID;
    CREATE INDEX event_ids_by_display ON event_ids (display);
    CREATE TABLE base (  -- the snapshot
        page INTEGER NOT NULL, item INTEGER NOT NULL, segment INTEGER NOT NULL, "column" INTEGER NOT NULL,
        clicks REAL NOT NULL CHECK (clicks >= 0), skips REAL NOT NULL CHECK (skips >= 0),
        PRIMARY KEY (page, item, segment, "column")
    ) WITHOUT ROWID;
    CREATE TABLE counts (  -- the fold of the log, kept up to date by every group
        page INTEGER NOT NULL, epoch INTEGER NOT NULL, item INTEGER NOT NULL, segment INTEGER NOT NULL,
        "column" INTEGER NOT NULL, clicks INTEGER NOT NULL, skips INTEGER NOT NULL,
        PRIMARY KEY (page, epoch, item, segment, "column")
    ) WITHOUT ROWID;
    CREATE TRIGGER counts_below_zero AFTER UPDATE ON counts WHEN new.clicks < 0 OR new.skips < 0
        BEGIN SELECT RAISE (ABORT, 'a count fell below zero'); END;
    CREATE TABLE epochs (
        page INTEGER NOT NULL, epoch INTEGER NOT NULL, displays INTEGER NOT NULL, PRIMARY KEY (page, epoch)
    ) WITHOUT ROWID;
    CREATE TABLE rates (
        page INTEGER NOT NULL, hour INTEGER NOT NULL, arm TEXT NOT NULL, displays INTEGER NOT NULL,
        shown INTEGER NOT NULL, clicks INTEGER NOT NULL, PRIMARY KEY (page, hour, arm)
    ) WITHOUT ROWID;
    INSERT INTO meta VALUES ('heartbeat', '0');
    """,
    """
    ALTER TABLE displays RENAME COLUMN arm TO variant;
    ALTER TABLE rates RENAME COLUMN arm TO variant;
    ALTER TABLE displays RENAME COLUMN places TO entries;
    ALTER TABLE events RENAME COLUMN place TO entry;  -- an index into the entries of the display, or -1
    ALTER TABLE event_ids RENAME COLUMN place TO entry;
    """,
    """
    ALTER TABLE items ADD COLUMN version INTEGER NOT NULL DEFAULT 1;  -- of the definition
    """,
    """
    CREATE TABLE keys (  -- lists are JSON; times are seconds since 1970
        id TEXT PRIMARY KEY, digest BLOB NOT NULL UNIQUE, name TEXT NOT NULL, scopes TEXT NOT NULL,
        pages TEXT,  -- NULL allows all pages
        origins TEXT NOT NULL, rate REAL, created REAL NOT NULL, expires REAL, revoked REAL, last_used REAL
    ) WITHOUT ROWID;
    INSERT INTO meta VALUES ('keys_version', '0');  -- grows with every change of a key, except of last_used
    """,
    """
    CREATE INDEX pages_by_template ON pages (json_extract(body, '$.spec.template'));
    """,
    """
    CREATE TABLE checksums (name TEXT PRIMARY KEY, sum INTEGER NOT NULL) WITHOUT ROWID;
    ALTER TABLE pages ADD COLUMN rates_from INTEGER NOT NULL DEFAULT 0;  -- the rates of earlier hours are deleted
    CREATE TABLE base_rates (  -- the snapshot, too: the part of the rates that does not follow from the log
        page INTEGER NOT NULL, hour INTEGER NOT NULL, variant TEXT NOT NULL, displays INTEGER NOT NULL,
        shown INTEGER NOT NULL, clicks INTEGER NOT NULL, PRIMARY KEY (page, hour, variant)
    ) WITHOUT ROWID;
    INSERT INTO base_rates SELECT * FROM rates;
    INSERT INTO base_rates
        SELECT page, CAST(issued / 3600 AS INTEGER), variant, -count(*), -sum(json_array_length(entries)), -sum(
            (SELECT count(*) FROM events WHERE display = number AND kind = 1 AND accepted)
        )
        FROM displays JOIN pages USING (page)
        WHERE number >= counted_from AND entries <> '[]' AND (counting = 1 OR (counting = 2 AND EXISTS (
            SELECT 1 FROM events WHERE display = number AND kind IN (0, 1) AND accepted
        ))) AND NOT EXISTS (SELECT 1 FROM events WHERE display = number AND kind = 2 AND accepted)
        GROUP BY 1, 2, 3
        ON CONFLICT DO UPDATE SET displays = displays + excluded.displays, shown = shown + excluded.shown,
            clicks = clicks + excluded.clicks;
    DELETE FROM base_rates WHERE displays = 0 AND shown = 0 AND clicks = 0;
    CREATE TABLE history (  -- changes of definitions; key is NULL in dev mode, before and after are JSON
        page INTEGER NOT NULL, number INTEGER NOT NULL, time REAL NOT NULL, key TEXT, name TEXT NOT NULL,
        action TEXT NOT NULL, subject TEXT NOT NULL, before TEXT NOT NULL, after TEXT NOT NULL,
        PRIMARY KEY (page, number)
    ) WITHOUT ROWID;
    """,
    """
    ALTER TABLE pages ADD COLUMN unit_secret BLOB NOT NULL DEFAULT x'';  -- the key of the hashes of units
    UPDATE pages SET unit_secret = randomblob(32);  -- SQLite seeds its generator from the operating system
    ALTER TABLE pages ADD COLUMN allocation INTEGER NOT NULL DEFAULT 1;  -- grows when the shares of variants change
    ALTER TABLE displays ADD COLUMN allocation INTEGER NOT NULL DEFAULT 0;  -- 0: issued before this version
    ALTER TABLE displays ADD COLUMN bucket INTEGER NOT NULL DEFAULT 0;
    UPDATE displays SET bucket = nonce & 511;  -- every display was its own unit
    CREATE TABLE daily_rates (  -- value is in millionths, because sums of integers are exact
        page INTEGER NOT NULL, day INTEGER NOT NULL, allocation INTEGER NOT NULL, variant TEXT NOT NULL,
        bucket INTEGER NOT NULL, displays INTEGER NOT NULL, clicks INTEGER NOT NULL, value INTEGER NOT NULL,
        PRIMARY KEY (page, day, allocation, variant, bucket)
    ) WITHOUT ROWID;
    CREATE TABLE base_daily_rates (  -- the snapshot, too
        page INTEGER NOT NULL, day INTEGER NOT NULL, allocation INTEGER NOT NULL, variant TEXT NOT NULL,
        bucket INTEGER NOT NULL, displays INTEGER NOT NULL, clicks INTEGER NOT NULL, value INTEGER NOT NULL,
        PRIMARY KEY (page, day, allocation, variant, bucket)
    ) WITHOUT ROWID;
    """,
    """
    ALTER TABLE base ADD COLUMN epoch INTEGER NOT NULL DEFAULT 0;  -- whose weights the row is in, or imported_epoch
    ALTER TABLE pages ADD COLUMN imported_epoch INTEGER NOT NULL DEFAULT 0;
    UPDATE pages SET imported_epoch = base_epoch;
    UPDATE counts SET page = CAST(meta.value AS INTEGER) FROM meta WHERE meta.key = 'snapshot:' || counts.page;
    -- displays from before an import count in the rates, so these follow from the log
    INSERT INTO base_rates
        SELECT page, CAST(issued / 3600 AS INTEGER), variant, -count(*), -sum(json_array_length(entries)), -sum(
            (SELECT count(*) FROM events WHERE display = number AND kind = 1 AND accepted)
        )
        FROM displays JOIN pages USING (page)
        WHERE number < counted_from AND entries <> '[]' AND (counting = 1 OR (counting = 2 AND EXISTS (
            SELECT 1 FROM events WHERE display = number AND kind IN (0, 1) AND accepted
        ))) AND NOT EXISTS (SELECT 1 FROM events WHERE display = number AND kind = 2 AND accepted)
        GROUP BY 1, 2, 3
        ON CONFLICT DO UPDATE SET displays = displays + excluded.displays, shown = shown + excluded.shown,
            clicks = clicks + excluded.clicks;
    INSERT INTO base_daily_rates
        SELECT page, CAST(issued / 86400 AS INTEGER), displays.allocation, variant, bucket, -count(*), -sum(
            (SELECT count(*) FROM events WHERE display = number AND kind = 1 AND accepted)
        ), -sum((
            SELECT coalesce(sum(
                CAST(round(1000000 * coalesce(json_extract(entries, '$[' || entry || '][4]'), 1)) AS INTEGER)
            ), 0) FROM events WHERE display = number AND kind = 1 AND accepted
        ))
        FROM displays JOIN pages USING (page)
        WHERE number < counted_from AND displays.allocation > 0 AND entries <> '[]' AND (
            counting = 1 OR (counting = 2 AND EXISTS (
                SELECT 1 FROM events WHERE display = number AND kind IN (0, 1) AND accepted
            ))
        ) AND NOT EXISTS (SELECT 1 FROM events WHERE display = number AND kind = 2 AND accepted)
        GROUP BY 1, 2, 3, 4, 5
        ON CONFLICT DO UPDATE SET displays = displays + excluded.displays, clicks = clicks + excluded.clicks,
            value = value + excluded.value;
    DELETE FROM base_rates WHERE displays = 0 AND shown = 0 AND clicks = 0;
    DELETE FROM base_daily_rates WHERE displays = 0 AND clicks = 0 AND value = 0;
    """,
]


def check_ours(connection: sqlite3.Connection, where: str) -> None:
    """Raise BadInput if another program made the database."""
    (application,) = connection.execute("PRAGMA application_id").fetchone()
    if application == APPLICATION:
        return
    tables = {name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
    if tables and not {"displays", "event_ids", "meta"} <= tables:
        raise BadInput(
            f"{where!r} is a database, but not a slotwise store; name another file, or one that does not exist yet"
        )


def check_current(connection: sqlite3.Connection, where: str) -> None:
    """Raise BadInput unless the tables have the current version. A read-only connection cannot migrate them."""
    version = version_of(connection, where)
    if version < len(MIGRATIONS):
        raise BadInput(
            f"the store {where!r} has version {version} of the tables, this slotwise reads version {len(MIGRATIONS)}: "
            "start `slotwise serve` on it once, which migrates it"
        )


def migrate(connection: sqlite3.Connection, where: str) -> None:
    """Migrate the tables to the current version, in one transaction. The caller owns the store."""
    version = version_of(connection, where)
    if version == len(MIGRATIONS):
        return
    connection.execute(f"PRAGMA application_id = {APPLICATION}")
    connection.executescript(f"BEGIN IMMEDIATE; {' '.join(MIGRATIONS[version:])}")
    rebuild_checksums(connection)
    connection.execute(f"PRAGMA user_version = {len(MIGRATIONS)}")
    connection.execute("COMMIT")


def schema(connection: sqlite3.Connection) -> set[tuple[str, ...]]:
    """The definitions of tables, indices and triggers. Versions of SQLite write them with different quotes."""
    rows = connection.execute("SELECT type, name, tbl_name, CAST(coalesce(sql, '') AS TEXT) FROM sqlite_master")
    return {(*names, sql.replace('"', "")) for *names, sql in rows}


def current_schema() -> set[tuple[str, ...]]:
    """The schema of a store that has the current version."""
    with closing(sqlite3.connect(":memory:")) as connection:
        connection.executescript(" ".join(MIGRATIONS))
        return schema(connection)


def version_of(connection: sqlite3.Connection, where: str) -> int:
    """The version of the tables, or 0 if the database is empty. Raises BadInput for a version that is not ours."""
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    (is_empty,) = connection.execute("SELECT count(*) = 0 FROM sqlite_master").fetchone()
    if version < 0 or (version == 0 and not is_empty):
        raise BadInput(
            f"the store {where!r} has version {version} of the tables, which no slotwise writes: restore a backup"
        )
    if version > len(MIGRATIONS):
        raise BadInput(
            f"the store {where!r} has version {version} of the tables; this slotwise knows up to {len(MIGRATIONS)}: "
            "use the slotwise that wrote it, or a newer one"
        )
    return int(version)
