PRAGMA application_id = 1397509972;
PRAGMA user_version = 3;
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
INSERT INTO "counts" VALUES(1,0,0,0,0,0,1);
INSERT INTO "counts" VALUES(1,0,0,1,0,1,0);
INSERT INTO "counts" VALUES(1,0,1,0,0,2,1);
INSERT INTO "counts" VALUES(1,0,1,1,0,0,2);
INSERT INTO "counts" VALUES(1,0,2,0,1,0,4);
INSERT INTO "counts" VALUES(1,0,2,1,1,0,3);
INSERT INTO "counts" VALUES(2,0,1,0,0,1,1);
CREATE TABLE displays (  -- the log
        number INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT NOT NULL UNIQUE, nonce INTEGER NOT NULL,
        page INTEGER NOT NULL, layout TEXT NOT NULL, segment INTEGER NOT NULL, issued REAL NOT NULL,
        until REAL NOT NULL, drop_after REAL NOT NULL, variant TEXT NOT NULL, epoch INTEGER NOT NULL,
        counting INTEGER NOT NULL, entries TEXT NOT NULL
    );
INSERT INTO "displays" VALUES(1,'shop-0',3373349059856182239,1,'default',0,1.79501184438896322246e+09,1.79509824438896322252e+09,1.79640144438896322254e+09,'learnt',0,1,'[["hero",0,1,"learnt"],["left",1,2,"pinned"]]');
INSERT INTO "displays" VALUES(2,'shop-1',4012461311996743788,1,'default',1,1.79501184450667977329e+09,1.79509824450667977331e+09,1.79640144450667977333e+09,'holdout',0,1,'[["hero",0,0,"random"],["left",1,2,"pinned"]]');
INSERT INTO "displays" VALUES(3,'shop-2',8163321712563976832,1,'default',0,1795011844.58708,1795098244.58708,1796401444.58708,'learnt',0,1,'[["hero",0,1,"learnt"],["left",1,2,"pinned"]]');
INSERT INTO "displays" VALUES(4,'shop-3',4814717041697646018,1,'default',1,1.79501184461295127869e+09,1.79509824461295127871e+09,1.79640144461295127873e+09,'holdout',0,1,'[["hero",0,1,"random"],["left",1,2,"pinned"]]');
INSERT INTO "displays" VALUES(5,'shop-4',7795773097326952941,1,'default',0,1.79501184463079285617e+09,1.79509824463079285623e+09,1.79640144463079285625e+09,'learnt',0,1,'[["hero",0,0,"learnt"],["left",1,2,"pinned"]]');
INSERT INTO "displays" VALUES(6,'shop-5',5240566669208602496,1,'default',1,1.79501184468657350537e+09,1.79509824468657350543e+09,1.79640144468657350544e+09,'learnt',0,1,'[["hero",0,1,"learnt"],["left",1,2,"pinned"]]');
INSERT INTO "displays" VALUES(7,'shop-6',1066732948394658851,1,'default',0,1.79501184470072436337e+09,1.7950982447007243633e+09,1.79640144470072436332e+09,'learnt',0,1,'[["hero",0,1,"learnt"],["left",1,2,"pinned"]]');
INSERT INTO "displays" VALUES(8,'shop-7',4344227740905165973,1,'default',1,1.79501184480464053157e+09,1.7950982448046405315e+09,1.79640144480464053152e+09,'learnt',0,1,'[["hero",0,1,"learnt"],["left",1,2,"pinned"]]');
INSERT INTO "displays" VALUES(9,'viewed-0',5776830653518353808,2,'default',0,1.79501184480691266054e+09,1.7950982448069126606e+09,1.79761104480691266066e+09,'learnt',0,2,'[["one",0,1,"learnt"]]');
INSERT INTO "displays" VALUES(10,'viewed-1',598520278329152635,2,'default',0,1.79501184480979132651e+09,1.79509824480979132653e+09,1.79761104480979132646e+09,'learnt',0,2,'[["one",0,1,"learnt"]]');
INSERT INTO "displays" VALUES(11,'viewed-2',5548247765116558130,2,'default',0,1.79501184482080912594e+09,1.79509824482080912588e+09,1.79761104482080912589e+09,'learnt',0,2,'[["one",0,0,"learnt"]]');
INSERT INTO "displays" VALUES(12,'viewed-3',4668617988817670751,2,'default',0,1.79501184483651709559e+09,1.79509824483651709561e+09,1.79761104483651709554e+09,'learnt',0,2,'[["one",0,1,"learnt"]]');
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
INSERT INTO "events" VALUES(1,1,0,1,1.79501184538078832628e+09);
INSERT INTO "events" VALUES(2,1,0,1,1.79501184538078832628e+09);
INSERT INTO "events" VALUES(3,1,0,1,1.79501184538078832628e+09);
INSERT INTO "events" VALUES(8,2,-1,1,1.79501184538078832628e+09);
INSERT INTO "events" VALUES(9,0,-1,1,1.79501184538078832628e+09);
INSERT INTO "events" VALUES(10,1,0,1,1.79501184538078832628e+09);
CREATE TABLE items (
        page INTEGER NOT NULL, number INTEGER NOT NULL, name TEXT NOT NULL, body TEXT NOT NULL, version INTEGER NOT NULL DEFAULT 1,
        PRIMARY KEY (page, number)
    ) WITHOUT ROWID;
