/** Saves what killed workers left in their slots, before anything new begins (design rule 4). */
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { Log } from '@taskbridge/platform';
import type { Workspace } from '@taskbridge/workspace';
import { type Seat, trySeat } from './seat.ts';

/** Looks into the slots of `own`, and of every other seat below `slotsDir` that nobody sits on. What can't be saved stays where it is. */
export async function saveLeftovers(slotsDir: string, own: Seat, workspace: Workspace, log: Log): Promise<void> {
  for (const name of (await readdir(slotsDir)).filter((n) => n.startsWith('worker-'))) {
    const dir = join(slotsDir, name);
    if (dir === own.dir) {
      await saveSlots(dir, workspace, log);
      continue;
    }
    using seat = trySeat(dir);
    if (seat) await saveSlots(dir, workspace, log);
  }
}

async function saveSlots(seatDir: string, workspace: Workspace, log: Log): Promise<void> {
  for (const entry of await readdir(seatDir, { withFileTypes: true })) {
    if (!entry.isDirectory()) continue;
    const tree = join(seatDir, entry.name, 'tree');
    try {
      await workspace.saveLeftover(tree);
    } catch (err) {
      log.error({ err, tree }, 'work that a killed worker left could not be saved; it stays there');
    }
  }
}
