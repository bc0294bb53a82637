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
CREATE TABLE base_rates (  -- the snapshot, too: the part of the rates that does not follow from the log
        page INTEGER NOT NULL, hour INTEGER NOT NULL, variant TEXT NOT NULL, displays INTEGER NOT NULL,
        shown INTEGER NOT NULL, clicks INTEGER NOT NULL, PRIMARY KEY (page, hour, variant)
    ) WITHOUT ROWID;
CREATE TABLE checksums (name TEXT PRIMARY KEY, sum INTEGER NOT NULL) WITHOUT ROWID;
INSERT INTO "checksums" VALUES('base',852168862037250500);
INSERT INTO "checksums" VALUES('base_daily_rates',0);
INSERT INTO "checksums" VALUES('base_rates',0);
INSERT INTO "checksums" VALUES('displays',526019870009595974);
INSERT INTO "checksums" VALUES('event_ids',1736754825772627062);
INSERT INTO "checksums" VALUES('events',121907916970585191);
INSERT INTO "checksums" VALUES('history',1290513252042972294);
INSERT INTO "checksums" VALUES('items',2073551743928600238);
INSERT INTO "checksums" VALUES('keys',0);
INSERT INTO "checksums" VALUES('last_number',490015944490960399);
INSERT INTO "checksums" VALUES('meta',89662594076885709);
INSERT INTO "checksums" VALUES('pages',959107755375834958);
INSERT INTO "checksums" VALUES('revisions',1513612089010555788);
CREATE TABLE counts (  -- the fold of the log, kept up to date by every group
        page INTEGER NOT NULL, epoch INTEGER NOT NULL, item INTEGER NOT NULL, segment INTEGER NOT NULL,
        "column" INTEGER NOT NULL, clicks INTEGER NOT NULL, skips INTEGER NOT NULL,
        PRIMARY KEY (page, epoch, item, segment, "column")
    ) WITHOUT ROWID;
INSERT INTO "counts" VALUES(1,0,0,0,0,1,1);
INSERT INTO "counts" VALUES(1,0,0,1,0,1,2);
INSERT INTO "counts" VALUES(1,0,1,0,0,1,1);
INSERT INTO "counts" VALUES(1,0,2,0,1,0,4);
INSERT INTO "counts" VALUES(1,0,2,1,1,0,3);
INSERT INTO "counts" VALUES(2,0,0,0,0,0,1);
INSERT INTO "counts" VALUES(2,0,1,0,0,1,0);
CREATE TABLE daily_rates (  -- value is in millionths, because sums of integers are exact
        page INTEGER NOT NULL, day INTEGER NOT NULL, allocation INTEGER NOT NULL, variant TEXT NOT NULL,
        bucket INTEGER NOT NULL, displays INTEGER NOT NULL, clicks INTEGER NOT NULL, value INTEGER NOT NULL,
        PRIMARY KEY (page, day, allocation, variant, bucket)
    ) WITHOUT ROWID;
INSERT INTO "daily_rates" VALUES(1,20775,1,'holdout',153,1,0,0);
INSERT INTO "daily_rates" VALUES(1,20775,1,'holdout',190,1,0,0);
INSERT INTO "daily_rates" VALUES(1,20775,1,'holdout',428,1,0,0);
INSERT INTO "daily_rates" VALUES(1,20775,1,'learnt',6,1,1,1000000);
INSERT INTO "daily_rates" VALUES(1,20775,1,'learnt',73,1,0,0);
INSERT INTO "daily_rates" VALUES(1,20775,1,'learnt',304,1,1,1000000);
INSERT INTO "daily_rates" VALUES(1,20775,1,'learnt',372,1,1,1000000);
INSERT INTO "daily_rates" VALUES(2,20775,1,'learnt',69,1,0,0);
INSERT INTO "daily_rates" VALUES(2,20775,1,'learnt',468,1,1,1000000);
CREATE TABLE displays (  -- the log
        number INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT NOT NULL UNIQUE, nonce INTEGER NOT NULL,
        page INTEGER NOT NULL, layout TEXT NOT NULL, segment INTEGER NOT NULL, issued REAL NOT NULL,
        until REAL NOT NULL, drop_after REAL NOT NULL, variant TEXT NOT NULL, epoch INTEGER NOT NULL,
        counting INTEGER NOT NULL, entries TEXT NOT NULL
    , allocation INTEGER NOT NULL DEFAULT 0, bucket INTEGER NOT NULL DEFAULT 0);
