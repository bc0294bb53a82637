PRAGMA application_id = 1397509972;
PRAGMA user_version = 4;
BEGIN TRANSACTION;
CREATE TABLE base (  -- the snapshot
        page INTEGER NOT NULL, item INTEGER NOT NULL, segment INTEGER NOT NULL, "column" INTEGER NOT NULL,
        clicks REAL NOT NULL CHECK (clicks >= 0), skips REAL NOT NULL CHECK (skips >= 0),
        PRIMARY KEY (page, item, segment, "column")
    ) WITHOUT ROWID;
INSERT INTO "base" VALUES(1,0,0,0,5.0,20.0);
CREATE TABLE counts (  -- the fold of the log, kept up to date by every group
        page INTEGER NOT NULL, epoch INTEGER NOT NULL, item INTEGER NOT NULL, segment INTEGER NOT NULL,
        "column" INTEGER NOT NULL, clicks INTEGER NOT NULL, skips INTEGER NOT NULL,
        PRIMARY KEY (page, epoch, item, segment, "column")
    ) WITHOUT ROWID;
INSERT INTO "counts" VALUES(1,0,0,0,0,1,2);
INSERT INTO "counts" VALUES(1,0,0,1,0,1,2);
INSERT INTO "counts" VALUES(1,0,1,0,0,1,0);
INSERT INTO "counts" VALUES(1,0,2,0,1,0,4);
INSERT INTO "counts" VALUES(1,0,2,1,1,0,3);
INSERT INTO "counts" VALUES(2,0,0,0,0,1,1);
CREATE TABLE displays (  -- the log
        number INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT NOT NULL UNIQUE, nonce INTEGER NOT NULL,
        page INTEGER NOT NULL, layout TEXT NOT NULL, segment INTEGER NOT NULL, issued REAL NOT NULL,
        until REAL NOT NULL, drop_after REAL NOT NULL, variant TEXT NOT NULL, epoch INTEGER NOT NULL,
        counting INTEGER NOT NULL, entries TEXT NOT NULL
    );
INSERT INTO "displays" VALUES(1,'shop-0',6763012371385881365,1,'default',0,1.79501186662917423244e+09,1.79509826662917423246e+09,1.79640146662917423248e+09,'holdout',0,1,'[["hero",0,0,"random"],["left",1,2,"pinned"]]');
INSERT INTO "displays" VALUES(2,'shop-1',5603654842302123425,1,'default',1,1.7950118666368086338e+09,1.79509826663680863382e+09,1.79640146663680863375e+09,'learnt',0,1,'[["hero",0,0,"learnt"],["left",1,2,"pinned"]]');
INSERT INTO "displays" VALUES(3,'shop-2',7734922604953432241,1,'default',0,1.7950118666411373615e+09,1.79509826664113736156e+09,1.79640146664113736158e+09,'holdout',0,1,'[["hero",0,1,"random"],["left",1,2,"pinned"]]');
INSERT INTO "displays" VALUES(4,'shop-3',4456608531518058106,1,'default',1,1.79501186666390967362e+09,1.79509826666390967368e+09,1.7964014666639096737e+09,'holdout',0,1,'[["hero",0,0,"random"],["left",1,2,"pinned"]]');
INSERT INTO "displays" VALUES(5,'shop-4',2163994246625827922,1,'default',0,1.79501186666506218911e+09,1.79509826666506218904e+09,1.79640146666506218906e+09,'learnt',0,1,'[["hero",0,0,"learnt"],["left",1,2,"pinned"]]');
INSERT INTO "displays" VALUES(6,'shop-5',626264771596925007,1,'default',1,1.79501186669043803212e+09,1.79509826669043803218e+09,1.7964014666904380322e+09,'learnt',0,1,'[["hero",0,0,"learnt"],["left",1,2,"pinned"]]');
INSERT INTO "displays" VALUES(7,'shop-6',8466082606806541010,1,'default',0,1.79501186671547293665e+09,1.79509826671547293667e+09,1.7964014667154729366e+09,'learnt',0,1,'[["hero",0,0,"learnt"],["left",1,2,"pinned"]]');
INSERT INTO "displays" VALUES(8,'shop-7',1175406013868901740,1,'default',1,1.79501186672293949124e+09,1.7950982667229394913e+09,1.79640146672293949132e+09,'learnt',0,1,'[["hero",0,0,"learnt"],["left",1,2,"pinned"]]');
INSERT INTO "displays" VALUES(9,'viewed-0',9020445599289825501,2,'default',0,1.79501186672738575937e+09,1.79509826672738575939e+09,1.79761106672738575932e+09,'learnt',0,2,'[["one",0,0,"learnt"]]');
INSERT INTO "displays" VALUES(10,'viewed-1',3808160926331551385,2,'default',0,1.79501186672860026357e+09,1.79509826672860026358e+09,1.7976110667286002636e+09,'learnt',0,2,'[["one",0,0,"learnt"]]');
INSERT INTO "displays" VALUES(11,'viewed-2',1150084954208429757,2,'default',0,1.79501186672957301136e+09,1.79509826672957301142e+09,1.79761106672957301144e+09,'learnt',0,2,'[["one",0,1,"learnt"]]');
INSERT INTO "displays" VALUES(12,'viewed-3',2575174090511761003,2,'default',0,1.79501186673382234575e+09,1.79509826673382234568e+09,1.79761106673382234574e+09,'learnt',0,2,'[["one",0,0,"learnt"]]');
CREATE TABLE epochs (
        page INTEGER NOT NULL, epoch INTEGER NOT NULL, displays INTEGER NOT NULL, PRIMARY KEY (page, epoch)
    ) WITHOUT ROWID;
