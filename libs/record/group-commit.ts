/** Work that arrives in the same turn of the event loop shares one transaction, and so one sync of the disk. */
import type { Database } from './database.ts';

export interface GroupCommit {
  /** Runs `work` in a savepoint of the shared transaction; resolves after the commit. A refusal (throw) undoes this work alone. */
  run<T>(work: () => T): Promise<T>;
}

interface Waiting {
  work: () => unknown;
  resolve: (value: never) => void;
  reject: (error: unknown) => void;
}

export function createGroupCommit(db: Database, committed: () => void): GroupCommit {
  let waiting: Waiting[] = [];
  const flush = () => {
    const group = waiting;
    waiting = [];
    const savepoint = db.transaction((work: () => unknown) => work());
    const together = db.transaction(() =>
      group.map(({ work }) => {
        try {
          return { value: savepoint(work) };
        } catch (error) {
          // A failed disk or a full one has ended the whole transaction, not just this work.
          if (!db.inTransaction) throw error;
          return { error };
        }
      }),
    );
    try {
      const outcomes = together.immediate();
      for (const [index, outcome] of outcomes.entries()) {
        if ('error' in outcome) group[index]?.reject(outcome.error);
        else group[index]?.resolve(outcome.value as never);
      }
      committed();
    } catch (error) {
      for (const { reject } of group) reject(error);
    }
  };
  return {
    run: (work) =>
      new Promise((resolve, reject) => {
        // The end of this turn is no timer: a lone submit commits at once, what arrived meanwhile joins it.
        if (waiting.length === 0) setImmediate(flush);
        waiting.push({ work, resolve, reject });
      }),
  };
}
