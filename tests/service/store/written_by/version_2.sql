PRAGMA application_id = 1397509972;
PRAGMA user_version = 2;
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
INSERT INTO "counts" VALUES(1,0,0,0,0,2,2);
INSERT INTO "counts" VALUES(1,0,0,1,0,1,2);
INSERT INTO "counts" VALUES(1,0,2,0,1,0,4);
INSERT INTO "counts" VALUES(1,0,2,1,1,0,3);
INSERT INTO "counts" VALUES(2,0,0,0,0,0,1);
INSERT INTO "counts" VALUES(2,0,1,0,0,1,0);
CREATE TABLE displays (  -- the log
        number INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT NOT NULL UNIQUE, nonce INTEGER NOT NULL,
        page INTEGER NOT NULL, layout TEXT NOT NULL, segment INTEGER NOT NULL, issued REAL NOT NULL,
        until REAL NOT NULL, drop_after REAL NOT NULL, variant TEXT NOT NULL, epoch INTEGER NOT NULL,
        counting INTEGER NOT NULL, entries TEXT NOT NULL
    );
INSERT INTO "displays" VALUES(1,'shop-0',4135624014723730266,1,'default',0,1.79501181949164342879e+09,1.79509821949164342881e+09,1.79640141949164342883e+09,'holdout',0,1,'[["hero",0,0,"random"],["left",1,2,"pinned"]]');
INSERT INTO "displays" VALUES(2,'shop-1',491191455560462699,1,'default',1,1.79501181952461338038e+09,1.79509821952461338045e+09,1.79640141952461338046e+09,'learnt',0,1,'[["hero",0,0,"learnt"],["left",1,2,"pinned"]]');
INSERT INTO "displays" VALUES(3,'shop-2',6246687991667057710,1,'default',0,1.79501181956596779823e+09,1.7950982195659677983e+09,1.79640141956596779818e+09,'learnt',0,1,'[["hero",0,0,"learnt"],["left",1,2,"pinned"]]');
INSERT INTO "displays" VALUES(4,'shop-3',6663646583587732591,1,'default',1,1.79501181960259032248e+09,1.79509821960259032249e+09,1.79640141960259032251e+09,'holdout',0,1,'[["hero",0,0,"random"],["left",1,2,"pinned"]]');
INSERT INTO "displays" VALUES(5,'shop-4',7511518451757555425,1,'default',0,1.79501181962790632242e+09,1.79509821962790632248e+09,1.7964014196279063225e+09,'learnt',0,1,'[["hero",0,0,"learnt"],["left",1,2,"pinned"]]');
INSERT INTO "displays" VALUES(6,'shop-5',3904278581234829042,1,'default',1,1.79501181964745831496e+09,1.79509821964745831489e+09,1.79640141964745831491e+09,'holdout',0,1,'[["hero",0,0,"random"],["left",1,2,"pinned"]]');
INSERT INTO "displays" VALUES(7,'shop-6',3403815358062335342,1,'default',0,1.79501181967929029472e+09,1.79509821967929029465e+09,1.79640141967929029467e+09,'learnt',0,1,'[["hero",0,0,"learnt"],["left",1,2,"pinned"]]');
INSERT INTO "displays" VALUES(8,'shop-7',4419124335406823779,1,'default',1,1.79501181969448375696e+09,1.79509821969448375702e+09,1.79640141969448375704e+09,'learnt',0,1,'[["hero",0,0,"learnt"],["left",1,2,"pinned"]]');
INSERT INTO "displays" VALUES(9,'viewed-0',7792067294989053594,2,'default',0,1795011819.75822,1795098219.75822,1797611019.75822,'learnt',0,2,'[["one",0,0,"learnt"]]');
INSERT INTO "displays" VALUES(10,'viewed-1',8884723450190470908,2,'default',0,1.79501181976424646373e+09,1.79509821976424646379e+09,1.79761101976424646372e+09,'learnt',0,2,'[["one",0,1,"learnt"]]');
INSERT INTO "displays" VALUES(11,'viewed-2',7514515961782123203,2,'default',0,1.79501181978257536887e+09,1.79509821978257536889e+09,1.79761101978257536882e+09,'learnt',0,2,'[["one",0,1,"learnt"]]');
INSERT INTO "displays" VALUES(12,'viewed-3',6647876357991069923,2,'default',0,1.79501181982395291328e+09,1.79509821982395291334e+09,1.79761101982395291327e+09,'learnt',0,2,'[["one",0,1,"learnt"]]');
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
INSERT INTO "events" VALUES(1,1,0,1,1.79501182035106945033e+09);
INSERT INTO "events" VALUES(2,1,0,1,1.79501182035106945033e+09);
INSERT INTO "events" VALUES(3,1,0,1,1.79501182035106945033e+09);
INSERT INTO "events" VALUES(8,2,-1,1,1.79501182035106945033e+09);
INSERT INTO "events" VALUES(9,0,-1,1,1.79501182035106945033e+09);
INSERT INTO "events" VALUES(10,1,0,1,1.79501182035106945033e+09);
CREATE TABLE items (
        page INTEGER NOT NULL, number INTEGER NOT NULL, name TEXT NOT NULL, body TEXT NOT NULL,
        PRIMARY KEY (page, number)
    ) WITHOUT ROWID;
