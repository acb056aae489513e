import type { TaskDetail, TaskState } from '@taskbridge/contract';
import type { TaskRecord } from '@taskbridge/record';
import { expect, test } from 'vitest';
import type { Call, Kit } from './tool.ts';
import { waitTasks } from './wait-tasks.ts';

/** A record in which tasks are named by their state, and nothing ever changes. */
const record = {
  tasks: { get: (_by: unknown, id: string) => ({ id, state: id, because: '' }) as unknown as TaskDetail },
} as unknown as TaskRecord;
const never = new AbortController().signal;
const kit = { record, watch: { on: () => () => {}, close: () => {} }, stopping: never } as unknown as Kit;
const call = { by: {}, signal: never } as unknown as Call;

const returnsAtOnce = async (until: 'any' | 'all', ids: TaskState[]): Promise<boolean> =>
  (await waitTasks.run({ ids, until, timeout_seconds: 0.001 }, call, kit))['timed_out'] === false;

test.each<[TaskState[], { any: boolean; all: boolean }]>([
  [['running'], { any: false, all: false }],
  [['held', 'ready', 'queued'], { any: false, all: false }],
  [['done'], { any: true, all: true }],
  [['failed', 'cancelled', 'done'], { any: true, all: true }],
  [['done', 'running'], { any: true, all: false }],
  [['waiting'], { any: true, all: true }],
  // A question of one task is not left lying until the others have ended.
  [['waiting', 'running'], { any: true, all: true }],
  [['blocked'], { any: true, all: true }],
  // A human may take long; the planner can do nothing about it meanwhile.
  [['blocked', 'running'], { any: true, all: false }],
])('tasks that are %j', async (states, expected) => {
  expect({ any: await returnsAtOnce('any', states), all: await returnsAtOnce('all', states) }).toEqual(expected);
});
