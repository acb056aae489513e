/** What a living worker says about itself and its attempts. */
import { z } from 'zod';
import { usageSchema } from './report.ts';

/** A small fact about an attempt at work, carried as job progress. Accepted only with the current fence. */
export const factSchema = z.discriminatedUnion('type', [
  z.object({
    type: z.literal('attempt.started'),
    attemptId: z.string(),
    fence: z.number().int(),
    at: z.number(),
    workerId: z.string(),
    host: z.string(),
  }),
  z.object({
    type: z.literal('attempt.phase'),
    attemptId: z.string(),
    fence: z.number().int(),
    at: z.number(),
    phase: z.string(),
    baseCommit: z.string().optional(),
  }),
  z.object({
    type: z.literal('attempt.activity'),
    attemptId: z.string(),
    fence: z.number().int(),
    at: z.number(),
    /** The last thing the agent did, one line, 200 characters at most. */
    activity: z.string().max(200),
    usage: usageSchema,
  }),
]);
export type Fact = z.output<typeof factSchema>;

export const presenceSchema = z.object({
  workerId: z.string(),
  host: z.string(),
  pid: z.number().int(),
  slots: z.number().int().positive(),
  busy: z.number().int().nonnegative(),
  /** Attempts at work now. */
  attempts: z.array(z.string()),
  draining: z.boolean(),
  versions: z.record(z.string(), z.string()),
  startedAt: z.number(),
  heartbeatAt: z.number(),
});
export type Presence = z.output<typeof presenceSchema>;

export const logKinds = ['phase', 'agent', 'tool', 'command', 'error'] as const;

/** One line of an attempt's log. `n` counts from 1 within the attempt. */
export const logLineSchema = z.object({ n: z.number().int().positive(), at: z.number(), kind: z.enum(logKinds), text: z.string() });
export type LogLine = z.output<typeof logLineSchema>;
