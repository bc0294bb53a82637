PRAGMA application_id = 1397509972;
PRAGMA user_version = 8;
BEGIN TRANSACTION;
CREATE TABLE base (  -- the snapshot
        page INTEGER NOT NULL, item INTEGER NOT NULL, segment INTEGER NOT NULL, "column" INTEGER NOT NULL,
        clicks REAL NOT NULL CHECK (clicks >= 0), skips REAL NOT NULL CHECK (skips >= 0), epoch INTEGER NOT NULL DEFAULT 0,
        PRIMARY KEY (page, item, segment, "column")
    ) WITHOUT ROWID;
INSERT INTO "base" VALUES(-1,0,0,0,5.0,20.0,0);
CREATE TABLE base_daily_rates (  -- the snapshot, too
        page INTEGER NOT NULL, day INTEGER NOT NULL, allocation INTEGER NOT NULL, variant TEXT NOT NULL,
        bucket INTEGER NOT NULL, displays INTEGER NOT NULL, clicks INTEGER NOT NULL, value INTEGER NOT NULL,
        PRIMARY KEY (page, day, allocation, variant, bucket)
    ) WITHOUT ROWID;
CREATE TABLE base_rates (  -- the snapshot, too: the part of the rates that does not follow from the log
        page INTEGER NOT NULL, hour INTEGER NOT NULL, variant TEXT NOT NULL, displays INTEGER NOT NULL,
        shown INTEGER NOT NULL, clicks INTEGER NOT NULL, PRIMARY KEY (page, hour, variant)
    ) WITHOUT ROWID;
CREATE TABLE checksums (name TEXT PRIMARY KEY, sum INTEGER NOT NULL) WITHOUT ROWID;
INSERT INTO "checksums" VALUES('base',319706428807395771);
INSERT INTO "checksums" VALUES('base_daily_rates',0);
INSERT INTO "checksums" VALUES('base_rates',0);
INSERT INTO "checksums" VALUES('displays',2099587705612060761);
INSERT INTO "checksums" VALUES('event_ids',1736754825772627062);
INSERT INTO "checksums" VALUES('events',100453906248447653);
INSERT INTO "checksums" VALUES('history',825494332572168762);
INSERT INTO "checksums" VALUES('items',2073551743928600238);
INSERT INTO "checksums" VALUES('keys',0);
INSERT INTO "checksums" VALUES('last_number',490015944490960399);
INSERT INTO "checksums" VALUES('meta',611791846528985044);
INSERT INTO "checksums" VALUES('pages',2131358341813506093);
INSERT INTO "checksums" VALUES('revisions',1513612089010555788);
CREATE TABLE counts (  -- the fold of the log, kept up to date by every group
        page INTEGER NOT NULL, epoch INTEGER NOT NULL, item INTEGER NOT NULL, segment INTEGER NOT NULL,
        "column" INTEGER NOT NULL, clicks INTEGER NOT NULL, skips INTEGER NOT NULL,
        PRIMARY KEY (page, epoch, item, segment, "column")
    ) WITHOUT ROWID;
INSERT INTO "counts" VALUES(-1,0,0,0,0,2,2);
INSERT INTO "counts" VALUES(-1,0,0,1,0,1,1);
INSERT INTO "counts" VALUES(-1,0,1,1,0,0,1);
INSERT INTO "counts" VALUES(-1,0,2,0,1,0,4);
INSERT INTO "counts" VALUES(-1,0,2,1,1,0,3);
INSERT INTO "counts" VALUES(2,0,1,0,0,1,1);
CREATE TABLE daily_rates (  -- value is in millionths, because sums of integers are exact
        page INTEGER NOT NULL, day INTEGER NOT NULL, allocation INTEGER NOT NULL, variant TEXT NOT NULL,
        bucket INTEGER NOT NULL, displays INTEGER NOT NULL, clicks INTEGER NOT NULL, value INTEGER NOT NULL,
        PRIMARY KEY (page, day, allocation, variant, bucket)
    ) WITHOUT ROWID;
INSERT INTO "daily_rates" VALUES(1,20775,1,'holdout',265,1,1,1000000);
INSERT INTO "daily_rates" VALUES(1,20775,1,'holdout',391,1,0,0);
INSERT INTO "daily_rates" VALUES(1,20775,1,'learnt',206,1,1,1000000);
INSERT INTO "daily_rates" VALUES(1,20775,1,'learnt',292,1,0,0);
INSERT INTO "daily_rates" VALUES(1,20775,1,'learnt',345,1,1,1000000);
INSERT INTO "daily_rates" VALUES(1,20775,1,'learnt',360,1,0,0);
INSERT INTO "daily_rates" VALUES(1,20775,1,'learnt',437,1,0,0);
INSERT INTO "daily_rates" VALUES(2,20775,1,'learnt',85,1,0,0);
INSERT INTO "daily_rates" VALUES(2,20775,1,'learnt',454,1,1,1000000);
CREATE TABLE displays (  -- the log
        number INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT NOT NULL UNIQUE, nonce INTEGER NOT NULL,
        page INTEGER NOT NULL, layout TEXT NOT NULL, segment INTEGER NOT NULL, issued REAL NOT NULL,
        until REAL NOT NULL, drop_after REAL NOT NULL, variant TEXT NOT NULL, epoch INTEGER NOT NULL,
        counting INTEGER NOT NULL, entries TEXT NOT NULL
    , allocation INTEGER NOT NULL DEFAULT 0, bucket INTEGER NOT NULL DEFAULT 0);
