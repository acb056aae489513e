/** The gates: what TaskBridge itself checks before it calls an attempt a success (design rule 6). */
import { AttemptFailure, failureKinds, type GateResult, writes } from '@taskbridge/contract';
import { outOfScope, type Patch } from '@taskbridge/workspace';
import { type CommandPlace, runProjectCommand } from './project-command.ts';
import { cut } from './safe-text.ts';

/** How many paths a gate's sentence names. */
const namedPaths = 20;

const named = (paths: readonly string[]): string =>
  paths.slice(0, namedPaths).join(', ') + (paths.length > namedPaths ? ` and ${paths.length - namedPaths} more` : '');

/**
 * Runs the gates of the contract's mode in order and notes each result.
 * @throws AttemptFailure at the first gate that does not pass
 */
export async function runGates(patch: Patch, place: CommandPlace): Promise<void> {
  if (!writes(place.attempt.job.contract.mode)) return judgeAnswer(patch, place);
  judgePatch(patch, place);
  await runChecks(place);
}

function judgePatch(patch: Patch, { attempt, clean }: CommandPlace): void {
  const { known, job } = attempt;
  if (patch.empty) {
    known.gates.push({ gate: 'non_empty', outcome: 'failed', detail: failureKinds.empty_diff.sentence });
    throw new AttemptFailure('empty_diff', failureKinds.empty_diff.sentence);
  }
  known.gates.push({ gate: 'non_empty', outcome: 'passed', detail: `${patch.filesTotal} files changed.` });
  known.milestone = 'patch';

  const outside = outOfScope(patch.paths, job.contract.scope);
  if (outside.length > 0) {
    const detail = cut(clean(`Outside the scope: ${named(outside)}.`), 2_000);
    known.gates.push({ gate: 'scope', outcome: 'failed', detail });
    throw new AttemptFailure('scope_exceeded', detail);
  }
  known.gates.push(
    job.contract.scope.length === 0
      ? { gate: 'scope', outcome: 'skipped', detail: 'The contract names no scope.' }
      : { gate: 'scope', outcome: 'passed', detail: 'Every changed file is inside the scope.' },
  );
  known.milestone = 'in_scope';
}

/** All checks run even after one failed: the planner wants to know all that is wrong. */
async function runChecks(place: CommandPlace): Promise<void> {
  const { known, job } = place.attempt;
  if (job.project.checks.length === 0) {
    known.gates.push({ gate: 'checks', outcome: 'skipped', detail: 'The project names no checks.' });
    return;
  }
  const failed: GateResult[] = [];
  for (const [i, command] of job.project.checks.entries()) {
    const result = await runProjectCommand(`check-${i + 1}`, command, place);
    known.gates.push(result);
    if (result.outcome === 'failed') failed.push(result);
  }
  if (failed[0]) throw new AttemptFailure('checks_failed', failed.map((gate) => gate.detail).join(' '));
  known.milestone = 'checks_passed';
}

/** A mode that only reads must leave the tree as it was, and must say something. */
async function judgeAnswer(patch: Patch, { attempt, tree, clean }: CommandPlace): Promise<void> {
  const { known } = attempt;
  if (patch.empty) {
    known.gates.push({ gate: 'unchanged', outcome: 'passed', detail: 'The agent changed no file.' });
  } else {
    known.salvageRef = (await tree.salvage()) ?? null;
    const reverted = await tree.revert();
    const note = cut(clean(`Undone, ${reverted.length} changed files: ${named(reverted)}.`), 2_000);
    known.gates.push({ gate: 'unchanged', outcome: 'passed', detail: note });
    known.limits.push({ limit: 'read-only tree', enforcedBy: 'reverted', note });
  }

  const answered = (known.work?.summary.trim() ?? '') !== '';
  known.gates.push({
    gate: 'answered',
    outcome: answered ? 'passed' : 'failed',
    detail: answered ? 'The agent answered.' : 'The agent said nothing.',
  });
  if (!answered) throw new AttemptFailure('agent_gave_up', failureKinds.agent_gave_up.sentence);
}
