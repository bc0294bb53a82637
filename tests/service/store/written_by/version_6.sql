PRAGMA application_id = 1397509972;
PRAGMA user_version = 6;
BEGIN TRANSACTION;
CREATE TABLE base (  -- the snapshot
        page INTEGER NOT NULL, item INTEGER NOT NULL, segment INTEGER NOT NULL, "column" INTEGER NOT NULL,
        clicks REAL NOT NULL CHECK (clicks >= 0), skips REAL NOT NULL CHECK (skips >= 0),
        PRIMARY KEY (page, item, segment, "column")
    ) WITHOUT ROWID;
INSERT INTO "base" VALUES(1,0,0,0,5.0,20.0);
CREATE TABLE base_rates (  -- the snapshot, too: the part of the rates that does not follow from the log
        page INTEGER NOT NULL, hour INTEGER NOT NULL, variant TEXT NOT NULL, displays INTEGER NOT NULL,
        shown INTEGER NOT NULL, clicks INTEGER NOT NULL, PRIMARY KEY (page, hour, variant)
    ) WITHOUT ROWID;
CREATE TABLE checksums (name TEXT PRIMARY KEY, sum INTEGER NOT NULL) WITHOUT ROWID;
INSERT INTO "checksums" VALUES('base',353381649477021678);
INSERT INTO "checksums" VALUES('base_rates',0);
INSERT INTO "checksums" VALUES('displays',936213193927720034);
INSERT INTO "checksums" VALUES('event_ids',1736754825772627062);
INSERT INTO "checksums" VALUES('events',130087182782524509);
INSERT INTO "checksums" VALUES('history',1529547214177710819);
INSERT INTO "checksums" VALUES('items',2073551743928600238);
INSERT INTO "checksums" VALUES('keys',0);
INSERT INTO "checksums" VALUES('last_number',490015944490960399);
INSERT INTO "checksums" VALUES('meta',169651093246602289);
INSERT INTO "checksums" VALUES('pages',1775289505670093839);
INSERT INTO "checksums" VALUES('revisions',1513612089010555788);
CREATE TABLE counts (  -- the fold of the log, kept up to date by every group
        page INTEGER NOT NULL, epoch INTEGER NOT NULL, item INTEGER NOT NULL, segment INTEGER NOT NULL,
        "column" INTEGER NOT NULL, clicks INTEGER NOT NULL, skips INTEGER NOT NULL,
        PRIMARY KEY (page, epoch, item, segment, "column")
    ) WITHOUT ROWID;
INSERT INTO "counts" VALUES(1,0,0,0,0,2,1);
INSERT INTO "counts" VALUES(1,0,0,1,0,1,1);
INSERT INTO "counts" VALUES(1,0,1,0,0,0,1);
INSERT INTO "counts" VALUES(1,0,1,1,0,0,1);
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
INSERT INTO "displays" VALUES(1,'shop-0',8300423457369850963,1,'default',0,1.79501871993277931213e+09,1.79510511993277931215e+09,1.79640831993277931208e+09,'learnt',0,1,'[["hero",0,0,"learnt"],["left",1,2,"pinned"]]');
INSERT INTO "displays" VALUES(2,'shop-1',7024514475325426884,1,'default',1,1.79501871993536424635e+09,1.79510511993536424641e+09,1.79640831993536424643e+09,'holdout',0,1,'[["hero",0,0,"random"],["left",1,2,"pinned"]]');
INSERT INTO "displays" VALUES(3,'shop-2',3036415637013232996,1,'default',0,1.79501871993629288676e+09,1.79510511993629288669e+09,1.79640831993629288671e+09,'learnt',0,1,'[["hero",0,0,"learnt"],["left",1,2,"pinned"]]');
INSERT INTO "displays" VALUES(4,'shop-3',5308748670385405952,1,'default',1,1.7950187199373655319e+09,1.79510511993736553192e+09,1.79640831993736553194e+09,'holdout',0,1,'[["hero",0,1,"random"],["left",1,2,"pinned"]]');
INSERT INTO "displays" VALUES(5,'shop-4',8386418727261425687,1,'default',0,1.79501871993841290477e+09,1.7951051199384129047e+09,1.79640831993841290472e+09,'learnt',0,1,'[["hero",0,0,"learnt"],["left",1,2,"pinned"]]');
INSERT INTO "displays" VALUES(6,'shop-5',3796447826466884902,1,'default',1,1.79501871993921136849e+09,1.79510511993921136855e+09,1.79640831993921136857e+09,'holdout',0,1,'[["hero",0,0,"random"],["left",1,2,"pinned"]]');
INSERT INTO "displays" VALUES(7,'shop-6',4411833049741309287,1,'default',0,1.79501871994004440309e+09,1.79510511994004440302e+09,1.79640831994004440304e+09,'holdout',0,1,'[["hero",0,1,"random"],["left",1,2,"pinned"]]');
INSERT INTO "displays" VALUES(8,'shop-7',5175808783951683032,1,'default',1,1.79501871994101190564e+09,1.7951051199410119057e+09,1.79640831994101190559e+09,'learnt',0,1,'[["hero",0,0,"learnt"],["left",1,2,"pinned"]]');
INSERT INTO "displays" VALUES(9,'viewed-0',8882377993000905820,2,'default',0,1.79501871994213438041e+09,1.79510511994213438034e+09,1.79761791994213438036e+09,'learnt',0,2,'[["one",0,0,"learnt"]]');
INSERT INTO "displays" VALUES(10,'viewed-1',9182854754835474844,2,'default',0,1.79501871994347977643e+09,1.79510511994347977636e+09,1.79761791994347977638e+09,'learnt',0,2,'[["one",0,1,"learnt"]]');
INSERT INTO "displays" VALUES(11,'viewed-2',5355599990055440712,2,'default',0,1.79501871994445896148e+09,1.7951051199444589615e+09,1.79761791994445896151e+09,'learnt',0,2,'[["one",0,1,"learnt"]]');
INSERT INTO "displays" VALUES(12,'viewed-3',8971463378557325145,2,'default',0,1.79501871994533038134e+09,1.7951051199453303814e+09,1.79761791994533038146e+09,'learnt',0,2,'[["one",0,1,"learnt"]]');
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
INSERT INTO "events" VALUES(1,1,0,1,1.79501871994619679453e+09);
INSERT INTO "events" VALUES(2,1,0,1,1.79501871994619679453e+09);
INSERT INTO "events" VALUES(3,1,0,1,1.79501871994619679453e+09);
INSERT INTO "events" VALUES(8,2,-1,1,1.79501871994619679453e+09);
INSERT INTO "events" VALUES(9,0,-1,1,1.79501871994619679453e+09);
INSERT INTO "events" VALUES(10,1,0,1,1.79501871994619679453e+09);
CREATE TABLE history (  -- changes of definitions; key is NULL in dev mode, before and after are JSON
        page INTEGER NOT NULL, number INTEGER NOT NULL, time REAL NOT NULL, key TEXT, name TEXT NOT NULL,
        action TEXT NOT NULL, subject TEXT NOT NULL, before TEXT NOT NULL, after TEXT NOT NULL,
        PRIMARY KEY (page, number)
    ) WITHOUT ROWID;
