/** Twenty tasks at once on one repository, two workers: no lock failure, nothing lost, nothing doubled, the user's checkout untouched. */
import { execa } from 'execa';
import { expect, test } from 'vitest';
import { writesFile } from '../support/scenarios.ts';
import { operator, startStack } from '../support/stack.ts';

test('two workers carry twenty tasks on one repository', async () => {
  const names = Array.from({ length: 20 }, (_, i) => `file-${String(i).padStart(2, '0')}`);
  const scenarios = names.map((name) => writesFile(`${name}.`, `${name}.txt`, `${name}\n`));
  await using stack = await startStack({ workers: 2, slots: 2, scenarios });
  const before = await stack.fingerprint();
  const batch = names.map((name) => ({ project: 'sample', goal: `Write ${name}.` }));
  const { submitted } = await stack.planner.call<{ submitted: { task: { id: string } }[] }>('submit_batch', { tasks: batch });
  const ids = submitted.map(({ task }) => task.id);
  await Promise.all(ids.map((id) => stack.settled(id)));

  const details = ids.map((id) => stack.record.tasks.get(operator, id));
  expect(details.map((d) => [d.state, d.attempts, d.failure?.detail])).toEqual(ids.map(() => ['done', 1, undefined]));
  expect(details.map((d) => d.latestAttempt?.report?.files.map((f) => f.path))).toEqual(names.map((name) => [`${name}.txt`]));
  expect(new Set(details.map((d) => d.latestAttempt?.worker)).size).toBe(2);
  const branches = await execa('git', ['branch', '--list', 'taskbridge/*'], { cwd: stack.repository });
  expect(branches.stdout.split('\n')).toHaveLength(20);
  await execa('git', ['fsck', '--strict'], { cwd: stack.repository });
  expect(await stack.fingerprint()).toBe(before);
}, 420_000);
