/** A submit: one contract, and how it is to be handled. */
import { z } from 'zod';
import { contractSchema } from './contract.ts';

export const submitSchema = contractSchema.extend({
  project: z.string().trim().min(1).max(100).describe('Name of an allowlisted project (see list_projects).'),
  title: z.string().trim().min(1).max(120).optional().describe('Short name for lists and the branch. Default: the first line of the goal.'),
  priority: z.number().int().min(0).max(9).default(5).describe('9 starts first, 0 last.'),
  tags: z
    .array(
      z
        .string()
        .trim()
        .regex(/^[\w.-]{1,40}$/, 'letters, digits, _ . - only, 40 at most'),
    )
    .max(20)
    .default([]),
  depends_on: z
    .array(
      z
        .string()
        .trim()
        .regex(/^(t_[0-9a-z]+|#\d+)$/, 'must be a task id, or #n for the nth task of the same batch, counted from 0'),
    )
    .max(20)
    .default([])
    .describe('Tasks that must be done first: ids, or #0, #1 … within a batch. Work starts from their commits.'),
  idempotency_key: z
    .string()
    .trim()
    .min(1)
    .max(200)
    .optional()
    .describe('The same key with the same input returns the same task; with a different input it is refused.'),
});

export type Submit = z.output<typeof submitSchema>;
export type SubmitInput = z.input<typeof submitSchema>;

/** The most tasks one batch may hold. */
export const batchLimit = 20;

/** A task's title when the submit names none. */
export function titleOf(submit: Pick<Submit, 'title' | 'goal'>): string {
  return (submit.title ?? submit.goal.split('\n', 1)[0] ?? 'task').slice(0, 120).trim() || 'task';
}
