/** The append-only event log: audit trail and source of every live view. */
import { type FSWatcher, watch as watchFile } from 'node:fs';
import type { Party, RecordEvent } from '@taskbridge/contract';
import { type Database, databaseFile } from './database.ts';
import type { Events } from './types.ts';

/** How often to look for commits that the file system did not report, in milliseconds. */
const safetyCheckMs = 2_000;
/** A commit is written to the log, flushed, and only then can be read. So after each write we look again, with these pauses in milliseconds. */
const looksAfterWriteMs = [1, 2, 4, 8, 16, 32, 64, 128, 256];

export interface Entry {
  type: string;
  taskId: string | null;
  attemptId?: string | null;
  by: Party | 'system';
  actor: string;
  data?: Record<string, unknown>;
}

interface Row {
  seq: number;
  at: number;
  type: string;
  task_id: string | null;
  attempt_id: string | null;
  by: RecordEvent['by'];
  actor: string;
  data: string;
}

export interface EventLog extends Events {
  /** Appends within the caller's transaction. */
  append(entry: Entry, at: number): void;
  /** To be called after this process has committed. */
  committed(): void;
  close(): void;
}

export function createEventLog(db: Database, dir: string): EventLog {
  const insert = db.prepare('INSERT INTO events (at, type, task_id, attempt_id, by, actor, data) VALUES (?, ?, ?, ?, ?, ?, ?)');
  const since = db.prepare<[number, number], Row>('SELECT * FROM events WHERE seq > ? ORDER BY seq LIMIT ?');
  const ofTask = db.prepare<[string, number, number], Row>('SELECT * FROM events WHERE task_id = ? AND seq > ? ORDER BY seq LIMIT ?');
  const last = db.prepare<[], { seq: number | null }>('SELECT max(seq) AS seq FROM events');
  const view = (row: Row): RecordEvent => ({
    seq: row.seq,
    at: row.at,
    type: row.type,
    taskId: row.task_id,
    attemptId: row.attempt_id,
    by: row.by,
    actor: row.actor,
    data: JSON.parse(row.data) as Record<string, unknown>,
  });

  const listeners = new Set<() => void>();
  let watcher: FSWatcher | undefined;
  let timer: NodeJS.Timeout | undefined;
  let looking: NodeJS.Timeout | undefined;
  let scheduled = false;
  const notify = () => {
    if (scheduled) return;
    scheduled = true;
    setImmediate(() => {
      scheduled = false;
      for (const listener of [...listeners]) listener();
    });
  };
  const begin = () => {
    // Every commit of any process appends to the write-ahead log beside the database.
    const wal = `${databaseFile('')}-wal`;
    const version = () => Number(db.pragma('data_version', { simple: true }));
    let seen = version();
    const look = () => {
      const now = version();
      if (now !== seen) notify();
      seen = now;
    };
    const lookAgain = (turn: number) => {
      clearTimeout(looking);
      look();
      if (turn < looksAfterWriteMs.length) looking = setTimeout(lookAgain, looksAfterWriteMs[turn], turn + 1).unref();
    };
    try {
      watcher = watchFile(dir, { persistent: false }, (_kind, name) => {
        if (name !== null && name !== wal) return;
        notify();
        lookAgain(0);
      });
      watcher.on('error', () => watcher?.close());
    } catch (error) {
      // A host that has no watches left sees other processes' commits by the safety check alone: later, but all of them.
      if (!['ENOSPC', 'EMFILE', 'ENFILE'].includes((error as NodeJS.ErrnoException).code ?? '')) throw error;
    }
    timer = setInterval(look, safetyCheckMs);
    timer.unref();
  };
  const end = () => {
    watcher?.close();
    clearInterval(timer);
    clearTimeout(looking);
    watcher = undefined;
    timer = undefined;
  };

  return {
    append: (entry, at) => {
      insert.run(at, entry.type, entry.taskId, entry.attemptId ?? null, entry.by, entry.actor, JSON.stringify(entry.data ?? {}));
    },
    since: (after, limit) => since.all(after, limit).map(view),
    ofTask: (taskId, after, limit) => ofTask.all(taskId, after, limit).map(view),
    last: () => last.get()?.seq ?? 0,
    watch: (onChange) => {
      if (listeners.size === 0) begin();
      listeners.add(onChange);
      return () => {
        if (listeners.delete(onChange) && listeners.size === 0) end();
      };
    },
    committed: notify,
    close: () => {
      listeners.clear();
      end();
    },
  };
}
