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
INSERT INTO "checksums" VALUES('displays',1256638934675458110);
INSERT INTO "checksums" VALUES('event_ids',0);
INSERT INTO "checksums" VALUES('events',2154428250471788659);
INSERT INTO "checksums" VALUES('history',1932586395432353926);
INSERT INTO "checksums" VALUES('items',1751172548395334927);
INSERT INTO "checksums" VALUES('keys',0);
INSERT INTO "checksums" VALUES('last_number',645692704029114638);
INSERT INTO "checksums" VALUES('meta',1843884571548497479);
INSERT INTO "checksums" VALUES('pages',985516384796385061);
INSERT INTO "checksums" VALUES('revisions',1395732532956639547);
CREATE TABLE counts (  -- the fold of the log, kept up to date by every group
        page INTEGER NOT NULL, epoch INTEGER NOT NULL, item INTEGER NOT NULL, segment INTEGER NOT NULL,
        "column" INTEGER NOT NULL, clicks INTEGER NOT NULL, skips INTEGER NOT NULL,
        PRIMARY KEY (page, epoch, item, segment, "column")
    ) WITHOUT ROWID;
INSERT INTO "counts" VALUES(-1,0,0,0,0,0,3);
INSERT INTO "counts" VALUES(-1,0,0,0,1,0,1);
INSERT INTO "counts" VALUES(-1,0,1,0,0,0,1);
INSERT INTO "counts" VALUES(-1,0,1,0,1,1,1);
INSERT INTO "counts" VALUES(-1,0,2,0,1,0,1);
CREATE TABLE daily_rates (  -- value is in millionths, because sums of integers are exact
        page INTEGER NOT NULL, day INTEGER NOT NULL, allocation INTEGER NOT NULL, variant TEXT NOT NULL,
        bucket INTEGER NOT NULL, displays INTEGER NOT NULL, clicks INTEGER NOT NULL, value INTEGER NOT NULL,
        PRIMARY KEY (page, day, allocation, variant, bucket)
    ) WITHOUT ROWID;
INSERT INTO "daily_rates" VALUES(1,20775,1,'holdout',91,1,0,0);
INSERT INTO "daily_rates" VALUES(1,20775,1,'holdout',236,2,1,1000000);
INSERT INTO "daily_rates" VALUES(1,20775,1,'holdout',489,4,2,2000000);
INSERT INTO "daily_rates" VALUES(1,20775,1,'learnt',187,2,3,3000000);
INSERT INTO "daily_rates" VALUES(1,20775,1,'learnt',391,1,0,0);
INSERT INTO "daily_rates" VALUES(1,20775,1,'learnt',420,1,1,1000000);
INSERT INTO "daily_rates" VALUES(1,20775,1,'learnt',434,1,0,0);
CREATE TABLE displays (  -- the log
        number INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT NOT NULL UNIQUE, nonce INTEGER NOT NULL,
        page INTEGER NOT NULL, layout TEXT NOT NULL, segment INTEGER NOT NULL, issued REAL NOT NULL,
        until REAL NOT NULL, drop_after REAL NOT NULL, variant TEXT NOT NULL, epoch INTEGER NOT NULL,
        counting INTEGER NOT NULL, entries TEXT NOT NULL
    , allocation INTEGER NOT NULL DEFAULT 0, bucket INTEGER NOT NULL DEFAULT 0);
