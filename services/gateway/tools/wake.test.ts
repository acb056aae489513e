import { ApiError, type TaskDetail } from '@taskbridge/contract';
import { expect, test } from 'vitest';
import { cancelTasks } from './cancel-tasks.ts';
import { submitBatch } from './submit-batch.ts';
import { submitTask } from './submit-task.ts';
import type { Call, Kit } from './tool.ts';

const one = { project: 'sample', goal: 'x' };
const task = { id: 't_1', state: 'cancelled' } as TaskDetail;
const call = { by: {}, signal: new AbortController().signal } as unknown as Call;

/** Calls a tool on a record that notes, or refuses. @returns what happened, in order */
async function happens(run: (kit: Kit) => Promise<unknown>, refusal?: ApiError): Promise<string[]> {
  const order: string[] = [];
  const commit = <T>(result: T): T => {
    if (refusal) throw refusal;
    order.push('commit');
    return result;
  };
  const record = { tasks: { submit: async () => commit([{ task, created: true }]), cancel: () => commit(task), get: () => task } };
  const kit = {
    record,
    dispatcher: { wake: () => order.push('wake') },
    watch: { on: () => () => {} },
    stopping: new AbortController().signal,
  };
  await run(kit as unknown as Kit).catch((error: unknown) => order.push((error as ApiError).code));
  return order;
}

test.each([
  ['submit_task', (kit: Kit) => submitTask.run(one, call, kit)],
  ['submit_batch', (kit: Kit) => submitBatch.run({ tasks: [one] }, call, kit)],
  ['cancel_tasks', (kit: Kit) => cancelTasks.run({ ids: ['t_1'] }, call, kit)],
])('%s wakes the dispatcher after the commit, and not after a refusal', async (_name, run) => {
  expect(await happens(run)).toEqual(['commit', 'wake']);
  expect(await happens(run, new ApiError('not_found', 'There is none.'))).toEqual(['not_found']);
});
