/** A project: an allowlisted repository. */
import { z } from 'zod';

const command = z.string().trim().min(1).max(4_000);

export const projectSchema = z.strictObject({
  name: z
    .string()
    .trim()
    .regex(/^[\w.-]{1,100}$/, 'letters, digits, _ . - only, 100 at most'),
  /** Absolute path of a repository on this host, or a URL that git can fetch and push. */
  source: z.string().trim().min(1).max(2_000),
  kind: z.enum(['path', 'url']),
  /** Which host can read a `path` source; absent for a URL, which any worker can serve. */
  host: z.string().max(200).optional(),
  baseBranch: z.string().trim().min(1).max(250),
  setup: command.optional(),
  checks: z.array(command).max(20).default([]),
});

export type ProjectInput = z.input<typeof projectSchema>;
export type Project = z.output<typeof projectSchema> & { id: string };