INSERT INTO "items" VALUES(1,0,'hat','{}',1);
INSERT INTO "items" VALUES(1,1,'tie','{"prior":{"clicks":3.0,"views":100.0}}',2);
INSERT INTO "items" VALUES(1,2,'bag','{}',1);
INSERT INTO "items" VALUES(2,0,'a','{}',1);
INSERT INTO "items" VALUES(2,1,'b','{}',1);
CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
INSERT INTO "meta" VALUES('heartbeat','1');
INSERT INTO "meta" VALUES('secrets','[[1795011840.7422547,"50-Qc4-NJg7FWs2LIxsxb8XIQq58DfSfIQhVvKts1qg"]]');
CREATE TABLE pages (
        page INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, version INTEGER NOT NULL, archived INTEGER NOT NULL,
        body TEXT NOT NULL, revision INTEGER NOT NULL DEFAULT 0,
        epoch INTEGER NOT NULL DEFAULT 0, epoch_began REAL NOT NULL DEFAULT 0,
        counted_from INTEGER NOT NULL DEFAULT 0,  -- displays with a lower number were issued before an import
        base_epoch INTEGER NOT NULL DEFAULT 0,  -- whose weights the snapshot is in
        base_displays REAL NOT NULL DEFAULT 0 CHECK (base_displays >= 0)
    );
INSERT INTO "pages" VALUES(1,'shop',2,0,'{"spec":{"positions":["hero","left"],"segments":["new"],"holdout":0.3,"half_life":86400.0},"columns":[["default","hero"],["default","left"]],"segments":["","new"],"pins":{"default":{"left":"bag"}}}',6,0,1.79501184199259495731e+09,1,0,25.0);
INSERT INTO "pages" VALUES(2,'viewed',1,0,'{"spec":{"positions":["one"],"count":"viewed"},"columns":[["default","one"]],"segments":[""],"pins":{}}',1,0,1.79501184317601156234e+09,0,0,0.0);
CREATE TABLE rates (
        page INTEGER NOT NULL, hour INTEGER NOT NULL, variant TEXT NOT NULL, displays INTEGER NOT NULL,
        shown INTEGER NOT NULL, clicks INTEGER NOT NULL, PRIMARY KEY (page, hour, variant)
    ) WITHOUT ROWID;
INSERT INTO "rates" VALUES(1,498614,'holdout',2,4,1);
INSERT INTO "rates" VALUES(1,498614,'learnt',5,10,2);
INSERT INTO "rates" VALUES(2,498614,'learnt',2,2,1);
CREATE INDEX displays_by_drop ON displays (drop_after);
CREATE INDEX event_ids_by_display ON event_ids (display);
CREATE TRIGGER counts_below_zero AFTER UPDATE ON counts WHEN new.clicks < 0 OR new.skips < 0
        BEGIN SELECT RAISE (ABORT, 'a count fell below zero'); END;
DELETE FROM "sqlite_sequence";
INSERT INTO "sqlite_sequence" VALUES('displays',12);
COMMIT;
