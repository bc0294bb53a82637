PRAGMA application_id = 1397509972;
PRAGMA user_version = 1;
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
INSERT INTO "counts" VALUES(1,0,0,0,0,0,2);
INSERT INTO "counts" VALUES(1,0,0,1,0,1,1);
INSERT INTO "counts" VALUES(1,0,1,0,0,2,0);
INSERT INTO "counts" VALUES(1,0,1,1,0,0,1);
INSERT INTO "counts" VALUES(1,0,2,0,1,0,4);
INSERT INTO "counts" VALUES(1,0,2,1,1,0,3);
INSERT INTO "counts" VALUES(2,0,0,0,0,0,1);
INSERT INTO "counts" VALUES(2,0,1,0,0,1,0);
CREATE TABLE displays (  -- the log
        number INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT NOT NULL UNIQUE, nonce INTEGER NOT NULL,
        page INTEGER NOT NULL, layout TEXT NOT NULL, segment INTEGER NOT NULL, issued REAL NOT NULL,
        until REAL NOT NULL, drop_after REAL NOT NULL, arm TEXT NOT NULL, epoch INTEGER NOT NULL,
        counting INTEGER NOT NULL, places TEXT NOT NULL
    );
INSERT INTO "displays" VALUES(1,'shop-0',2176100584255920280,1,'default',0,1.79501189439704823486e+09,1.79509829439704823492e+09,1.79640149439704823494e+09,'learnt',0,1,'[["hero",0,1,"learnt"],["left",1,2,"pinned"]]');
INSERT INTO "displays" VALUES(2,'shop-1',1893925645375229890,1,'default',1,1.79501189443078303337e+09,1.79509829443078303343e+09,1.79640149443078303331e+09,'learnt',0,1,'[["hero",0,0,"learnt"],["left",1,2,"pinned"]]');
INSERT INTO "displays" VALUES(3,'shop-2',4376914516933733807,1,'default',0,1.79501189444644594197e+09,1.7950982944464459419e+09,1.79640149444644594192e+09,'learnt',0,1,'[["hero",0,1,"learnt"],["left",1,2,"pinned"]]');
INSERT INTO "displays" VALUES(4,'shop-3',7971198898469326522,1,'default',1,1.79501189446351289754e+09,1.79509829446351289747e+09,1.79640149446351289749e+09,'learnt',0,1,'[["hero",0,0,"learnt"],["left",1,2,"pinned"]]');
INSERT INTO "displays" VALUES(5,'shop-4',5317362392866606113,1,'default',0,1.79501189449150037758e+09,1.79509829449150037764e+09,1.79640149449150037766e+09,'learnt',0,1,'[["hero",0,0,"learnt"],["left",1,2,"pinned"]]');
INSERT INTO "displays" VALUES(6,'shop-5',276689719624869871,1,'default',1,1795011894.51911,1795098294.51911,1796401494.51911,'holdout',0,1,'[["hero",0,1,"random"],["left",1,2,"pinned"]]');
INSERT INTO "displays" VALUES(7,'shop-6',8012885821952992009,1,'default',0,1.79501189453844475739e+09,1.79509829453844475745e+09,1.79640149453844475747e+09,'holdout',0,1,'[["hero",0,0,"random"],["left",1,2,"pinned"]]');
INSERT INTO "displays" VALUES(8,'shop-7',8987922396898891620,1,'default',1,1.79501189459951591489e+09,1.79509829459951591491e+09,1.79640149459951591493e+09,'holdout',0,1,'[["hero",0,0,"random"],["left",1,2,"pinned"]]');
INSERT INTO "displays" VALUES(9,'viewed-0',4154873118875771187,2,'default',0,1.79501189460752463345e+09,1.79509829460752463338e+09,1.79761109460752463344e+09,'learnt',0,2,'[["one",0,0,"learnt"]]');
INSERT INTO "displays" VALUES(10,'viewed-1',758005827454761614,2,'default',0,1.79501189464297127721e+09,1.79509829464297127727e+09,1.7976110946429712772e+09,'learnt',0,2,'[["one",0,1,"learnt"]]');
INSERT INTO "displays" VALUES(11,'viewed-2',2946521760781305847,2,'default',0,1.79501189467451381688e+09,1.79509829467451381681e+09,1.79761109467451381683e+09,'learnt',0,2,'[["one",0,1,"learnt"]]');
INSERT INTO "displays" VALUES(12,'viewed-3',7220403343966900883,2,'default',0,1.79501189469994854933e+09,1.79509829469994854926e+09,1.79761109469994854927e+09,'learnt',0,2,'[["one",0,1,"learnt"]]');
CREATE TABLE epochs (
        page INTEGER NOT NULL, epoch INTEGER NOT NULL, displays INTEGER NOT NULL, PRIMARY KEY (page, epoch)
    ) WITHOUT ROWID;
