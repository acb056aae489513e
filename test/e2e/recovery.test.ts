/** What a service leaves when it dies in the middle is found by the others. */
import { Redis } from 'ioredis';
import { expect, test } from 'vitest';
import { writesFile } from '../support/scenarios.ts';
import { operator, type Stack, startStack } from '../support/stack.ts';

const submit = async (stack: Stack, goal: string): Promise<string> =>
  (await stack.planner.call<{ task: { id: string } }>('submit_task', { project: 'sample', goal })).task.id;

/** Resolves once an event of this type is recorded for the task. */
const recorded = (stack: Stack, taskId: string, type: string): Promise<void> =>
  new Promise((resolve) => {
    const look = () => {
      if (!stack.record.events.ofTask(taskId, 0, 1_000).some((event) => event.type === type)) return;
      unwatch();
      resolve();
    };
    const unwatch = stack.record.events.watch(look);
    look();
  });

test('a reaper that was away applies what was reported meanwhile, once', async () => {
  await using stack = await startStack({ scenarios: [writesFile('missed report', 'missed.txt', 'missed\n')] });
  const id = await submit(stack, 'Write the missed report.');
  await recorded(stack, id, 'attempt.started');
  await stack.services.get('reaper')?.kill('SIGKILL');
  const redis = new Redis(`${stack.dir}/data/redis/redis.sock`);
  await waitForReport(redis);
  expect(stack.record.tasks.get(operator, id).state).toBe('running');

  await Promise.all([stack.start('reaper', 'reaper-1'), stack.start('reaper', 'reaper-2')]);
  await stack.settled(id);
  expect(stack.record.tasks.get(operator, id)).toMatchObject({ state: 'done', attempts: 1 });
  expect(stack.record.events.ofTask(id, 0, 1_000).filter((event) => event.type === 'attempt.succeeded')).toHaveLength(1);
  await redis.quit();
}, 240_000);

/** Resolves once a worker's report waits in Redis: the worker says so on the channel that wakes the reaper. */
async function waitForReport(redis: Redis): Promise<void> {
  const ear = redis.duplicate();
  const told = new Promise<void>((resolve) => {
    ear.on('pmessage', (_pattern, _channel, message: string) => {
      if (message.startsWith('report ')) resolve();
    });
  });
  await ear.psubscribe('tb*');
  const waiting = await redis.keys('tb*report*');
  if (waiting.length === 0) await told;
  await ear.quit();
}

test('a worker killed in the middle: its task ends in a stated way, and the work it left is on a ref once a worker is back', async () => {
  await using stack = await startStack({
    slots: 1,
    scenarios: [
      {
        when: 'half done',
        turns: [{ tools: [{ name: 'write', input: { filePath: '{{cwd}}/half.txt', content: 'half\n' } }] }, { hold: true }],
      },
      writesFile('next one', 'next.txt', 'next\n'),
    ],
  });
  const held = stack.model.nextRequest((r) => r.scenario === 'half done' && r.messages.some((m) => m.role === 'tool'));
  const id = await submit(stack, 'Leave this half done.');
  await held;
  await stack.services.get('worker-1')?.kill('SIGKILL');
  await stack.settled(id);
  expect(stack.record.tasks.get(operator, id)).toMatchObject({
    state: 'failed',
    failure: { reason: 'worker_lost', next: expect.any(String) },
  });

  await stack.start('worker', 'worker-2');
  const next = await submit(stack, 'Write the next one.');
  await stack.settled(next);
  expect(stack.record.tasks.get(operator, next).state).toBe('done');
  expect(await stack.mirrorFile(`refs/taskbridge/${id}/1/salvage`, 'half.txt')).toBe('half');
}, 240_000);

test('tasks that Redis forgot while they were queued run all the same', async () => {
  await using stack = await startStack({
    slots: 1,
    env: { TASKBRIDGE_LOOK_AHEAD: '2' },
    scenarios: [
      { when: 'busy', turns: [{ tools: [{ name: 'bash', input: { command: 'sleep 3', description: 'wait' } }] }, { text: 'Waited.' }] },
      writesFile('forgotten one', 'one.txt', '1\n'),
      writesFile('forgotten two', 'two.txt', '2\n'),
    ],
  });
  const busy = await submit(stack, 'Be busy.');
  await recorded(stack, busy, 'attempt.started');
  const queued = [await submit(stack, 'Write the forgotten one.'), await submit(stack, 'Write the forgotten two.')];
  await Promise.all(queued.map((id) => recorded(stack, id, 'attempt.dispatched')));
  const redis = new Redis(`${stack.dir}/data/redis/redis.sock`);
  await redis.flushall();
  await redis.quit();
  await Promise.all([busy, ...queued].map((id) => stack.settled(id)));
  expect(queued.map((id) => stack.record.tasks.get(operator, id).state)).toEqual(['done', 'done']);
}, 240_000);