INSERT INTO "displays" VALUES(1,'shop-0',5209909333785702665,1,'default',0,1.79503418406492328647e+09,1.7951205840649232864e+09,1.79642378406492328642e+09,'holdout',0,1,'[["hero",0,0,"random",1.0,0.5],["left",1,2,"pinned",1.0,1.0]]',1,265);
INSERT INTO "displays" VALUES(2,'shop-1',8708183899683053774,1,'default',1,1.79503418409548902512e+09,1.79512058409548902514e+09,1.79642378409548902516e+09,'learnt',0,1,'[["hero",0,0,"learnt",1.0,null],["left",1,2,"pinned",1.0,null]]',1,206);
INSERT INTO "displays" VALUES(3,'shop-2',2461672348448890201,1,'default',0,1.7950341841021938324e+09,1.79512058410219383242e+09,1.79642378410219383244e+09,'learnt',0,1,'[["hero",0,0,"learnt",1.0,null],["left",1,2,"pinned",1.0,null]]',1,345);
INSERT INTO "displays" VALUES(4,'shop-3',8045310380003998133,1,'default',1,1.7950341841075627804e+09,1.79512058410756278033e+09,1.79642378410756278035e+09,'learnt',0,1,'[["hero",0,1,"learnt",1.0,0.390625],["left",1,2,"pinned",1.0,1.0]]',1,437);
INSERT INTO "displays" VALUES(5,'shop-4',2270614189207055751,1,'default',0,1.79503418411417961118e+09,1.7951205841141796112e+09,1.79642378411417961122e+09,'holdout',0,1,'[["hero",0,0,"random",1.0,0.5],["left",1,2,"pinned",1.0,1.0]]',1,391);
INSERT INTO "displays" VALUES(6,'shop-5',7059355972303533348,1,'default',1,1.79503418411834192273e+09,1.79512058411834192275e+09,1.79642378411834192277e+09,'learnt',0,1,'[["hero",0,0,"learnt",1.0,0.5625],["left",1,2,"pinned",1.0,1.0]]',1,292);
INSERT INTO "displays" VALUES(7,'shop-6',4955052518566243176,1,'default',0,1.79503418412234759331e+09,1.79512058412234759337e+09,1.79642378412234759326e+09,'learnt',0,1,'[["hero",0,0,"learnt",1.0,0.78125],["left",1,2,"pinned",1.0,1.0]]',1,360);
INSERT INTO "displays" VALUES(8,'shop-7',7230454490481124881,1,'default',1,1.79503418413021016124e+09,1.79512058413021016118e+09,1.79642378413021016119e+09,'learnt',0,1,'[["hero",0,1,"learnt",1.0,0.515625],["left",1,2,"pinned",1.0,1.0]]',1,17);
INSERT INTO "displays" VALUES(9,'viewed-0',8563135094814251093,2,'default',0,1795034184.13342,1795120584.13342,1797633384.13342,'learnt',0,2,'[["one",0,1,"learnt",1.0,null]]',1,85);
INSERT INTO "displays" VALUES(10,'viewed-1',2656623389150474694,2,'default',0,1.79503418413815331463e+09,1.79512058413815331456e+09,1.79763338413815331462e+09,'learnt',0,2,'[["one",0,1,"learnt",1.0,null]]',1,454);
INSERT INTO "displays" VALUES(11,'viewed-2',8153750045354278984,2,'default',0,1.79503418414081454277e+09,1.79512058414081454279e+09,1.79763338414081454271e+09,'learnt',0,2,'[["one",0,0,"learnt",1.0,null]]',1,72);
INSERT INTO "displays" VALUES(12,'viewed-3',8802514117619778188,2,'default',0,1.79503418414731407163e+09,1.79512058414731407165e+09,1.79763338414731407158e+09,'learnt',0,2,'[["one",0,0,"learnt",1.0,null]]',1,140);
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
INSERT INTO "events" VALUES(1,1,0,1,1.79503418414881300924e+09);
INSERT INTO "events" VALUES(2,1,0,1,1.79503418414881300924e+09);
INSERT INTO "events" VALUES(3,1,0,1,1.79503418414881300924e+09);
INSERT INTO "events" VALUES(8,2,-1,1,1.79503418414881300924e+09);
INSERT INTO "events" VALUES(9,0,-1,1,1.79503418414881300924e+09);
INSERT INTO "events" VALUES(10,1,0,1,1.79503418414881300924e+09);
CREATE TABLE history (  -- changes of definitions; key is NULL in dev mode, before and after are JSON
        page INTEGER NOT NULL, number INTEGER NOT NULL, time REAL NOT NULL, key TEXT, name TEXT NOT NULL,
        action TEXT NOT NULL, subject TEXT NOT NULL, before TEXT NOT NULL, after TEXT NOT NULL,
        PRIMARY KEY (page, number)
    ) WITHOUT ROWID;
