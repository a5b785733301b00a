-- Times are milliseconds since 1970-01-01 UTC. Text compares bytewise.

-- One row: the store's clock and the last number that was given for each sort of id.
CREATE TABLE meta (
    only_row  INTEGER PRIMARY KEY CHECK (only_row = 1),
    clock_at  INTEGER NOT NULL,
    life      INTEGER NOT NULL,
    job       INTEGER NOT NULL,
    message   INTEGER NOT NULL,
    dead      INTEGER NOT NULL
) STRICT;
INSERT INTO meta (only_row, clock_at, life, job, message, dead) VALUES (1, 0, 0, 0, 0, 0);

-- `by` is the life of the engine that committed the version.
CREATE TABLE objects (
    incarnation  INTEGER PRIMARY KEY,
    kind         TEXT NOT NULL,
    name         TEXT NOT NULL,
    version      INTEGER NOT NULL CHECK (version >= 1),
    by           INTEGER NOT NULL,
    log_head     INTEGER NOT NULL CHECK (log_head >= 0),
    created_at   INTEGER NOT NULL,
    turn_at      INTEGER NOT NULL
) STRICT;
CREATE UNIQUE INDEX objects_by_name ON objects (kind, name);

-- Lives that are over and whose rows and log still wait to be swept.
CREATE TABLE deleted_objects (
    incarnation  INTEGER PRIMARY KEY,
    kind         TEXT NOT NULL,
    name         TEXT NOT NULL,
    deleted_at   INTEGER NOT NULL
) STRICT;

CREATE TABLE "rows" (
    incarnation  INTEGER NOT NULL,
    key          TEXT NOT NULL,
    schema       INTEGER NOT NULL,
    value        TEXT NOT NULL,
    PRIMARY KEY (incarnation, key)
) STRICT, WITHOUT ROWID;

CREATE TABLE log (
    incarnation  INTEGER NOT NULL,
    seq          INTEGER NOT NULL CHECK (seq >= 1),
    at           INTEGER NOT NULL,
    value        TEXT NOT NULL,
    PRIMARY KEY (incarnation, seq)
) STRICT, WITHOUT ROWID;

CREATE TABLE alarms (
    incarnation  INTEGER NOT NULL,
    name         TEXT NOT NULL,
    at           INTEGER NOT NULL,
    due_at       INTEGER NOT NULL,
    set_version  INTEGER NOT NULL,
    failures     INTEGER NOT NULL DEFAULT 0,
    crashes      INTEGER NOT NULL DEFAULT 0,
    error        TEXT,
    PRIMARY KEY (incarnation, name)
) STRICT, WITHOUT ROWID;
CREATE INDEX alarms_by_due ON alarms (due_at, incarnation, name);

-- Who follows whose log. `behind` is 1 while the source's head is past `cursor`.
CREATE TABLE follows (
    incarnation  INTEGER NOT NULL,
    source_kind  TEXT NOT NULL,
    source_name  TEXT NOT NULL,
    kind         TEXT NOT NULL,
    name         TEXT NOT NULL,
    cursor       INTEGER NOT NULL CHECK (cursor >= 0),
    behind       INTEGER NOT NULL CHECK (behind = 0 OR behind = 1),
    stalled      INTEGER NOT NULL DEFAULT 0 CHECK (stalled = 0 OR stalled = 1),
    due_at       INTEGER,
    failures     INTEGER NOT NULL DEFAULT 0,
    crashes      INTEGER NOT NULL DEFAULT 0,
    error        TEXT,
    PRIMARY KEY (incarnation, source_kind, source_name)
) STRICT, WITHOUT ROWID;
CREATE INDEX follows_by_source ON follows (source_kind, source_name);
CREATE INDEX follows_behind ON follows (kind, name) WHERE behind = 1 AND stalled = 0;
CREATE INDEX follows_put_off ON follows (due_at) WHERE due_at IS NOT NULL;

