/** list_tasks: the caller's tasks, newest first, in pages. */
import { taskStates } from '@taskbridge/contract';
import { z } from 'zod';
import { defineTool, reads } from './tool.ts';

const word = z.string().trim().min(1).max(200);

const input = z.strictObject({
  state: z.array(z.enum(taskStates)).max(taskStates.length).optional(),
  project: word.optional(),
  tag: word.optional(),
  client: word.optional(),
  text: word.describe('Part of the title or goal.').optional(),
  cursor: z.string().max(500).describe('next of the page before.').optional(),
  limit: z.number().int().min(1).max(100).default(20),
});

export const listTasks = defineTool({
  name: 'list_tasks',
  title: 'List tasks',
  description: 'Your tasks, newest first, by state, project, tag, client or text.',
  hints: reads,
  input,
  run({ state, cursor, limit, ...filter }, call, { record }) {
    const page = record.tasks.list(call.by, { ...filter, ...(state?.length ? { states: state } : {}) }, cursor ?? null, limit);
    return { tasks: page.items, next: page.next };
  },
});
