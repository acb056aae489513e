/** Identifiers. Every id is safe as a BullMQ job id, a git ref part, a file name and a URL part. */
import { randomBytes } from 'node:crypto';

const alphabet = '0123456789abcdefghjkmnpqrstvwxyz';

/** Random letters and digits without look-alikes; 5 bits each. */
function random(length: number): string {
  return Array.from(randomBytes(length), (byte) => alphabet[byte % 32]).join('');
}

/** A new task id: `t_` and 60 random bits, so that it can't be guessed. */
export const newTaskId = (): string => `t_${random(12)}`;
export const newProjectId = (): string => `p_${random(8)}`;
export const newClientId = (): string => `c_${random(8)}`;
export const newWorkerId = (): string => `w_${random(8)}`;

/** A bearer token: a recognisable prefix, so that redaction and secret scanners find it, and 200 random bits. */
export const newToken = (): string => `tbk_${random(40)}`;

/** The id of a task's nth attempt, and so of its job: a later attempt can never meet an earlier job's id. */
export const attemptId = (taskId: string, number: number): string => `${taskId}-a${number}`;

/** The task an attempt belongs to. */
export const taskOfAttempt = (id: string): string => id.replace(/-a\d+$/, '');

/** A short readable part of a branch name, from a task's title: `[a-z0-9-]`, 40 characters at most. */
export function slug(title: string): string {
  const words = title
    .normalize('NFKD')
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '-')
    .replace(/^-+|-+$/g, '');
  return words.slice(0, 40).replace(/-+$/, '') || 'task';
}

/** The branch a task's work is published on (design rule 5). */
export const taskBranch = (title: string, taskId: string): string => `taskbridge/${slug(title)}-${taskId.slice(2)}`;

/** Where unfinished work of an attempt is kept (design rule 4). */
export const salvageRef = (taskId: string, attempt: number): string => `refs/taskbridge/${taskId}/${attempt}/salvage`;