-- `due_at` is set while a message is put off after a failed turn.
CREATE TABLE messages (
    id                INTEGER PRIMARY KEY,
    to_kind           TEXT NOT NULL,
    to_name           TEXT NOT NULL,
    to_incarnation    INTEGER,
    from_kind         TEXT,
    from_name         TEXT,
    from_incarnation  INTEGER,
    sort              TEXT NOT NULL CHECK (sort = 'sent' OR sort = 'outcome'),
    body              TEXT NOT NULL,
    sent_at           INTEGER NOT NULL,
    due_at            INTEGER,
    failures          INTEGER NOT NULL DEFAULT 0,
    crashes           INTEGER NOT NULL DEFAULT 0,
    error             TEXT,
    CHECK ((from_kind IS NULL) = (from_name IS NULL) AND (from_kind IS NULL) = (from_incarnation IS NULL)),
    CHECK (sort = 'sent' OR (from_kind IS NULL AND to_incarnation IS NOT NULL))
) STRICT;
CREATE INDEX messages_in_order ON messages (to_kind, to_name, id) WHERE due_at IS NULL;
CREATE INDEX messages_put_off ON messages (due_at, id) WHERE due_at IS NOT NULL;
CREATE INDEX messages_bound ON messages (to_incarnation) WHERE to_incarnation IS NOT NULL;

CREATE TABLE dead_letters (
    id                INTEGER PRIMARY KEY,
    kind              TEXT NOT NULL,
    name              TEXT NOT NULL,
    incarnation       INTEGER,
    event             TEXT NOT NULL,
    from_kind         TEXT,
    from_name         TEXT,
    from_incarnation  INTEGER,
    body              TEXT,
    alarm             TEXT,
    alarm_at          INTEGER,
    source_kind       TEXT,
    source_name       TEXT,
    error             TEXT NOT NULL,
    failures          INTEGER NOT NULL,
    crashes           INTEGER NOT NULL,
    died_at           INTEGER NOT NULL,
    CHECK (CASE event
        WHEN 'message' THEN body IS NOT NULL
        WHEN 'outcome' THEN body IS NOT NULL AND incarnation IS NOT NULL
        WHEN 'alarm'   THEN alarm IS NOT NULL AND alarm_at IS NOT NULL AND incarnation IS NOT NULL
        WHEN 'entries' THEN source_kind IS NOT NULL AND source_name IS NOT NULL AND incarnation IS NOT NULL
        ELSE 0 END)
) STRICT;

CREATE TABLE tickets (
    ticket       TEXT PRIMARY KEY,
    incarnation  INTEGER NOT NULL,
    resolution   TEXT,
    opened_at    INTEGER NOT NULL,
    resolved_at  INTEGER,
    CHECK ((resolution IS NULL) = (resolved_at IS NULL))
) STRICT, WITHOUT ROWID;
CREATE INDEX tickets_open ON tickets (incarnation) WHERE resolved_at IS NULL;
CREATE INDEX tickets_resolved ON tickets (resolved_at) WHERE resolved_at IS NOT NULL;

-- What a call with an idempotency key was answered: `reply`, or `ticket` if the answer comes later.
CREATE TABLE replies (
    kind     TEXT NOT NULL,
    name     TEXT NOT NULL,
    key      TEXT NOT NULL,
    request  TEXT NOT NULL,
    reply    TEXT,
    ticket   TEXT,
    kept_at  INTEGER NOT NULL,
    PRIMARY KEY (kind, name, key),
    CHECK ((reply IS NULL) <> (ticket IS NULL))
) STRICT, WITHOUT ROWID;
CREATE INDEX replies_by_age ON replies (kept_at);

