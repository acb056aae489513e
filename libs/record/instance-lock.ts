/** One instance per data folder. The operating system holds the lock, so a kill -9 of its owner frees it at once. */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import Sqlite from 'better-sqlite3';

export type InstanceLock = { release(): void } | { heldByPid: number };

/**
 * Takes the lock that `file` stands for: an SQLite file in an exclusive transaction, which is a file lock on every platform.
 * @returns the lock, or the pid of who holds it
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
    return { heldByPid: Number(readFileSync(pidFile, 'utf8')) };
  }
  writeFileSync(pidFile, String(process.pid));
  return { release: () => void db.close() };
}
