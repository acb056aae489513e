/**
 * A worker's seat: a folder for its slots that no other process uses, and that the next worker takes over.
 *
 * The slots of two workers on one data folder must never meet; yet a worker that starts again should find the paths
 * of the one before (a warm agent remembers its directory) and whatever that one left unsaved. So seats are numbered,
 * and held by a lock that the operating system lets go when its holder dies, also by kill -9: an SQLite file lock,
 * which needs no process ids that another process may get again.
 */
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';

export interface Seat extends Disposable {
  /** Folder of the seat's slots. */
  readonly dir: string;
}

const busy = 5;

/** Takes the first free seat below `slotsDir`. */
export async function takeSeat(slotsDir: string): Promise<Seat> {
  for (let n = 1; ; n++) {
    const dir = join(slotsDir, `worker-${n}`);
    await mkdir(dir, { recursive: true, mode: 0o700 });
    const seat = trySeat(dir);
    if (seat) return seat;
  }
}

/** The seat `dir`, or undefined when another worker sits there. */
export function trySeat(dir: string): Seat | undefined {
  const holder = new DatabaseSync(join(dir, 'seat.lock'));
  try {
    holder.exec('BEGIN EXCLUSIVE');
    return { dir, [Symbol.dispose]: () => holder.close() };
  } catch (error) {
    holder.close();
    if ((error as { errcode?: number }).errcode === busy) return undefined;
    throw error;
  }
}