INSERT INTO "history" VALUES(1,1,1.79501871991261458395e+09,NULL,'dev','page','shop','null','{"positions":["hero","left"],"segments":["new"],"holdout":0.3,"half_life":86400.0,"pins":{}}');
INSERT INTO "history" VALUES(1,2,1.79501871991705250737e+09,NULL,'dev','items','3 items','{"hat":null,"tie":null,"bag":null}','{"hat":{},"tie":{},"bag":{}}');
INSERT INTO "history" VALUES(1,3,1.79501871991922259336e+09,NULL,'dev','item','tie','{"prior":null}','{"prior":{"clicks":3.0,"views":100.0}}');
INSERT INTO "history" VALUES(1,4,1.79501871992113542554e+09,NULL,'dev','page','shop','{"pins":{}}','{"pins":{"default":{"left":"bag"}}}');
INSERT INTO "history" VALUES(1,5,1.79501871992365217211e+09,NULL,'dev','state','shop','{"revision":0}','{"revision":1,"displays":25.0,"counts":1}');
INSERT INTO "history" VALUES(2,1,1.79501871992572236066e+09,NULL,'dev','page','viewed','null','{"positions":["one"],"count":"viewed","pins":{}}');
INSERT INTO "history" VALUES(2,2,1.79501871992894935603e+09,NULL,'dev','items','2 items','{"a":null,"b":null}','{"a":{},"b":{}}');
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
INSERT INTO "meta" VALUES('secrets','[[1795018697.6553576,"YAg2MuoQvMt_mX5dgZDbIrwlu2sk3bY6D21aqvctX18"]]');
CREATE TABLE pages (
        page INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, version INTEGER NOT NULL, archived INTEGER NOT NULL,
        body TEXT NOT NULL, revision INTEGER NOT NULL DEFAULT 0,
        epoch INTEGER NOT NULL DEFAULT 0, epoch_began REAL NOT NULL DEFAULT 0,
        counted_from INTEGER NOT NULL DEFAULT 0,  -- displays with a lower number were issued before an import
        base_epoch INTEGER NOT NULL DEFAULT 0,  -- whose weights the snapshot is in
        base_displays REAL NOT NULL DEFAULT 0 CHECK (base_displays >= 0)
    , rates_from INTEGER NOT NULL DEFAULT 0);
INSERT INTO "pages" VALUES(1,'shop',2,0,'{"spec":{"positions":["hero","left"],"segments":["new"],"holdout":0.3,"half_life":86400.0},"columns":[["default","hero"],["default","left"]],"segments":["","new"],"pins":{"default":{"left":"bag"}}}',2,0,1.79501871991261458395e+09,1,0,25.0,0);
INSERT INTO "pages" VALUES(2,'viewed',1,0,'{"spec":{"positions":["one"],"count":"viewed"},"columns":[["default","one"]],"segments":[""],"pins":{}}',1,0,1.79501871992572236066e+09,0,0,0.0,0);
CREATE TABLE rates (
        page INTEGER NOT NULL, hour INTEGER NOT NULL, variant TEXT NOT NULL, displays INTEGER NOT NULL,
        shown INTEGER NOT NULL, clicks INTEGER NOT NULL, PRIMARY KEY (page, hour, variant)
    ) WITHOUT ROWID;
INSERT INTO "rates" VALUES(1,498616,'holdout',4,8,1);
INSERT INTO "rates" VALUES(1,498616,'learnt',3,6,2);
INSERT INTO "rates" VALUES(2,498616,'learnt',2,2,1);
CREATE INDEX displays_by_drop ON displays (drop_after);
CREATE INDEX event_ids_by_display ON event_ids (display);
CREATE TRIGGER counts_below_zero AFTER UPDATE ON counts WHEN new.clicks < 0 OR new.skips < 0
        BEGIN SELECT RAISE (ABORT, 'a count fell below zero'); END;
CREATE INDEX pages_by_template ON pages (json_extract(body, '$.spec.template'));
DELETE FROM "sqlite_sequence";
INSERT INTO "sqlite_sequence" VALUES('displays',12);
COMMIT;
