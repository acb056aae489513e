/**
 * One at a time per repository, across processes and containers that share the folder: git's own worktree and config writes race each other.
 * The operating system holds the lock (an SQLite file in an exclusive transaction), so it is free the moment its holder dies, by whatever signal.
 */
import { mkdirSync } from 'node:fs';
import { dirname } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { setTimeout as delay } from 'node:timers/promises';

/** How often a waiter looks again, in milliseconds, with jitter so that waiters do not march in step. */
const retryMs = 15;

/** SQLite's code for a lock that another one holds. */
const busy = 5;

const inProcess = new Map<string, Promise<unknown>>();

/**
 * Runs `work` while holding the lock that `file` stands for. Waiters of one process queue in order and without polling.
 * An abort ends the wait at once; work that has begun is left to see the signal itself.
 */
export async function withRepositoryLock<T>(file: string, signal: AbortSignal | undefined, work: () => Promise<T>): Promise<T> {
  const before = inProcess.get(file) ?? Promise.resolve();
  const waited = Promise.withResolvers<void>();
  const giveUp = () => waited.reject(signal?.reason);
  signal?.addEventListener('abort', giveUp, { once: true });
  const mine = before.then(() => {
    signal?.throwIfAborted();
    return locked(file, signal, () => {
      waited.resolve();
      return work();
    });
  });
  const settled = mine.then(
    () => undefined,
    () => undefined,
  );
  inProcess.set(file, settled);
  try {
    await Promise.race([waited.promise, mine]);
    return await mine;
  } finally {
    signal?.removeEventListener('abort', giveUp);
    void settled.then(() => inProcess.get(file) === settled && inProcess.delete(file));
  }
}

async function locked<T>(file: string, signal: AbortSignal | undefined, work: () => Promise<T>): Promise<T> {
  mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
  const lock = new DatabaseSync(file, { timeout: 0 });
  try {
    while (!tryBegin(lock)) {
      signal?.throwIfAborted();
      await delay(retryMs + Math.random() * retryMs);
    }
    return await work();
  } finally {
    lock.close();
  }
}

function tryBegin(lock: DatabaseSync): boolean {
  try {
    lock.exec('BEGIN EXCLUSIVE');
    return true;
  } catch (error) {
    if ((error as { errcode?: number }).errcode === busy) return false;
    throw error;
  }
}
