/** The handoff survives what breaks round it. */
import { expect, test } from 'vitest';
import { writesFile } from '../support/scenarios.ts';
import { operator, startStack } from '../support/stack.ts';

interface Done {
  tasks: { id: string; state: string }[];
}

test('a submit with Redis down is acknowledged, and starts when Redis is back', async () => {
  await using stack = await startStack({ redis: false, scenarios: [writesFile('patient file', 'patient.txt', 'later\n')] });
  const submitted = await stack.planner.call<{ task: { id: string; state: string } }>('submit_task', {
    project: 'sample',
    goal: 'Write the patient file.',
  });
  expect(submitted.task.state).toBe('ready');
  await stack.startRedis();
  const done = await stack.planner.call<Done>('wait_tasks', { ids: [submitted.task.id], timeout_seconds: 120 });
  expect(done).toMatchObject({ tasks: [{ state: 'done' }] });
}, 240_000);

test('a gateway killed after its commit and before the broker has the job loses nothing and doubles nothing', async () => {
  await using stack = await startStack({ scenarios: [writesFile('orphaned file', 'orphaned.txt', 'once\n')] });
  // A frozen Redis: the submit is committed and acknowledged, while handing out hangs.
  const redis = stack.redis?.pid as number;
  process.kill(redis, 'SIGSTOP');
  const { task } = await stack.planner.call<{ task: { id: string } }>('submit_task', {
    project: 'sample',
    goal: 'Write the orphaned file.',
  });
  await stack.services.get('gateway')?.kill('SIGKILL');
  process.kill(redis, 'SIGCONT');

  await stack.settled(task.id);
  expect(stack.record.tasks.get(operator, task.id)).toMatchObject({ state: 'done', attempts: 1 });
}, 240_000);
