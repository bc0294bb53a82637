PRAGMA application_id = 1397509972;
PRAGMA user_version = 7;
BEGIN TRANSACTION;
CREATE TABLE base (  -- the snapshot
        page INTEGER NOT NULL, item INTEGER NOT NULL, segment INTEGER NOT NULL, "column" INTEGER NOT NULL,
        clicks REAL NOT NULL CHECK (clicks >= 0), skips REAL NOT NULL CHECK (skips >= 0),
        PRIMARY KEY (page, item, segment, "column")
    ) WITHOUT ROWID;
INSERT INTO "base" VALUES(-1,0,0,0,5.0,20.0);
CREATE TABLE base_daily_rates (  -- the snapshot, too
        page INTEGER NOT NULL, day INTEGER NOT NULL, allocation INTEGER NOT NULL, variant TEXT NOT NULL,
        bucket INTEGER NOT NULL, displays INTEGER NOT NULL, clicks INTEGER NOT NULL, value INTEGER NOT NULL,
        PRIMARY KEY (page, day, allocation, variant, bucket)
    ) WITHOUT ROWID;
INSERT INTO "base_daily_rates" VALUES(1,20775,1,'holdout',386,3,1,1000000);
INSERT INTO "base_daily_rates" VALUES(1,20775,1,'learnt',234,2,2,2000000);
INSERT INTO "base_daily_rates" VALUES(1,20775,1,'learnt',333,4,2,2000000);
CREATE TABLE base_rates (  -- the snapshot, too: the part of the rates that does not follow from the log
        page INTEGER NOT NULL, hour INTEGER NOT NULL, variant TEXT NOT NULL, displays INTEGER NOT NULL,
        shown INTEGER NOT NULL, clicks INTEGER NOT NULL, PRIMARY KEY (page, hour, variant)
    ) WITHOUT ROWID;
INSERT INTO "base_rates" VALUES(1,498620,'holdout',3,6,1);
INSERT INTO "base_rates" VALUES(1,498620,'learnt',6,12,4);
CREATE TABLE checksums (name TEXT PRIMARY KEY, sum INTEGER NOT NULL) WITHOUT ROWID;
INSERT INTO "checksums" VALUES('base',852168862037250500);
INSERT INTO "checksums" VALUES('base_daily_rates',48402534198554806);
INSERT INTO "checksums" VALUES('base_rates',1792379685295583757);
INSERT INTO "checksums" VALUES('displays',765030237211567928);
INSERT INTO "checksums" VALUES('event_ids',0);
INSERT INTO "checksums" VALUES('events',1777029573134101505);
INSERT INTO "checksums" VALUES('history',627580799422601655);
INSERT INTO "checksums" VALUES('items',1751172548395334927);
INSERT INTO "checksums" VALUES('keys',0);
INSERT INTO "checksums" VALUES('last_number',645692704029114638);
INSERT INTO "checksums" VALUES('meta',1332459104611643840);
INSERT INTO "checksums" VALUES('pages',1456444543325189434);
INSERT INTO "checksums" VALUES('revisions',1395732532956639547);
CREATE TABLE counts (  -- the fold of the log, kept up to date by every group
        page INTEGER NOT NULL, epoch INTEGER NOT NULL, item INTEGER NOT NULL, segment INTEGER NOT NULL,
        "column" INTEGER NOT NULL, clicks INTEGER NOT NULL, skips INTEGER NOT NULL,
        PRIMARY KEY (page, epoch, item, segment, "column")
    ) WITHOUT ROWID;
INSERT INTO "counts" VALUES(1,0,0,0,0,0,3);
INSERT INTO "counts" VALUES(1,0,1,0,0,0,1);
INSERT INTO "counts" VALUES(1,0,1,0,1,0,2);
INSERT INTO "counts" VALUES(1,0,2,0,1,1,1);
CREATE TABLE daily_rates (  -- value is in millionths, because sums of integers are exact
        page INTEGER NOT NULL, day INTEGER NOT NULL, allocation INTEGER NOT NULL, variant TEXT NOT NULL,
        bucket INTEGER NOT NULL, displays INTEGER NOT NULL, clicks INTEGER NOT NULL, value INTEGER NOT NULL,
        PRIMARY KEY (page, day, allocation, variant, bucket)
    ) WITHOUT ROWID;
INSERT INTO "daily_rates" VALUES(1,20775,1,'holdout',346,1,1,1000000);
INSERT INTO "daily_rates" VALUES(1,20775,1,'holdout',386,3,1,1000000);
INSERT INTO "daily_rates" VALUES(1,20775,1,'learnt',39,1,0,0);
INSERT INTO "daily_rates" VALUES(1,20775,1,'learnt',234,2,2,2000000);
INSERT INTO "daily_rates" VALUES(1,20775,1,'learnt',237,1,0,0);
INSERT INTO "daily_rates" VALUES(1,20775,1,'learnt',256,1,0,0);
INSERT INTO "daily_rates" VALUES(1,20775,1,'learnt',333,4,2,2000000);
CREATE TABLE displays (  -- the log
        number INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT NOT NULL UNIQUE, nonce INTEGER NOT NULL,
        page INTEGER NOT NULL, layout TEXT NOT NULL, segment INTEGER NOT NULL, issued REAL NOT NULL,
        until REAL NOT NULL, drop_after REAL NOT NULL, variant TEXT NOT NULL, epoch INTEGER NOT NULL,
        counting INTEGER NOT NULL, entries TEXT NOT NULL
    , allocation INTEGER NOT NULL DEFAULT 0, bucket INTEGER NOT NULL DEFAULT 0);