INSERT INTO "displays" VALUES(1,'shop-0',6229911897925438640,1,'default',0,1.79503418956204676632e+09,1.79512058956204676625e+09,1.79642378956204676627e+09,'holdout',0,1,'[["hero",0,2,"random",1.0,0.3333333333333333],["left",1,1,"random",1.0,0.3333333333333333]]',1,489);
INSERT INTO "displays" VALUES(2,'shop-1',7272611738900980451,1,'default',0,1.79503418960693192484e+09,1.79512058960693192486e+09,1.79642378960693192479e+09,'learnt',0,1,'[["hero",0,2,"learnt",1.0,null],["left",1,1,"learnt",1.0,null]]',1,187);
INSERT INTO "displays" VALUES(3,'shop-2',2173452552195350965,1,'default',0,1.79503418961036181455e+09,1.79512058961036181448e+09,1.7964237896103618145e+09,'holdout',0,1,'[["hero",0,2,"random",1.0,0.3333333333333333],["left",1,0,"random",1.0,0.3333333333333333]]',1,236);
INSERT INTO "displays" VALUES(4,'shop-3',3383345518557084236,1,'default',0,1.79503418961261272429e+09,1.79512058961261272435e+09,1.79642378961261272437e+09,'holdout',0,1,'[["hero",0,1,"random",1.0,0.3333333333333333],["left",1,0,"random",1.0,0.3333333333333333]]',1,489);
INSERT INTO "displays" VALUES(5,'shop-4',4449367924693574787,1,'default',0,1.79503418961843347551e+09,1.79512058961843347544e+09,1.79642378961843347546e+09,'learnt',0,1,'[["hero",0,0,"learnt",1.0,0.390625],["left",1,2,"learnt",1.0,0.375]]',1,187);
INSERT INTO "displays" VALUES(6,'shop-5',1193549219745378254,1,'default',0,1.79503418962446737285e+09,1.79512058962446737287e+09,1.79642378962446737289e+09,'holdout',0,1,'[["hero",0,1,"random",1.0,0.3333333333333333],["left",1,2,"random",1.0,0.3333333333333333]]',1,236);
INSERT INTO "displays" VALUES(7,'shop-6',5747367958903986696,1,'default',0,1.79503418963124680525e+09,1.79512058963124680518e+09,1.7964237896312468052e+09,'holdout',0,1,'[["hero",0,1,"random",1.0,0.3333333333333333],["left",1,0,"random",1.0,0.3333333333333333]]',1,489);
INSERT INTO "displays" VALUES(8,'shop-7',1710076816452862147,1,'default',0,1.79503418963854265207e+09,1.79512058963854265213e+09,1.79642378963854265215e+09,'learnt',0,1,'[["hero",0,0,"learnt",1.0,0.3125],["left",1,1,"learnt",1.0,0.421875]]',1,187);
INSERT INTO "displays" VALUES(9,'shop-8',1449689455787897929,1,'default',0,1.79503418964723610875e+09,1.79512058964723610881e+09,1.79642378964723610883e+09,'holdout',0,1,'[["hero",0,0,"random",1.0,0.3333333333333333],["left",1,2,"random",1.0,0.3333333333333333]]',1,236);
INSERT INTO "displays" VALUES(10,'shop-9',8568042679637897901,1,'default',0,1.7950341896544656753e+09,1.79512058965446567532e+09,1.79642378965446567534e+09,'holdout',0,1,'[["hero",0,1,"random",1.0,0.3333333333333333],["left",1,0,"random",1.0,0.3333333333333333]]',1,489);
INSERT INTO "displays" VALUES(11,'shop-10',836589261924509092,1,'default',0,1.79503418971994686131e+09,1.79512058971994686125e+09,1.79642378971994686126e+09,'learnt',0,1,'[["hero",0,0,"learnt",1.0,null],["left",1,1,"learnt",1.0,null]]',1,420);
INSERT INTO "displays" VALUES(12,'shop-11',6822582559140553095,1,'default',0,1.79503418972479486461e+09,1.79512058972479486467e+09,1.79642378972479486469e+09,'learnt',0,1,'[["hero",0,0,"learnt",1.0,null],["left",1,1,"learnt",1.0,null]]',1,391);
INSERT INTO "displays" VALUES(13,'shop-12',1143649018789133403,1,'default',0,1.79503418972661519048e+09,1.79512058972661519055e+09,1.79642378972661519043e+09,'holdout',0,1,'[["hero",0,0,"random",1.0,0.3333333333333333],["left",1,2,"random",1.0,0.3333333333333333]]',1,91);
INSERT INTO "displays" VALUES(14,'shop-13',699131637803729842,1,'default',0,1.79503418972928667071e+09,1.79512058972928667064e+09,1.79642378972928667066e+09,'learnt',0,1,'[["hero",0,1,"learnt",1.0,null],["left",1,0,"learnt",1.0,null]]',1,434);
CREATE TABLE epochs (
        page INTEGER NOT NULL, epoch INTEGER NOT NULL, displays INTEGER NOT NULL, PRIMARY KEY (page, epoch)
    ) WITHOUT ROWID;
INSERT INTO "epochs" VALUES(1,0,4);
CREATE TABLE event_ids (
        id TEXT PRIMARY KEY, display INTEGER NOT NULL, kind INTEGER NOT NULL, entry INTEGER NOT NULL
    ) WITHOUT ROWID;
CREATE TABLE events (  -- the log, too: at most one row for every move that a register can make
        display INTEGER NOT NULL, kind INTEGER NOT NULL, entry INTEGER NOT NULL, accepted INTEGER NOT NULL,
        received REAL NOT NULL, PRIMARY KEY (display, kind, entry)
    ) WITHOUT ROWID;
