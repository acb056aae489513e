/** One instance per data folder. The operating system holds the lock, so a kill -9 of its owner frees it at once. */
import { mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import Sqlite from 'better-sqlite3';

export type InstanceLock = { release(): void } | { heldByPid: number };

/** An owner writes its pid just after it has the lock. How long to wait for that, in milliseconds. */
const pidMs = 1_000;

/** Keeps held locks from the garbage collector, which would close their files and so free them. */
const held = new Set<Sqlite.Database>();

/**
 * Takes the lock that `file` stands for: an SQLite file in an exclusive transaction, which is a file lock on every platform.
 * @returns the lock, or the pid of who holds it (0 when it can't be told)
 */
export function acquireInstanceLock(file: string): InstanceLock {
  mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
  const pidFile = `${file}.pid`;
  const db = new Sqlite(file, { timeout: 0 });
  try {
    db.exec('BEGIN EXCLUSIVE');
  } catch (error) {
    db.close();
    if ((error as { code?: string }).code !== 'SQLITE_BUSY') throw error;
    return { heldByPid: readOwner(pidFile) };
  }
  held.add(db);
  const temporary = `${pidFile}.${process.pid}.tmp`;
  writeFileSync(temporary, String(process.pid));
  renameSync(temporary, pidFile);
  return {
    release: () => {
      held.delete(db);
      db.close();
    },
  };
}

/** The pid of a living owner; the last one written when none of it lives, as seen from another container. */
function readOwner(pidFile: string): number {
  const until = Date.now() + pidMs;
  for (;;) {
    const pid = readPid(pidFile);
    if (isAlive(pid) || Date.now() > until) return pid;
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 10);
  }
}

function readPid(pidFile: string): number {
  try {
    return Number(readFileSync(pidFile, 'utf8'));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
    return 0;
  }
}

function isAlive(pid: number): boolean {
  if (!Number.isSafeInteger(pid) || pid <= 0) return false;
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    // It lives and belongs to another user.
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}
