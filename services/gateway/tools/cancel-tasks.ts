/** cancel_tasks: ends tasks; what runs is stopped by its worker, and its work is kept. */
import { isTerminal } from '@taskbridge/contract';
import { z } from 'zod';
import { until } from '../task-watch.ts';
import { briefly } from './task-view.ts';
import { defineTool, taskIdSchema } from './tool.ts';

/** How long the answer waits for running attempts to end. */
const patienceMs = 5_000;

const input = z.strictObject({
  ids: z.array(taskIdSchema).min(1).max(50),
  reason: z.string().trim().min(1).max(500).default('Cancelled by the planner.'),
});

export const cancelTasks = defineTool({
  name: 'cancel_tasks',
  title: 'Cancel tasks',
  description: 'Cancel tasks. Running ones are stopped and their unfinished work is kept on a salvage ref. Ended ones stay as they are.',
  hints: { readOnly: false, destructive: true, idempotent: true, openWorld: false },
  input,
  async run({ ids: named, reason }, call, { record, dispatcher, watch, stopping }) {
    const ids = [...new Set(named)];
    const look = () => ids.map((id) => record.tasks.get(call.by, id));
    // Every id is known before the first is cancelled: a wrong one changes nothing.
    const before = new Set(
      look()
        .filter((task) => isTerminal(task.state))
        .map((task) => task.id),
    );
    for (const id of ids) record.tasks.cancel(call.by, id, reason);
    dispatcher.wake();
    await until(watch, ids, () => look().every((task) => isTerminal(task.state)), { ms: patienceMs, signals: [call.signal, stopping] });
    const tasks = look();
    return {
      tasks: tasks.map((task) => ({
        ...briefly(task),
        outcome: before.has(task.id) ? 'had_ended' : isTerminal(task.state) ? 'ended' : 'stopping',
      })),
      ...(tasks.every((task) => isTerminal(task.state)) ? {} : { next: 'Some are still stopping. Call wait_tasks.' }),
    };
  },
});