INSERT INTO "events" VALUES(1,1,0,1,1.79503418965735888485e+09);
INSERT INTO "events" VALUES(2,1,0,1,1.79503418965735888485e+09);
INSERT INTO "events" VALUES(2,1,1,1,1.79503418973214483259e+09);
INSERT INTO "events" VALUES(3,1,0,1,1.79503418965735888485e+09);
INSERT INTO "events" VALUES(3,2,-1,1,1.79503418973214483259e+09);
INSERT INTO "events" VALUES(4,1,0,1,1.79503418965735888485e+09);
INSERT INTO "events" VALUES(5,1,0,1,1.79503418965735888485e+09);
INSERT INTO "events" VALUES(8,2,-1,1,1.79503418965735888485e+09);
INSERT INTO "events" VALUES(9,1,1,1,1.79503418973214483259e+09);
INSERT INTO "events" VALUES(11,1,1,1,1.79503418973214483259e+09);
CREATE TABLE history (  -- changes of definitions; key is NULL in dev mode, before and after are JSON
        page INTEGER NOT NULL, number INTEGER NOT NULL, time REAL NOT NULL, key TEXT, name TEXT NOT NULL,
        action TEXT NOT NULL, subject TEXT NOT NULL, before TEXT NOT NULL, after TEXT NOT NULL,
        PRIMARY KEY (page, number)
    ) WITHOUT ROWID;
INSERT INTO "history" VALUES(1,1,1795034189.52453,NULL,'dev','page','shop','null','{"positions":["hero","left"],"segments":["new"],"holdout":0.3,"half_life":86400.0,"pins":{}}');
INSERT INTO "history" VALUES(1,2,1.79503418954446268083e+09,NULL,'dev','items','3 items','{"hat":null,"tie":null,"bag":null}','{"hat":{},"tie":{},"bag":{}}');
INSERT INTO "history" VALUES(1,3,1.79503418969414114949e+09,NULL,'dev','state','shop','{"revision":1}','{"revision":2,"displays":25.0,"counts":1}');
CREATE TABLE items (
        page INTEGER NOT NULL, number INTEGER NOT NULL, name TEXT NOT NULL, body TEXT NOT NULL, version INTEGER NOT NULL DEFAULT 1,
        PRIMARY KEY (page, number)
    ) WITHOUT ROWID;
INSERT INTO "items" VALUES(1,0,'hat','{}',1);
INSERT INTO "items" VALUES(1,1,'tie','{}',1);
INSERT INTO "items" VALUES(1,2,'bag','{}',1);
CREATE TABLE keys (  -- lists are JSON; times are seconds since 1970
        id TEXT PRIMARY KEY, digest BLOB NOT NULL UNIQUE, name TEXT NOT NULL, scopes TEXT NOT NULL,
        pages TEXT,  -- NULL allows all pages
        origins TEXT NOT NULL, rate REAL, created REAL NOT NULL, expires REAL, revoked REAL, last_used REAL
    ) WITHOUT ROWID;
CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
INSERT INTO "meta" VALUES('heartbeat','1');
INSERT INTO "meta" VALUES('keys_version','0');
INSERT INTO "meta" VALUES('secrets','[[1795034187.558419,"elMEyfSNmy93DHp7ZoEXjJUL0Fc28OPij46cmVhbqyE"]]');
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
INSERT INTO "pages" VALUES(1,'shop',1,0,'{"spec":{"positions":["hero","left"],"segments":["new"],"holdout":0.3,"half_life":86400.0},"columns":[["default","hero"],["default","left"]],"segments":["","new"],"pins":{}}',3,0,1795034189.52453,11,0,25.0,0,X'BBA45DF489D470156F6168C09323873E2F2238AA4B2F97C01044A814D0EA1FD7',1,0);
CREATE TABLE rates (
        page INTEGER NOT NULL, hour INTEGER NOT NULL, variant TEXT NOT NULL, displays INTEGER NOT NULL,
        shown INTEGER NOT NULL, clicks INTEGER NOT NULL, PRIMARY KEY (page, hour, variant)
    ) WITHOUT ROWID;
INSERT INTO "rates" VALUES(1,498620,'holdout',7,14,3);
INSERT INTO "rates" VALUES(1,498620,'learnt',5,10,4);
CREATE INDEX displays_by_drop ON displays (drop_after);
CREATE INDEX event_ids_by_display ON event_ids (display);
CREATE TRIGGER counts_below_zero AFTER UPDATE ON counts WHEN new.clicks < 0 OR new.skips < 0
        BEGIN SELECT RAISE (ABORT, 'a count fell below zero'); END;
CREATE INDEX pages_by_template ON pages (json_extract(body, '$.spec.template'));
DELETE FROM "sqlite_sequence";
INSERT INTO "sqlite_sequence" VALUES('displays',14);
COMMIT;