INSERT INTO "history" VALUES(1,1,1.79503418398019123081e+09,NULL,'dev','page','shop','null','{"positions":["hero","left"],"segments":["new"],"holdout":0.3,"half_life":86400.0,"pins":{}}');
INSERT INTO "history" VALUES(1,2,1.79503418399676132203e+09,NULL,'dev','items','3 items','{"hat":null,"tie":null,"bag":null}','{"hat":{},"tie":{},"bag":{}}');
INSERT INTO "history" VALUES(1,3,1.79503418400433897971e+09,NULL,'dev','item','tie','{"prior":null}','{"prior":{"clicks":3.0,"views":100.0}}');
INSERT INTO "history" VALUES(1,4,1.79503418401234555242e+09,NULL,'dev','page','shop','{"pins":{}}','{"pins":{"default":{"left":"bag"}}}');
INSERT INTO "history" VALUES(1,5,1.79503418403009510047e+09,NULL,'dev','state','shop','{"revision":0}','{"revision":1,"displays":25.0,"counts":1}');
INSERT INTO "history" VALUES(2,1,1.79503418403530216212e+09,NULL,'dev','page','viewed','null','{"positions":["one"],"count":"viewed","pins":{}}');
INSERT INTO "history" VALUES(2,2,1.79503418405220413209e+09,NULL,'dev','items','2 items','{"a":null,"b":null}','{"a":{},"b":{}}');
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
INSERT INTO "meta" VALUES('secrets','[[1795034182.562375,"EOJJer2zGPtCeCLc1G4vuz8X5hnrYLTlWN-NU8SND54"]]');
INSERT INTO "meta" VALUES('snapshot:1','-1');
INSERT INTO "meta" VALUES('snapshots','{"last":-1,"staged":[],"unused":[]}');
CREATE TABLE pages (
        page INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, version INTEGER NOT NULL, archived INTEGER NOT NULL,
        body TEXT NOT NULL, revision INTEGER NOT NULL DEFAULT 0,
        epoch INTEGER NOT NULL DEFAULT 0, epoch_began REAL NOT NULL DEFAULT 0,
        counted_from INTEGER NOT NULL DEFAULT 0,  -- displays with a lower number were issued before an import
        base_epoch INTEGER NOT NULL DEFAULT 0,  -- whose weights the snapshot is in
        base_displays REAL NOT NULL DEFAULT 0 CHECK (base_displays >= 0)
    , rates_from INTEGER NOT NULL DEFAULT 0, unit_secret BLOB NOT NULL DEFAULT x'', allocation INTEGER NOT NULL DEFAULT 1, imported_epoch INTEGER NOT NULL DEFAULT 0);
INSERT INTO "pages" VALUES(1,'shop',2,0,'{"spec":{"positions":["hero","left"],"segments":["new"],"holdout":0.3,"half_life":86400.0},"columns":[["default","hero"],["default","left"]],"segments":["","new"],"pins":{"default":{"left":"bag"}}}',2,0,1.79503418398019123081e+09,1,0,25.0,0,X'20767600FF68645528025B72157391067CB4CB2737E9A8F46B0989130F0773A1',1,0);
INSERT INTO "pages" VALUES(2,'viewed',1,0,'{"spec":{"positions":["one"],"count":"viewed"},"columns":[["default","one"]],"segments":[""],"pins":{}}',1,0,1.79503418403530216212e+09,0,0,0.0,0,X'351BF6AC11D51D1E23572EC4EF7BD8C781F5C5ADA22BD16DF96D214C4C9E3B18',1,0);
CREATE TABLE rates (
        page INTEGER NOT NULL, hour INTEGER NOT NULL, variant TEXT NOT NULL, displays INTEGER NOT NULL,
        shown INTEGER NOT NULL, clicks INTEGER NOT NULL, PRIMARY KEY (page, hour, variant)
    ) WITHOUT ROWID;
INSERT INTO "rates" VALUES(1,498620,'holdout',2,4,1);
INSERT INTO "rates" VALUES(1,498620,'learnt',5,10,2);
INSERT INTO "rates" VALUES(2,498620,'learnt',2,2,1);
CREATE INDEX displays_by_drop ON displays (drop_after);
CREATE INDEX event_ids_by_display ON event_ids (display);
CREATE TRIGGER counts_below_zero AFTER UPDATE ON counts WHEN new.clicks < 0 OR new.skips < 0
        BEGIN SELECT RAISE (ABORT, 'a count fell below zero'); END;
CREATE INDEX pages_by_template ON pages (json_extract(body, '$.spec.template'));
DELETE FROM "sqlite_sequence";
INSERT INTO "sqlite_sequence" VALUES('displays',12);
COMMIT;
