import type { Agent } from '@taskbridge/agents';
import type { FileChange } from '@taskbridge/contract';
import type { Patch, Tree } from '@taskbridge/workspace';
import { expect, test } from 'vitest';
import { runGates } from './gates.ts';
import type { CommandPlace } from './project-command.ts';
import { cleaner } from './safe-text.ts';
import { type JobOverrides, testAttempt } from './test-attempt.ts';

const change = (path: string): FileChange => ({ path, status: 'modified', additions: 1, deletions: 0, binary: false });

function patchOf(...paths: string[]): Patch {
  const diff = Buffer.from(paths.join('\n'));
  return {
    head: 'abc',
    empty: paths.length === 0,
    files: paths.map(change),
    filesTotal: paths.length,
    paths,
    diff,
    diffBytes: diff.length,
    diffTruncated: false,
  };
}

/** A project whose command `exit N` ends with N and prints a broken byte, and a tree that remembers what it was asked. */
function stage(overrides: JobOverrides = {}) {
  const { attempt } = testAttempt(overrides);
  const asked: string[] = [];
  const agent: Pick<Agent, 'run'> = {
    run: async (command) => {
      asked.push(command);
      const timedOut = command === 'hang';
      const exitCode = timedOut ? null : Number(command.split(' ')[1]);
      return { exitCode, output: Buffer.from(`said \xff by ${command}`, 'latin1'), durationMs: 5, timedOut };
    },
  };
  const tree: Pick<Tree, 'path' | 'salvage' | 'revert'> = {
    path: '/tree',
    salvage: async () => (asked.push('salvage'), 'refs/taskbridge/t_one/1/salvage'),
    revert: async () => (asked.push('revert'), ['src/a.ts']),
  };
  const place: CommandPlace = { attempt, agent: agent as Agent, tree: tree as Tree, timeoutMs: 60_000, clean: cleaner([]) };
  const gates = () => attempt.known.gates.map(({ gate, outcome }) => `${gate} ${outcome}`);
  return { attempt, place, asked, gates };
}

test('a patch without a change is no success, whatever the agent says', async () => {
  const { place, attempt, gates } = stage();
  await expect(runGates(patchOf(), place)).rejects.toMatchObject({ reason: 'empty_diff' });
  expect(gates()).toEqual(['non_empty failed']);
  expect(attempt.known.milestone).toBe('none');
});

test('a file outside the scope stops the attempt before any check', async () => {
  const { place, attempt, asked } = stage({ contract: { scope: ['src/**'] }, project: { checks: ['exit 0'] } });
  await expect(runGates(patchOf('src/a.ts', 'README.md'), place)).rejects.toMatchObject({
    reason: 'scope_exceeded',
    message: 'Outside the scope: README.md.',
  });
  expect(asked).toEqual([]);
  expect(attempt.known.milestone).toBe('patch');
});

test('all checks run, each with its exit code and its log', async () => {
  const { place, attempt, gates } = stage({ project: { checks: ['exit 3', 'exit 0', 'hang'] } });
  await expect(runGates(patchOf('a'), place)).rejects.toMatchObject({ reason: 'checks_failed' });
  expect(gates()).toEqual(['non_empty passed', 'scope skipped', 'check-1 failed', 'check-2 passed', 'check-3 failed']);
  expect(attempt.known.gates.map((gate) => gate.exitCode)).toEqual([undefined, undefined, 3, 0, null]);
  expect(attempt.known.parcels.map(({ name, content }) => [name, String(content)])[0]).toEqual(['check-1', 'said \ufffd by exit 3']);
  expect(attempt.known.milestone).toBe('in_scope');
});

test('a patch that passes everything has got as far as its checks', async () => {
  const { place, attempt } = stage({ contract: { scope: ['src/**'] }, project: { checks: ['exit 0'] } });
  await runGates(patchOf('src/a.ts'), place);
  expect(attempt.known.milestone).toBe('checks_passed');
});

test('a lease that ends during a check ends the gates', async () => {
  const { place } = stage({ project: { checks: ['exit 0'] } });
  const ended = { ...place, attempt: { ...place.attempt, signal: AbortSignal.abort('cancelled') } };
  await expect(runGates(patchOf('a'), ended)).rejects.toBe('cancelled');
});

test('what a reading agent changed is saved, then undone, and said', async () => {
  const { place, attempt, asked } = stage({ contract: { mode: 'analysis' } });
  attempt.known.work = { summary: 'The answer.' } as typeof attempt.known.work;
  await runGates(patchOf('src/a.ts'), place);
  expect(asked).toEqual(['salvage', 'revert']);
  expect(attempt.known.salvageRef).toBe('refs/taskbridge/t_one/1/salvage');
  expect(attempt.known.limits).toEqual([{ limit: 'read-only tree', enforcedBy: 'reverted', note: 'Undone, 1 changed files: src/a.ts.' }]);
});

test('an analysis without a word is no answer', async () => {
  const { place, attempt, gates } = stage({ contract: { mode: 'review' } });
  attempt.known.work = { summary: ' \n' } as typeof attempt.known.work;
  await expect(runGates(patchOf(), place)).rejects.toMatchObject({ reason: 'agent_gave_up' });
  expect(gates()).toEqual(['unchanged passed', 'answered failed']);
});
