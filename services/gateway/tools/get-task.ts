/** get_task: one task with its contract and the evidence of its latest attempt. */
import { z } from 'zod';
import { fully } from './task-view.ts';
import { defineTool, reads, taskIdSchema } from './tool.ts';

export const getTask = defineTool({
  name: 'get_task',
  title: 'Show a task',
  description:
    'One task: state and why, contract, failure with what to do next, and the latest report: files, commands with exit codes, gates, ' +
    'usage, limits and how they were enforced, branch, base and head commit.',
  hints: reads,
  input: z.strictObject({ id: taskIdSchema }),
  run: ({ id }, call, { record }) => ({ ...fully(record.tasks.get(call.by, id)) }),
});