INSERT INTO "displays" VALUES(1,'shop-0',6517648158415404404,1,'default',0,1.79503335814524817471e+09,1.79511975814524817464e+09,1.79642295814524817466e+09,'learnt',0,1,'[["hero",0,0,"learnt",1.0,null],["left",1,2,"pinned",1.0,null]]',1,372);
INSERT INTO "displays" VALUES(2,'shop-1',2538017503251426310,1,'default',1,1.79503335815513896936e+09,1.79511975815513896942e+09,1.79642295815513896944e+09,'learnt',0,1,'[["hero",0,0,"learnt",1.0,null],["left",1,2,"pinned",1.0,null]]',1,6);
INSERT INTO "displays" VALUES(3,'shop-2',3306650095191004464,1,'default',0,1.79503335816050076483e+09,1.79511975816050076484e+09,1.79642295816050076486e+09,'learnt',0,1,'[["hero",0,1,"learnt",1.0,0.265625],["left",1,2,"pinned",1.0,1.0]]',1,304);
INSERT INTO "displays" VALUES(4,'shop-3',8773024078761252268,1,'default',1,1795033358.16632,1795119758.16632,1796422958.16632,'holdout',0,1,'[["hero",0,0,"random",1.0,0.5],["left",1,2,"pinned",1.0,1.0]]',1,428);
INSERT INTO "displays" VALUES(5,'shop-4',3907062399939443390,1,'default',0,1.79503335818539690974e+09,1.79511975818539690967e+09,1.79642295818539690969e+09,'holdout',0,1,'[["hero",0,1,"random",1.0,0.5],["left",1,2,"pinned",1.0,1.0]]',1,190);
INSERT INTO "displays" VALUES(6,'shop-5',8065635250378617417,1,'default',1,1.79503335819006562233e+09,1.79511975819006562235e+09,1.79642295819006562237e+09,'learnt',0,1,'[["hero",0,0,"learnt",1.0,0.515625],["left",1,2,"pinned",1.0,1.0]]',1,73);
INSERT INTO "displays" VALUES(7,'shop-6',338327646334239385,1,'default',0,1.79503335819297957414e+09,1.7951197581929795742e+09,1.79642295819297957422e+09,'holdout',0,1,'[["hero",0,0,"random",1.0,0.5],["left",1,2,"pinned",1.0,1.0]]',1,153);
INSERT INTO "displays" VALUES(8,'shop-7',3958026979714394659,1,'default',1,1.79503335819690847401e+09,1.79511975819690847394e+09,1.79642295819690847396e+09,'holdout',0,1,'[["hero",0,0,"random",1.0,0.5],["left",1,2,"pinned",1.0,1.0]]',1,35);
INSERT INTO "displays" VALUES(9,'viewed-0',4242651409555825733,2,'default',0,1.79503335819928097724e+09,1.79511975819928097731e+09,1.79763255819928097723e+09,'learnt',0,2,'[["one",0,0,"learnt",1.0,null]]',1,69);
INSERT INTO "displays" VALUES(10,'viewed-1',875002232240604628,2,'default',0,1.79503335820646739004e+09,1.7951197582064673901e+09,1.79763255820646739003e+09,'learnt',0,2,'[["one",0,1,"learnt",1.0,null]]',1,468);
INSERT INTO "displays" VALUES(11,'viewed-2',3329786333042823854,2,'default',0,1.79503335820935320849e+09,1.79511975820935320855e+09,1.79763255820935320856e+09,'learnt',0,2,'[["one",0,0,"learnt",1.0,null]]',1,174);
INSERT INTO "displays" VALUES(12,'viewed-3',7625133902275184303,2,'default',0,1.79503335821247792239e+09,1.79511975821247792245e+09,1.79763255821247792251e+09,'learnt',0,2,'[["one",0,1,"learnt",1.0,null]]',1,175);
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
INSERT INTO "events" VALUES(1,1,0,1,1.79503335821456646917e+09);
INSERT INTO "events" VALUES(2,1,0,1,1.79503335821456646917e+09);
INSERT INTO "events" VALUES(3,1,0,1,1.79503335821456646917e+09);
INSERT INTO "events" VALUES(8,2,-1,1,1.79503335821456646917e+09);
INSERT INTO "events" VALUES(9,0,-1,1,1.79503335821456646917e+09);
INSERT INTO "events" VALUES(10,1,0,1,1.79503335821456646917e+09);
CREATE TABLE history (  -- changes of definitions; key is NULL in dev mode, before and after are JSON
        page INTEGER NOT NULL, number INTEGER NOT NULL, time REAL NOT NULL, key TEXT, name TEXT NOT NULL,
        action TEXT NOT NULL, subject TEXT NOT NULL, before TEXT NOT NULL, after TEXT NOT NULL,
        PRIMARY KEY (page, number)
    ) WITHOUT ROWID;
