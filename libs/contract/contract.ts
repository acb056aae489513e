/** What a planner asks for. Every field but the goal has a safe default. */
import { z } from 'zod';

export const modes = ['analysis', 'propose_patch', 'review'] as const;
export type Mode = (typeof modes)[number];

/** Only a mode that writes is given a branch and must end with a diff. */
export const writes = (mode: Mode): boolean => mode === 'propose_patch';

const sentence = z.string().trim().min(1).max(2_000);

export const limitsSchema = z
  .strictObject({
    run_minutes: z
      .number()
      .positive()
      .max(24 * 60)
      .describe('Total time for one attempt, in minutes.')
      .optional(),
    stall_minutes: z
      .number()
      .positive()
      .max(24 * 60)
      .describe('Time without any progress of the agent, in minutes.')
      .optional(),
  })
  .default({});

export const contractSchema = z.strictObject({
  goal: z
    .string()
    .trim()
    .min(1)
    .max(5_000_000)
    .describe('What is to be done, in plain words. The agent sees nothing of your conversation.'),
  mode: z
    .enum(modes)
    .default('propose_patch')
    .describe('analysis: read and answer. propose_patch: change files, get a diff. review: read a commit, return findings.'),
  scope: z.array(z.string().trim().min(1).max(500)).max(200).default([]).describe('Globs of the files that may change. Empty: any file.'),
  acceptance: z.array(sentence).max(50).default([]).describe('Checkable sentences that must be true at the end.'),
  constraints: z.array(sentence).max(50).default([]).describe('What the agent must not do, or must keep to.'),
  deliverables: z.array(sentence).max(50).default([]).describe('What must exist at the end.'),
  base: z
    .string()
    .trim()
    .min(1)
    .max(250)
    .regex(/^[^-\s~^:?*[\\][^\s~^:?*[\\]*$/, 'must be a branch, tag or commit')
    .optional()
    .describe("Branch, tag or commit to start from. Default: the project's base branch."),
  model: z.string().trim().min(1).max(200).optional().describe("Model as provider/model. Default: the worker's."),
  limits: limitsSchema,
});

/** A contract with its defaults filled in: what is recorded, and what the agent can never change. */
export type Contract = z.output<typeof contractSchema>;
export type ContractInput = z.input<typeof contractSchema>;