INSERT INTO "epochs" VALUES(1,0,7);
INSERT INTO "epochs" VALUES(2,0,2);
CREATE TABLE event_ids (
        id TEXT PRIMARY KEY, display INTEGER NOT NULL, kind INTEGER NOT NULL, place INTEGER NOT NULL
    ) WITHOUT ROWID;
INSERT INTO "event_ids" VALUES('event-0',1,1,0);
INSERT INTO "event_ids" VALUES('event-1',2,1,0);
INSERT INTO "event_ids" VALUES('event-2',3,1,0);
CREATE TABLE events (  -- the log, too: at most one row for every move that a register can make
        display INTEGER NOT NULL, kind INTEGER NOT NULL, place INTEGER NOT NULL, accepted INTEGER NOT NULL,
        received REAL NOT NULL, PRIMARY KEY (display, kind, place)
    ) WITHOUT ROWID;
INSERT INTO "events" VALUES(1,1,0,1,1.79501189524713611602e+09);
INSERT INTO "events" VALUES(2,1,0,1,1.79501189524713611602e+09);
INSERT INTO "events" VALUES(3,1,0,1,1.79501189524713611602e+09);
INSERT INTO "events" VALUES(8,2,-1,1,1.79501189524713611602e+09);
INSERT INTO "events" VALUES(9,0,-1,1,1.79501189524713611602e+09);
INSERT INTO "events" VALUES(10,1,0,1,1.79501189524713611602e+09);
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
INSERT INTO "meta" VALUES('secrets','[[1795011890.7823846,"f3dn6GoskcFDBRDMNGc1mcKkx0bRmg84oN6rDnWK-20"]]');
CREATE TABLE pages (
        page INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, version INTEGER NOT NULL, archived INTEGER NOT NULL,
        body TEXT NOT NULL, revision INTEGER NOT NULL DEFAULT 0,
        epoch INTEGER NOT NULL DEFAULT 0, epoch_began REAL NOT NULL DEFAULT 0,
        counted_from INTEGER NOT NULL DEFAULT 0,  -- displays with a lower number were issued before an import
        base_epoch INTEGER NOT NULL DEFAULT 0,  -- whose weights the snapshot is in
        base_displays REAL NOT NULL DEFAULT 0 CHECK (base_displays >= 0)
    );
INSERT INTO "pages" VALUES(1,'shop',2,0,'{"spec":{"positions":["hero","left"],"segments":["new"],"holdout":0.3,"half_life":86400.0},"columns":[["default","hero"],["default","left"]],"segments":["","new"],"pins":{"default":{"left":"bag"}}}',4,0,1.79501189329191374781e+09,1,0,25.0);
INSERT INTO "pages" VALUES(2,'viewed',1,0,'{"spec":{"positions":["one"],"count":"viewed"},"columns":[["default","one"]],"segments":[""],"pins":{}}',1,0,1.7950118938006198406e+09,0,0,0.0);
CREATE TABLE rates (
        page INTEGER NOT NULL, hour INTEGER NOT NULL, arm TEXT NOT NULL, displays INTEGER NOT NULL,
        shown INTEGER NOT NULL, clicks INTEGER NOT NULL, PRIMARY KEY (page, hour, arm)
    ) WITHOUT ROWID;
INSERT INTO "rates" VALUES(1,498614,'holdout',2,4,0);
INSERT INTO "rates" VALUES(1,498614,'learnt',5,10,3);
INSERT INTO "rates" VALUES(2,498614,'learnt',2,2,1);
CREATE INDEX displays_by_drop ON displays (drop_after);
CREATE INDEX event_ids_by_display ON event_ids (display);
CREATE TRIGGER counts_below_zero AFTER UPDATE ON counts WHEN new.clicks < 0 OR new.skips < 0
        BEGIN SELECT RAISE (ABORT, 'a count fell below zero'); END;
DELETE FROM "sqlite_sequence";
INSERT INTO "sqlite_sequence" VALUES('displays',12);
COMMIT;
