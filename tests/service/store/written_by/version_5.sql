PRAGMA application_id = 1397509972;
PRAGMA user_version = 5;
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
INSERT INTO "displays" VALUES(1,'shop-0',2999122186876610942,1,'default',0,1.79501342838073682786e+09,1.79509982838073682779e+09,1.79640302838073682781e+09,'learnt',0,1,'[["hero",0,0,"learnt"],["left",1,2,"pinned"]]');
INSERT INTO "displays" VALUES(2,'shop-1',7420128238554074680,1,'default',1,1.79501342838857245445e+09,1.79509982838857245447e+09,1.7964030283885724544e+09,'learnt',0,1,'[["hero",0,0,"learnt"],["left",1,2,"pinned"]]');
INSERT INTO "displays" VALUES(3,'shop-2',4548190070812306207,1,'default',0,1.79501342840031933786e+09,1.7950998284003193378e+09,1.79640302840031933781e+09,'learnt',0,1,'[["hero",0,0,"learnt"],["left",1,2,"pinned"]]');
INSERT INTO "displays" VALUES(4,'shop-3',791550165926625546,1,'default',1,1.79501342840258431435e+09,1.79509982840258431428e+09,1.7964030284025843143e+09,'holdout',0,1,'[["hero",0,0,"random"],["left",1,2,"pinned"]]');
INSERT INTO "displays" VALUES(5,'shop-4',1809341649218881605,1,'default',0,1.79501342840968632691e+09,1.79509982840968632697e+09,1.79640302840968632699e+09,'learnt',0,1,'[["hero",0,0,"learnt"],["left",1,2,"pinned"]]');
INSERT INTO "displays" VALUES(6,'shop-5',3451297922670406388,1,'default',1,1.79501342841544556617e+09,1.79509982841544556619e+09,1.79640302841544556621e+09,'learnt',0,1,'[["hero",0,0,"learnt"],["left",1,2,"pinned"]]');
INSERT INTO "displays" VALUES(7,'shop-6',2767690544483493549,1,'default',0,1.79501342842083239561e+09,1.79509982842083239554e+09,1.79640302842083239556e+09,'learnt',0,1,'[["hero",0,0,"learnt"],["left",1,2,"pinned"]]');
INSERT INTO "displays" VALUES(8,'shop-7',4298973971625121557,1,'default',1,1.795013428431653738e+09,1.79509982843165373806e+09,1.79640302843165373808e+09,'learnt',0,1,'[["hero",0,0,"learnt"],["left",1,2,"pinned"]]');
INSERT INTO "displays" VALUES(9,'viewed-0',7048904413097283049,2,'default',0,1.7950134284335169792e+09,1.79509982843351697926e+09,1.79761262843351697919e+09,'learnt',0,2,'[["one",0,0,"learnt"]]');
INSERT INTO "displays" VALUES(10,'viewed-1',3504908088043187160,2,'default',0,1.7950134284549758434e+09,1.79509982845497584346e+09,1.79761262845497584339e+09,'learnt',0,2,'[["one",0,1,"learnt"]]');
INSERT INTO "displays" VALUES(11,'viewed-2',7238931116236613768,2,'default',0,1.79501342845959019657e+09,1.79509982845959019663e+09,1.79761262845959019656e+09,'learnt',0,2,'[["one",0,0,"learnt"]]');
INSERT INTO "displays" VALUES(12,'viewed-3',3009662256215695290,2,'default',0,1.79501342846414875986e+09,1.7950998284641487598e+09,1.79761262846414875985e+09,'learnt',0,2,'[["one",0,1,"learnt"]]');
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
INSERT INTO "events" VALUES(1,1,0,1,1.7950134289728279114e+09);
INSERT INTO "events" VALUES(2,1,0,1,1.7950134289728279114e+09);
INSERT INTO "events" VALUES(3,1,0,1,1.7950134289728279114e+09);
INSERT INTO "events" VALUES(8,2,-1,1,1.7950134289728279114e+09);
INSERT INTO "events" VALUES(9,0,-1,1,1.7950134289728279114e+09);
INSERT INTO "events" VALUES(10,1,0,1,1.7950134289728279114e+09);
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
INSERT INTO "meta" VALUES('secrets','[[1795013427.491566,"1Og8SFp-6kOWSJ143LmkSSC6CCYh9q_hV8p6P9xGByI"]]');
CREATE TABLE pages (
        page INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, version INTEGER NOT NULL, archived INTEGER NOT NULL,
        body TEXT NOT NULL, revision INTEGER NOT NULL DEFAULT 0,
        epoch INTEGER NOT NULL DEFAULT 0, epoch_began REAL NOT NULL DEFAULT 0,
        counted_from INTEGER NOT NULL DEFAULT 0,  -- displays with a lower number were issued before an import
        base_epoch INTEGER NOT NULL DEFAULT 0,  -- whose weights the snapshot is in
        base_displays REAL NOT NULL DEFAULT 0 CHECK (base_displays >= 0)
    );
INSERT INTO "pages" VALUES(1,'shop',2,0,'{"spec":{"positions":["hero","left"],"segments":["new"],"holdout":0.3,"half_life":86400.0},"columns":[["default","hero"],["default","left"]],"segments":["","new"],"pins":{"default":{"left":"bag"}}}',3,0,1.7950134281977539062e+09,1,0,25.0);
INSERT INTO "pages" VALUES(2,'viewed',1,0,'{"spec":{"positions":["one"],"count":"viewed"},"columns":[["default","one"]],"segments":[""],"pins":{}}',1,0,1.79501342831654548638e+09,0,0,0.0);
CREATE TABLE rates (
        page INTEGER NOT NULL, hour INTEGER NOT NULL, variant TEXT NOT NULL, displays INTEGER NOT NULL,
        shown INTEGER NOT NULL, clicks INTEGER NOT NULL, PRIMARY KEY (page, hour, variant)
    ) WITHOUT ROWID;
INSERT INTO "rates" VALUES(1,498614,'holdout',1,2,0);
INSERT INTO "rates" VALUES(1,498614,'learnt',6,12,3);
INSERT INTO "rates" VALUES(2,498614,'learnt',2,2,1);
CREATE INDEX displays_by_drop ON displays (drop_after);
CREATE INDEX event_ids_by_display ON event_ids (display);
CREATE TRIGGER counts_below_zero AFTER UPDATE ON counts WHEN new.clicks < 0 OR new.skips < 0
        BEGIN SELECT RAISE (ABORT, 'a count fell below zero'); END;
CREATE INDEX pages_by_template ON pages (json_extract(body, '$.spec.template'));
DELETE FROM "sqlite_sequence";
INSERT INTO "sqlite_sequence" VALUES('displays',12);
COMMIT;