-- Policies and, by state, how many jobs there are.
CREATE TABLE queues (
    queue      TEXT PRIMARY KEY,
    policy     TEXT NOT NULL,
    scheduled  INTEGER NOT NULL DEFAULT 0 CHECK (scheduled >= 0),
    ready      INTEGER NOT NULL DEFAULT 0 CHECK (ready >= 0),
    running    INTEGER NOT NULL DEFAULT 0 CHECK (running >= 0),
    done       INTEGER NOT NULL DEFAULT 0 CHECK (done >= 0),
    skipped    INTEGER NOT NULL DEFAULT 0 CHECK (skipped >= 0),
    failed     INTEGER NOT NULL DEFAULT 0 CHECK (failed >= 0),
    cancelled  INTEGER NOT NULL DEFAULT 0 CHECK (cancelled >= 0)
) STRICT, WITHOUT ROWID;

-- `parked_on` is the limit key that blocks a ready job: a claim does not see it. `token` outlives its lease if the
-- attempt was ended by whoever held it. `key_scope` is set as long as `unique_key` keeps others out.
CREATE TABLE jobs (
    id                 INTEGER PRIMARY KEY,
    queue              TEXT NOT NULL,
    kind               TEXT NOT NULL,
    state              TEXT NOT NULL,
    priority           INTEGER NOT NULL,
    run_at             INTEGER NOT NULL,
    parked_on          TEXT,
    attempt            INTEGER NOT NULL DEFAULT 0,
    failures           INTEGER NOT NULL DEFAULT 0,
    restarts           INTEGER NOT NULL DEFAULT 0,
    cancel_asked       INTEGER NOT NULL DEFAULT 0,
    worker             TEXT,
    life               INTEGER,
    token              TEXT,
    started_at         INTEGER,
    lease_expires_at   INTEGER,
    created_at         INTEGER NOT NULL,
    updated_at         INTEGER NOT NULL,
    finished_at        INTEGER,
    max_attempts       INTEGER NOT NULL,
    backoff_base_ms    INTEGER NOT NULL,
    backoff_cap_ms     INTEGER NOT NULL,
    unique_key         TEXT,
    key_scope          TEXT,
    limit_keys         TEXT,
    owner_kind         TEXT,
    owner_name         TEXT,
    owner_incarnation  INTEGER,
    progress           TEXT,
    result             TEXT,
    reason             TEXT,
    CHECK (CASE state
        WHEN 'ready'     THEN finished_at IS NULL AND lease_expires_at IS NULL AND cancel_asked = 0
        WHEN 'running'   THEN finished_at IS NULL AND lease_expires_at IS NOT NULL AND parked_on IS NULL
        WHEN 'done'      THEN finished_at IS NOT NULL AND lease_expires_at IS NULL AND parked_on IS NULL
                              AND result IS NOT NULL AND reason IS NULL
        WHEN 'scheduled' THEN finished_at IS NULL AND lease_expires_at IS NULL AND parked_on IS NULL
                              AND cancel_asked = 0
        WHEN 'skipped'   THEN finished_at IS NOT NULL AND lease_expires_at IS NULL AND parked_on IS NULL
                              AND result IS NULL AND reason IS NOT NULL
        WHEN 'failed'    THEN finished_at IS NOT NULL AND lease_expires_at IS NULL AND parked_on IS NULL
                              AND result IS NULL AND reason IS NOT NULL
        WHEN 'cancelled' THEN finished_at IS NOT NULL AND lease_expires_at IS NULL AND parked_on IS NULL
                              AND result IS NULL AND reason IS NOT NULL
        ELSE 0 END),
    CHECK ((lease_expires_at IS NULL) = (worker IS NULL) AND (lease_expires_at IS NULL) = (started_at IS NULL)),
    CHECK ((owner_kind IS NULL) = (owner_incarnation IS NULL) AND (owner_kind IS NULL) = (owner_name IS NULL))
) STRICT;
-- What a claim sees, best first.
CREATE INDEX jobs_offered ON jobs (queue, kind, priority DESC, run_at, id)
    WHERE state = 'ready' AND parked_on IS NULL;