INSERT INTO "history" VALUES(1,1,1.79503335808558321003e+09,NULL,'dev','page','shop','null','{"positions":["hero","left"],"segments":["new"],"holdout":0.3,"half_life":86400.0,"pins":{}}');
INSERT INTO "history" VALUES(1,2,1.7950333580962769985e+09,NULL,'dev','items','3 items','{"hat":null,"tie":null,"bag":null}','{"hat":{},"tie":{},"bag":{}}');
INSERT INTO "history" VALUES(1,3,1.79503335810135030746e+09,NULL,'dev','item','tie','{"prior":null}','{"prior":{"clicks":3.0,"views":100.0}}');
INSERT INTO "history" VALUES(1,4,1.79503335810475897786e+09,NULL,'dev','page','shop','{"pins":{}}','{"pins":{"default":{"left":"bag"}}}');
INSERT INTO "history" VALUES(1,5,1.79503335811861395839e+09,NULL,'dev','state','shop','{"revision":0}','{"revision":1,"displays":25.0,"counts":1}');
INSERT INTO "history" VALUES(2,1,1.7950333581283061504e+09,NULL,'dev','page','viewed','null','{"positions":["one"],"count":"viewed","pins":{}}');
INSERT INTO "history" VALUES(2,2,1.79503335813687491416e+09,NULL,'dev','items','2 items','{"a":null,"b":null}','{"a":{},"b":{}}');
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
INSERT INTO "meta" VALUES('secrets','[[1795033356.9594326,"btVY1SoHRYuOPLcP3vieDneXIU-KhnmUclls3pv6rgc"]]');
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
INSERT INTO "pages" VALUES(1,'shop',2,0,'{"spec":{"positions":["hero","left"],"segments":["new"],"holdout":0.3,"half_life":86400.0},"columns":[["default","hero"],["default","left"]],"segments":["","new"],"pins":{"default":{"left":"bag"}}}',2,0,1.79503335808558321003e+09,1,0,25.0,0,X'CCFB5B7CAE78A9174D8727910B1B76115A13C528567BBA1DE4FF0C4DC3B09FCC',1);
INSERT INTO "pages" VALUES(2,'viewed',1,0,'{"spec":{"positions":["one"],"count":"viewed"},"columns":[["default","one"]],"segments":[""],"pins":{}}',1,0,1.7950333581283061504e+09,0,0,0.0,0,X'7DE9E29B200E82F72458CCD874D15D13B406DCD2F5B691D88D42E61E0C6505DF',1);
CREATE TABLE rates (
        page INTEGER NOT NULL, hour INTEGER NOT NULL, variant TEXT NOT NULL, displays INTEGER NOT NULL,
        shown INTEGER NOT NULL, clicks INTEGER NOT NULL, PRIMARY KEY (page, hour, variant)
    ) WITHOUT ROWID;
INSERT INTO "rates" VALUES(1,498620,'holdout',3,6,0);
INSERT INTO "rates" VALUES(1,498620,'learnt',4,8,3);
INSERT INTO "rates" VALUES(2,498620,'learnt',2,2,1);
CREATE INDEX displays_by_drop ON displays (drop_after);
CREATE INDEX event_ids_by_display ON event_ids (display);
CREATE TRIGGER counts_below_zero AFTER UPDATE ON counts WHEN new.clicks < 0 OR new.skips < 0
        BEGIN SELECT RAISE (ABORT, 'a count fell below zero'); END;
CREATE INDEX pages_by_template ON pages (json_extract(body, '$.spec.template'));
DELETE FROM "sqlite_sequence";
INSERT INTO "sqlite_sequence" VALUES('displays',12);
COMMIT;
