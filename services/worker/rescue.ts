/** What is done with a tree whose attempt did not succeed: nothing an agent wrote is given up (design rule 4). */
import type { Tree } from '@taskbridge/workspace';
import type { Attempt } from './attempt.ts';

/** Puts the work on the salvage ref and keeps its diff. Never throws: the attempt's ending is already known, and what fails here is logged. */
export async function rescue(attempt: Attempt, tree: Tree, maxDiffBytes: number): Promise<void> {
  const { known, job, log } = attempt;
  attempt.enter('salvage');
  try {
    known.salvageRef ??= (await tree.salvage()) ?? null;
    if (known.salvageRef) log.write('phase', `the work is kept on ${known.salvageRef}`);
  } catch (error) {
    attempt.fail(error);
  }
  if (known.patch) return;
  try {
    known.patch = await tree.capture(job, maxDiffBytes);
  } catch (error) {
    attempt.fail(error);
  }
}