-- What waits under a limit key, lane by lane, best first.
CREATE INDEX jobs_parked ON jobs (parked_on, queue, kind, priority DESC, run_at, id) WHERE parked_on IS NOT NULL;
CREATE INDEX jobs_scheduled ON jobs (queue, kind, run_at, id) WHERE state = 'scheduled';
CREATE INDEX jobs_leased ON jobs (lease_expires_at, id) WHERE lease_expires_at IS NOT NULL;
-- What is over, by when it may be pruned.
CREATE INDEX jobs_over ON jobs (queue, state, finished_at, id) WHERE finished_at IS NOT NULL;
CREATE INDEX jobs_keyed ON jobs (queue, finished_at, id) WHERE finished_at IS NOT NULL AND key_scope IS NOT NULL;
CREATE INDEX jobs_by_owner ON jobs (owner_kind, owner_name, id) WHERE owner_kind IS NOT NULL;
CREATE INDEX jobs_unfinished_by_owner ON jobs (owner_incarnation, id)
    WHERE owner_incarnation IS NOT NULL AND finished_at IS NULL;

-- Written once, so that a job's moves do not rewrite what it carries.
CREATE TABLE job_payloads (
    job      INTEGER PRIMARY KEY,
    payload  TEXT NOT NULL,
    trace    TEXT
) STRICT;

CREATE TABLE job_attempts (
    job         INTEGER NOT NULL,
    attempt     INTEGER NOT NULL,
    worker      TEXT NOT NULL,
    started_at  INTEGER NOT NULL,
    ended_at    INTEGER NOT NULL,
    end         TEXT NOT NULL CHECK (CASE end WHEN 'done' THEN 1 WHEN 'skipped' THEN 1 WHEN 'error' THEN 1
                                     WHEN 'expired' THEN 1 WHEN 'handed_back' THEN 1 WHEN 'restarted' THEN 1
                                     ELSE 0 END),
    reason      TEXT,
    PRIMARY KEY (job, attempt)
) STRICT, WITHOUT ROWID;

-- `scope` is `queue:NAME` or `owner:INCARNATION`. A key outlives its job: `ended_at` is when a pruned job had ended.
CREATE TABLE unique_keys (
    scope     TEXT NOT NULL,
    key       TEXT NOT NULL,
    job       INTEGER NOT NULL,
    queue     TEXT NOT NULL,
    ended_at  INTEGER,
    PRIMARY KEY (scope, key)
) STRICT, WITHOUT ROWID;
CREATE INDEX unique_keys_ended ON unique_keys (queue, ended_at) WHERE ended_at IS NOT NULL;

-- What keys (`host:example.org`) and classes (`host:*`) allow.
CREATE TABLE limit_policies (
    key     TEXT PRIMARY KEY,
    policy  TEXT NOT NULL
) STRICT, WITHOUT ROWID;

-- What a key has used and who waits for it. `wake_at` is when time alone opens a key under which jobs are parked,
-- `rested_at` when nothing of it needs to be remembered any more.
CREATE TABLE limits (
    key             TEXT PRIMARY KEY,
    in_use          INTEGER NOT NULL,
    waiting         INTEGER NOT NULL,
    buckets         TEXT NOT NULL,
    lanes           TEXT NOT NULL,
    cooldown_until  INTEGER,
    wake_at         INTEGER,
    rested_at       INTEGER
) STRICT, WITHOUT ROWID;
CREATE INDEX limits_waking ON limits (wake_at, key) WHERE wake_at IS NOT NULL;
CREATE INDEX limits_resting ON limits (rested_at) WHERE rested_at IS NOT NULL;

CREATE TABLE workers (
    worker   TEXT PRIMARY KEY,
    life     INTEGER,
    queues   TEXT NOT NULL,
    kinds    TEXT NOT NULL,
    seen_at  INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