INSERT INTO "items" VALUES(1,0,'hat','{}');
INSERT INTO "items" VALUES(1,1,'tie','{"prior":{"clicks":3.0,"views":100.0}}');
INSERT INTO "items" VALUES(1,2,'bag','{}');
INSERT INTO "items" VALUES(2,0,'a','{}');
INSERT INTO "items" VALUES(2,1,'b','{}');
CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
INSERT INTO "meta" VALUES('heartbeat','1');
INSERT INTO "meta" VALUES('secrets','[[1795011815.912054,"e-SghCDc6M1P1HbAlPBuNuL2cD_yTGxvZ0WIWoMxg40"]]');
CREATE TABLE pages (
        page INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, version INTEGER NOT NULL, archived INTEGER NOT NULL,
        body TEXT NOT NULL, revision INTEGER NOT NULL DEFAULT 0,
        epoch INTEGER NOT NULL DEFAULT 0, epoch_began REAL NOT NULL DEFAULT 0,
        counted_from INTEGER NOT NULL DEFAULT 0,  -- displays with a lower number were issued before an import
        base_epoch INTEGER NOT NULL DEFAULT 0,  -- whose weights the snapshot is in
        base_displays REAL NOT NULL DEFAULT 0 CHECK (base_displays >= 0)
    );
INSERT INTO "pages" VALUES(1,'shop',2,0,'{"spec":{"positions":["hero","left"],"segments":["new"],"holdout":0.3,"half_life":86400.0},"columns":[["default","hero"],["default","left"]],"segments":["","new"],"pins":{"default":{"left":"bag"}}}',4,0,1.79501181734704804426e+09,1,0,25.0);
INSERT INTO "pages" VALUES(2,'viewed',1,0,'{"spec":{"positions":["one"],"count":"viewed"},"columns":[["default","one"]],"segments":[""],"pins":{}}',1,0,1.79501181874248909951e+09,0,0,0.0);
CREATE TABLE rates (
        page INTEGER NOT NULL, hour INTEGER NOT NULL, variant TEXT NOT NULL, displays INTEGER NOT NULL,
        shown INTEGER NOT NULL, clicks INTEGER NOT NULL, PRIMARY KEY (page, hour, variant)
    ) WITHOUT ROWID;
INSERT INTO "rates" VALUES(1,498614,'holdout',3,6,1);
INSERT INTO "rates" VALUES(1,498614,'learnt',4,8,2);
INSERT INTO "rates" VALUES(2,498614,'learnt',2,2,1);
CREATE INDEX displays_by_drop ON displays (drop_after);
CREATE INDEX event_ids_by_display ON event_ids (display);
CREATE TRIGGER counts_below_zero AFTER UPDATE ON counts WHEN new.clicks < 0 OR new.skips < 0
        BEGIN SELECT RAISE (ABORT, 'a count fell below zero'); END;
DELETE FROM "sqlite_sequence";
INSERT INTO "sqlite_sequence" VALUES('displays',12);
COMMIT;
