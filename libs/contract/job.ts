/** What travels to a worker: everything one attempt needs, and no secret. */
import { z } from 'zod';
import { contractSchema } from './contract.ts';
import { projectSchema } from './project.ts';

export const attemptJobSchema = z.object({
  attemptId: z.string(),
  taskId: z.string(),
  number: z.number().int().positive(),
  /** Higher than that of any attempt before it; only the current one is accepted (design rule 3). */
  fence: z.number().int().positive(),
  title: z.string(),
  clientId: z.string(),
  project: projectSchema.extend({ id: z.string() }),
  contract: contractSchema,
  branch: z.string(),
  /** Head commits of the tasks this one depends on, in submit order: the first is the base, the others are merged. */
  dependencyCommits: z.array(z.string()),
});

export type AttemptJob = z.output<typeof attemptJobSchema>;

/** The queue that any worker reads. */
export const anyoneQueue = 'anyone';
/** The queue that only the workers of one host read. */
export const hostQueue = (host: string): string => `host-${host.replace(/[^\w.-]/g, '-')}`;
/** Which queue an attempt of this project belongs to. */
export const queueOf = (project: { kind: 'path' | 'url'; host?: string | undefined }): string =>
  project.kind === 'url' || project.host === undefined ? anyoneQueue : hostQueue(project.host);