INSERT INTO "displays" VALUES(1,'shop-0',5396614389034556700,1,'default',0,1.79503336152992033951e+09,1.79511976152992033957e+09,1.79642296152992033959e+09,'learnt',0,1,'[["hero",0,0,"learnt",1.0,null],["left",1,2,"learnt",1.0,null]]',1,333);
INSERT INTO "displays" VALUES(2,'shop-1',2047249604978110788,1,'default',0,1795033361.53356,1795119761.53356,1796422961.53356,'learnt',0,1,'[["hero",0,0,"learnt",1.0,null],["left",1,2,"learnt",1.0,null]]',1,234);
INSERT INTO "displays" VALUES(3,'shop-2',291845742897014318,1,'default',0,1.79503336153611707691e+09,1.79511976153611707684e+09,1.79642296153611707686e+09,'holdout',0,1,'[["hero",0,2,"random",1.0,0.3333333333333333],["left",1,0,"random",1.0,0.3333333333333333]]',1,386);
INSERT INTO "displays" VALUES(4,'shop-3',3136192334785485939,1,'default',0,1.79503336155917716026e+09,1.79511976155917716028e+09,1.7964229615591771603e+09,'learnt',0,1,'[["hero",0,1,"learnt",1.0,null],["left",1,2,"learnt",1.0,null]]',1,333);
INSERT INTO "displays" VALUES(5,'shop-4',8365375250139625172,1,'default',0,1.79503336156269669527e+09,1.79511976156269669529e+09,1.79642296156269669531e+09,'learnt',0,1,'[["hero",0,1,"learnt",1.0,null],["left",1,0,"learnt",1.0,null]]',1,234);
INSERT INTO "displays" VALUES(6,'shop-5',7981468887016124669,1,'default',0,1.79503336156596708292e+09,1.79511976156596708299e+09,1.796422961565967083e+09,'holdout',0,1,'[["hero",0,1,"random",1.0,0.3333333333333333],["left",1,0,"random",1.0,0.3333333333333333]]',1,386);
INSERT INTO "displays" VALUES(7,'shop-6',5839273115939141936,1,'default',0,1.79503336157113671306e+09,1.79511976157113671299e+09,1.79642296157113671301e+09,'learnt',0,1,'[["hero",0,0,"learnt",1.0,0.375],["left",1,1,"learnt",1.0,0.28125]]',1,333);
INSERT INTO "displays" VALUES(8,'shop-7',657776208584446701,1,'default',0,1.7950333615740315914e+09,1.79511976157403159142e+09,1.79642296157403159144e+09,'learnt',0,1,'[["hero",0,1,"learnt",1.0,0.328125],["left",1,0,"learnt",1.0,0.34375]]',1,234);
INSERT INTO "displays" VALUES(9,'shop-8',4636366792612666585,1,'default',0,1.79503336157582139972e+09,1.79511976157582139965e+09,1.79642296157582139967e+09,'holdout',0,1,'[["hero",0,0,"random",1.0,0.3333333333333333],["left",1,2,"random",1.0,0.3333333333333333]]',1,386);
INSERT INTO "displays" VALUES(10,'shop-9',3477034260295966978,1,'default',0,1.79503336157734179499e+09,1.79511976157734179501e+09,1.79642296157734179494e+09,'learnt',0,1,'[["hero",0,2,"learnt",1.0,0.421875],["left",1,1,"learnt",1.0,0.390625]]',1,333);
INSERT INTO "displays" VALUES(11,'shop-10',5292016582226063706,1,'default',0,1.7950333616063485145e+09,1.79511976160634851456e+09,1.79642296160634851458e+09,'holdout',0,1,'[["hero",0,1,"random",1.0,0.3333333333333333],["left",1,2,"random",1.0,0.3333333333333333]]',1,346);
INSERT INTO "displays" VALUES(12,'shop-11',6177551218929179175,1,'default',0,1.79503336160829639429e+09,1.79511976160829639435e+09,1.79642296160829639437e+09,'learnt',0,1,'[["hero",0,0,"learnt",1.0,null],["left",1,1,"learnt",1.0,null]]',1,39);
INSERT INTO "displays" VALUES(13,'shop-12',6581379335511184621,1,'default',0,1.79503336161218714716e+09,1.79511976161218714709e+09,1.79642296161218714711e+09,'learnt',0,1,'[["hero",0,0,"learnt",1.0,null],["left",1,2,"learnt",1.0,null]]',1,237);
INSERT INTO "displays" VALUES(14,'shop-13',7271456980086099712,1,'default',0,1.79503336161473798756e+09,1.79511976161473798749e+09,1.79642296161473798751e+09,'learnt',0,1,'[["hero",0,0,"learnt",1.0,null],["left",1,1,"learnt",1.0,null]]',1,256);
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
INSERT INTO "events" VALUES(1,1,0,1,1.79503336157920813558e+09);
INSERT INTO "events" VALUES(2,1,0,1,1.79503336157920813558e+09);
INSERT INTO "events" VALUES(2,1,1,1,1.7950333616163830757e+09);
INSERT INTO "events" VALUES(3,1,0,1,1.79503336157920813558e+09);
INSERT INTO "events" VALUES(3,2,-1,1,1.7950333616163830757e+09);
INSERT INTO "events" VALUES(4,1,0,1,1.79503336157920813558e+09);
INSERT INTO "events" VALUES(5,1,0,1,1.79503336157920813558e+09);
INSERT INTO "events" VALUES(8,2,-1,1,1.79503336157920813558e+09);
INSERT INTO "events" VALUES(9,1,1,1,1.7950333616163830757e+09);
INSERT INTO "events" VALUES(11,1,1,1,1.7950333616163830757e+09);
CREATE TABLE history (  -- changes of definitions; key is NULL in dev mode, before and after are JSON
        page INTEGER NOT NULL, number INTEGER NOT NULL, time REAL NOT NULL, key TEXT, name TEXT NOT NULL,
        action TEXT NOT NULL, subject TEXT NOT NULL, before TEXT NOT NULL, after TEXT NOT NULL,
        PRIMARY KEY (page, number)
    ) WITHOUT ROWID;