INSERT INTO "epochs" VALUES(1,0,7);
INSERT INTO "epochs" VALUES(2,0,2);
CREATE TABLE event_ids (
        id TEXT PRIMARY KEY, display INTEGER NOT NULL, kind INTEGER NOT NULL, entry INTEGER NOT NULL
    ) WITHOUT ROWID;
INSERT INTO "event_ids" VALUES('event-0',1,1,0);
INSERT INTO "event_ids" VALUES('event-1',2,1,0);
INSERT INTO "event_ids" VALUES('event-2',3,1,0);
CREATE TABLE events (  -- the log, too: at most one row for every move that a register can make
        display INTEGER NOT NULL, kind INTEGER NOT NULL, entry INTEGER NOT NULL, accepted INTEGER NOT NULL,
        received REAL NOT NULL, PRIMARY KEY (display, kind, entry)
    ) WITHOUT ROWID;
INSERT INTO "events" VALUES(1,1,0,1,1.79501186727362203594e+09);
INSERT INTO "events" VALUES(2,1,0,1,1.79501186727362203594e+09);
INSERT INTO "events" VALUES(3,1,0,1,1.79501186727362203594e+09);
INSERT INTO "events" VALUES(8,2,-1,1,1.79501186727362203594e+09);
INSERT INTO "events" VALUES(9,0,-1,1,1.79501186727362203594e+09);
INSERT INTO "events" VALUES(10,1,0,1,1.79501186727362203594e+09);
CREATE TABLE items (
        page INTEGER NOT NULL, number INTEGER NOT NULL, name TEXT NOT NULL, body TEXT NOT NULL, version INTEGER NOT NULL DEFAULT 1,
        PRIMARY KEY (page, number)
    ) WITHOUT ROWID;
INSERT INTO "items" VALUES(1,0,'hat','{}',1);
INSERT INTO "items" VALUES(1,1,'tie','{"prior":{"clicks":3.0,"views":100.0}}',2);
INSERT INTO "items" VALUES(1,2,'bag','{}',1);
INSERT INTO "items" VALUES(2,0,'a','{}',1);
INSERT INTO "items" VALUES(2,1,'b','{}',1);
CREATE TABLE keys (  -- lists are JSON; times are seconds since 1970
        id TEXT PRIMARY KEY, digest BLOB NOT NULL UNIQUE, name TEXT NOT NULL, scopes TEXT NOT NULL,
        pages TEXT,  -- NULL allows all pages
        origins TEXT NOT NULL, rate REAL, created REAL NOT NULL, expires REAL, revoked REAL, last_used REAL
    ) WITHOUT ROWID;
CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
INSERT INTO "meta" VALUES('heartbeat','1');
INSERT INTO "meta" VALUES('keys_version','0');
INSERT INTO "meta" VALUES('secrets','[[1795011865.284501,"QVijGcwtHhMBvay4j9ULZeR5ymsDSvK80QfMibNo_a4"]]');
CREATE TABLE pages (
        page INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, version INTEGER NOT NULL, archived INTEGER NOT NULL,
        body TEXT NOT NULL, revision INTEGER NOT NULL DEFAULT 0,
        epoch INTEGER NOT NULL DEFAULT 0, epoch_began REAL NOT NULL DEFAULT 0,
        counted_from INTEGER NOT NULL DEFAULT 0,  -- displays with a lower number were issued before an import
        base_epoch INTEGER NOT NULL DEFAULT 0,  -- whose weights the snapshot is in
        base_displays REAL NOT NULL DEFAULT 0 CHECK (base_displays >= 0)
    );
INSERT INTO "pages" VALUES(1,'shop',2,0,'{"spec":{"positions":["hero","left"],"segments":["new"],"holdout":0.3,"half_life":86400.0},"columns":[["default","hero"],["default","left"]],"segments":["","new"],"pins":{"default":{"left":"bag"}}}',4,0,1.79501186634345269205e+09,1,0,25.0);
INSERT INTO "pages" VALUES(2,'viewed',1,0,'{"spec":{"positions":["one"],"count":"viewed"},"columns":[["default","one"]],"segments":[""],"pins":{}}',1,0,1.79501186644472551347e+09,0,0,0.0);
CREATE TABLE rates (
        page INTEGER NOT NULL, hour INTEGER NOT NULL, variant TEXT NOT NULL, displays INTEGER NOT NULL,
        shown INTEGER NOT NULL, clicks INTEGER NOT NULL, PRIMARY KEY (page, hour, variant)
    ) WITHOUT ROWID;
INSERT INTO "rates" VALUES(1,498614,'holdout',3,6,2);
INSERT INTO "rates" VALUES(1,498614,'learnt',4,8,1);
INSERT INTO "rates" VALUES(2,498614,'learnt',2,2,1);
CREATE INDEX displays_by_drop ON displays (drop_after);
CREATE INDEX event_ids_by_display ON event_ids (display);
CREATE TRIGGER counts_below_zero AFTER UPDATE ON counts WHEN new.clicks < 0 OR new.skips < 0
        BEGIN SELECT RAISE (ABORT, 'a count fell below zero'); END;
DELETE FROM "sqlite_sequence";
INSERT INTO "sqlite_sequence" VALUES('displays',12);
COMMIT;
