-- The record: everything TaskBridge knows. Times are epoch milliseconds.

CREATE TABLE clients (
  id         TEXT PRIMARY KEY,
  name       TEXT NOT NULL UNIQUE,
  created_at INTEGER NOT NULL
) STRICT;

CREATE TABLE tokens (
  id           TEXT PRIMARY KEY,
  client_id    TEXT NOT NULL REFERENCES clients (id),
  hash         BLOB NOT NULL UNIQUE,            -- SHA-256; the token itself is never stored
  operator     INTEGER NOT NULL CHECK (operator IN (0, 1)),
  created_at   INTEGER NOT NULL,
  last_used_at INTEGER,
  revoked_at   INTEGER
) STRICT;

CREATE TABLE projects (
  id          TEXT PRIMARY KEY,
  name        TEXT NOT NULL,
  source      TEXT NOT NULL,
  kind        TEXT NOT NULL CHECK (kind IN ('path', 'url')),
  host        TEXT,
  base_branch TEXT NOT NULL,
  setup       TEXT,
  checks      TEXT NOT NULL,                    -- JSON array of commands
  created_at  INTEGER NOT NULL,
  removed_at  INTEGER                           -- kept: ended tasks refer to it
) STRICT;
CREATE UNIQUE INDEX projects_by_name ON projects (name) WHERE removed_at IS NULL;

CREATE TABLE tasks (
  n               INTEGER PRIMARY KEY AUTOINCREMENT, -- order of submission
  id              TEXT NOT NULL UNIQUE,
  client_id       TEXT NOT NULL REFERENCES clients (id),
  project_id      TEXT NOT NULL REFERENCES projects (id),
  title           TEXT NOT NULL,
  contract        TEXT NOT NULL,                -- JSON
  mode            TEXT NOT NULL,
  priority        INTEGER NOT NULL,
  branch          TEXT NOT NULL,
  state           TEXT NOT NULL CHECK (state IN ('held', 'ready', 'queued', 'running', 'waiting', 'blocked', 'done', 'failed', 'cancelled')),
  state_since     INTEGER NOT NULL,
  idempotency_key TEXT,
  input_hash      TEXT NOT NULL,
  attempts        INTEGER NOT NULL DEFAULT 0,
  cancelling_at   INTEGER,
  activity        TEXT,
  failure_reason  TEXT,
  failure_detail  TEXT,
  base_commit     TEXT,
  head_commit     TEXT,
  milestone       TEXT NOT NULL DEFAULT 'none',
  usage           TEXT NOT NULL,                -- JSON: ended attempts together
  submitted_at    INTEGER NOT NULL,
  ended_at        INTEGER
) STRICT;
CREATE UNIQUE INDEX tasks_by_key ON tasks (client_id, idempotency_key) WHERE idempotency_key IS NOT NULL;
CREATE INDEX tasks_by_state ON tasks (state, priority DESC, n);
CREATE INDEX tasks_by_client ON tasks (client_id, n);
CREATE INDEX tasks_by_project ON tasks (project_id, n);

CREATE TABLE task_tags (
  task_id TEXT NOT NULL REFERENCES tasks (id),
  tag     TEXT NOT NULL,
  PRIMARY KEY (tag, task_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX tags_by_task ON task_tags (task_id);

CREATE TABLE dependencies (
  task_id    TEXT NOT NULL REFERENCES tasks (id),
  depends_on TEXT NOT NULL REFERENCES tasks (id),
  position   INTEGER NOT NULL,
  PRIMARY KEY (task_id, depends_on)
) STRICT, WITHOUT ROWID;
CREATE INDEX dependents ON dependencies (depends_on);

CREATE TABLE blockers (
  task_id TEXT NOT NULL REFERENCES tasks (id),
  kind    TEXT NOT NULL CHECK (kind IN ('dependency', 'branch_lock', 'decision', 'budget', 'quota', 'not_before')),
  ref     TEXT NOT NULL,                        -- what it waits for: a task id for a dependency
  PRIMARY KEY (task_id, kind, ref)
) STRICT, WITHOUT ROWID;
CREATE INDEX blockers_by_ref ON blockers (kind, ref);

CREATE TABLE attempts (
  fence         INTEGER PRIMARY KEY AUTOINCREMENT, -- higher than any before it, for all tasks
  id            TEXT NOT NULL UNIQUE,
  task_id       TEXT NOT NULL REFERENCES tasks (id),
  number        INTEGER NOT NULL,
  state         TEXT NOT NULL CHECK (state IN ('queued', 'running', 'succeeded', 'failed', 'cancelled', 'returned')),
  queue         TEXT NOT NULL,
  worker_id     TEXT,
  host          TEXT,
  phase         TEXT,
  usage         TEXT,                           -- JSON: of the attempt so far
  dispatched_at INTEGER NOT NULL,
  started_at    INTEGER,
  ended_at      INTEGER,
  report        TEXT,                           -- JSON
  UNIQUE (task_id, number)
) STRICT;
CREATE UNIQUE INDEX one_open_attempt ON attempts (task_id) WHERE ended_at IS NULL;

CREATE TABLE events (
  seq        INTEGER PRIMARY KEY AUTOINCREMENT,
  at         INTEGER NOT NULL,
  type       TEXT NOT NULL,
  task_id    TEXT,
  attempt_id TEXT,
  by         TEXT NOT NULL,
  actor      TEXT NOT NULL,
  data       TEXT NOT NULL                      -- JSON
) STRICT;
CREATE INDEX events_by_task ON events (task_id, seq);
CREATE TRIGGER events_are_never_changed BEFORE UPDATE ON events BEGIN SELECT RAISE(ABORT, 'events are append-only'); END;
CREATE TRIGGER events_are_never_deleted BEFORE DELETE ON events BEGIN SELECT RAISE(ABORT, 'events are append-only'); END;

CREATE TABLE outbox (
  id         INTEGER PRIMARY KEY AUTOINCREMENT,
  kind       TEXT NOT NULL CHECK (kind IN ('enqueue', 'cancel')),
  queue      TEXT NOT NULL,
  attempt_id TEXT NOT NULL,
  job        TEXT                               -- JSON, for 'enqueue'
) STRICT;
CREATE INDEX outbox_by_attempt ON outbox (attempt_id);

CREATE TABLE artifacts (
  sha256 TEXT PRIMARY KEY,                      -- of the content before compression
  bytes  INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE attempt_artifacts (
  attempt_id TEXT NOT NULL REFERENCES attempts (id),
  name       TEXT NOT NULL,
  media_type TEXT NOT NULL,
  sha256     TEXT NOT NULL REFERENCES artifacts (sha256),
  truncated  INTEGER NOT NULL CHECK (truncated IN (0, 1)),
  PRIMARY KEY (attempt_id, name)
) STRICT, WITHOUT ROWID;

CREATE TABLE cursors (
  name  TEXT PRIMARY KEY,
  value TEXT NOT NULL
) STRICT, WITHOUT ROWID;