INSERT INTO "history" VALUES(1,1,1.79503336151596903803e+09,NULL,'dev','page','shop','null','{"positions":["hero","left"],"segments":["new"],"holdout":0.3,"half_life":86400.0,"pins":{}}');
INSERT INTO "history" VALUES(1,2,1.79503336152438044545e+09,NULL,'dev','items','3 items','{"hat":null,"tie":null,"bag":null}','{"hat":{},"tie":{},"bag":{}}');
INSERT INTO "history" VALUES(1,3,1.79503336159258866308e+09,NULL,'dev','state','shop','{"revision":1}','{"revision":2,"displays":25.0,"counts":1}');
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
INSERT INTO "meta" VALUES('secrets','[[1795033360.5545523,"YCFWAFb2VWP4S1PUnY0pm7k6xwb16G7dtmIxOh_lo9s"]]');
INSERT INTO "meta" VALUES('snapshot:1','-1');
INSERT INTO "meta" VALUES('snapshots','{"last":-1,"staged":[],"unused":[]}');
CREATE TABLE pages (
        page INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, version INTEGER NOT NULL, archived INTEGER NOT NULL,
        body TEXT NOT NULL, revision INTEGER NOT NULL DEFAULT 0,
        epoch INTEGER NOT NULL DEFAULT 0, epoch_began REAL NOT NULL DEFAULT 0,
        counted_from INTEGER NOT NULL DEFAULT 0,  -- displays with a lower number were issued before an import
        base_epoch INTEGER NOT NULL DEFAULT 0,  -- whose weights the snapshot is in
        base_displays REAL NOT NULL DEFAULT 0 CHECK (base_displays >= 0)
    , rates_from INTEGER NOT NULL DEFAULT 0, unit_secret BLOB NOT NULL DEFAULT x'', allocation INTEGER NOT NULL DEFAULT 1);
INSERT INTO "pages" VALUES(1,'shop',1,0,'{"spec":{"positions":["hero","left"],"segments":["new"],"holdout":0.3,"half_life":86400.0},"columns":[["default","hero"],["default","left"]],"segments":["","new"],"pins":{}}',3,0,1.79503336151596903803e+09,11,0,25.0,0,X'6E493447145AB1A4DAFC1A59C42145681E6B15F53867B84953B1B7D1F18C2013',1);
CREATE TABLE rates (
        page INTEGER NOT NULL, hour INTEGER NOT NULL, variant TEXT NOT NULL, displays INTEGER NOT NULL,
        shown INTEGER NOT NULL, clicks INTEGER NOT NULL, PRIMARY KEY (page, hour, variant)
    ) WITHOUT ROWID;
INSERT INTO "rates" VALUES(1,498620,'holdout',4,8,2);
INSERT INTO "rates" VALUES(1,498620,'learnt',9,18,4);
CREATE INDEX displays_by_drop ON displays (drop_after);
CREATE INDEX event_ids_by_display ON event_ids (display);
CREATE TRIGGER counts_below_zero AFTER UPDATE ON counts WHEN new.clicks < 0 OR new.skips < 0
        BEGIN SELECT RAISE (ABORT, 'a count fell below zero'); END;
CREATE INDEX pages_by_template ON pages (json_extract(body, '$.spec.template'));
DELETE FROM "sqlite_sequence";
INSERT INTO "sqlite_sequence" VALUES('displays',14);
COMMIT;
