/** What a worker returns for an attempt. Bounded: large parts travel beside it as artifacts. */
import { z } from 'zod';
import { failureReasons } from './failures.ts';
import { milestones } from './states.ts';

export const usageSchema = z.object({
  inputTokens: z.number().nonnegative(),
  outputTokens: z.number().nonnegative(),
  reasoningTokens: z.number().nonnegative(),
  cacheReadTokens: z.number().nonnegative(),
  cacheWriteTokens: z.number().nonnegative(),
  costUsd: z.number().nonnegative(),
  /** False when the agent reported no price, so that 0 USD is not mistaken for free. */
  costKnown: z.boolean(),
  modelCalls: z.number().int().nonnegative(),
});
export type Usage = z.output<typeof usageSchema>;

export const noUsage: Usage = {
  inputTokens: 0,
  outputTokens: 0,
  reasoningTokens: 0,
  cacheReadTokens: 0,
  cacheWriteTokens: 0,
  costUsd: 0,
  costKnown: false,
  modelCalls: 0,
};

/** How a limit was enforced in this attempt (design rule 7). */
export const enforcements = ['os', 'agent-config', 'reverted', 'prompt', 'none'] as const;

export const limitEvidenceSchema = z.object({
  limit: z.string(),
  enforcedBy: z.enum(enforcements),
  note: z.string().optional(),
});
export type LimitEvidence = z.output<typeof limitEvidenceSchema>;

export const fileChangeSchema = z.object({
  path: z.string(),
  status: z.enum(['added', 'modified', 'deleted', 'renamed', 'type_changed']),
  additions: z.number().int().nonnegative(),
  deletions: z.number().int().nonnegative(),
  binary: z.boolean(),
});
export type FileChange = z.output<typeof fileChangeSchema>;

/** A command the agent ran, as seen in its tool calls. */
export const commandSchema = z.object({
  command: z.string(),
  exitCode: z.number().int().nullable(),
  durationMs: z.number().nonnegative(),
  isTest: z.boolean(),
});
export type Command = z.output<typeof commandSchema>;

export const gateResultSchema = z.object({
  gate: z.string(),
  outcome: z.enum(['passed', 'failed', 'skipped']),
  detail: z.string(),
  exitCode: z.number().int().nullable().optional(),
  durationMs: z.number().nonnegative().optional(),
  /** Name of the artifact with its log. */
  log: z.string().optional(),
});
export type GateResult = z.output<typeof gateResultSchema>;

/** A bounded piece of an attempt's output, sent beside the report: `diff`, `log`, `transcript`, `check-1` … */
export const artifactRefSchema = z.object({
  name: z.string().regex(/^[a-z0-9-]{1,60}$/),
  mediaType: z.string(),
  /** Of the content before compression. */
  bytes: z.number().int().nonnegative(),
  sha256: z.string().regex(/^[0-9a-f]{64}$/),
  /** True when the content was cut at the size limit. */
  truncated: z.boolean(),
});
export type ArtifactRef = z.output<typeof artifactRefSchema>;

/** The most rows a report lists; the counts beside them are always whole. */
export const reportListLimit = 500;

export const reportSchema = z.object({
  attemptId: z.string(),
  taskId: z.string(),
  fence: z.number().int().positive(),
  workerId: z.string(),
  outcome: z.enum(['succeeded', 'failed', 'cancelled', 'returned']),
  /** Set when the outcome is `failed` or `returned`. */
  reason: z.enum(failureReasons).nullable(),
  /** One plain sentence about this very attempt. */
  detail: z.string().max(2_000),
  retryAfterMs: z.number().nonnegative().nullable(),
  /** The agent's own last words, bounded. A narrative, not evidence. */
  summary: z.string().max(20_000),
  openQuestions: z.array(z.string().max(2_000)).max(50),
  base: z.object({ ref: z.string(), commit: z.string() }).nullable(),
  head: z.object({ commit: z.string(), branch: z.string() }).nullable(),
  salvageRef: z.string().nullable(),
  files: z.array(fileChangeSchema).max(reportListLimit),
  filesTotal: z.number().int().nonnegative(),
  commands: z.array(commandSchema).max(reportListLimit),
  commandsTotal: z.number().int().nonnegative(),
  gates: z.array(gateResultSchema),
  milestone: z.enum(milestones),
  usage: usageSchema,
  model: z.string().nullable(),
  sessionId: z.string().nullable(),
  /** Duration by phase, in milliseconds, in order. */
  phases: z.array(z.object({ phase: z.string(), ms: z.number().nonnegative() })),
  versions: z.record(z.string(), z.string()),
  limits: z.array(limitEvidenceSchema),
  artifacts: z.array(artifactRefSchema).max(100),
  startedAt: z.number(),
  endedAt: z.number(),
});
export type Report = z.output<typeof reportSchema>;
