import { expect, test } from 'vitest';
import { type AttemptFacts, judgeAttempt } from './judge.ts';

const now = 100_000;
const orphan: AttemptFacts = {
  state: 'running',
  delivered: true,
  job: 'absent',
  claimed: false,
  reported: false,
  orphanedSince: now - 5_000,
};

test.each([
  ['nothing stands for it, and has not for a while', {}, 'lost'],
  ['nothing stands for it for the first time', { orphanedSince: undefined }, 'watch'],
  ['nothing stands for it, but only just', { orphanedSince: now - 500 }, 'watch'],
  ['a living worker claims it', { claimed: true }, 'keep'],
  ['its report waits', { reported: true }, 'keep'],
  ['its job is still held by a worker that is gone', { job: 'active' }, 'lost'],
  ['its job failed and left no report', { job: 'failed' }, 'lost'],
  ['queued, and not yet delivered', { state: 'queued', delivered: false }, 'keep'],
  ['queued, and waiting in the broker', { state: 'queued', job: 'waiting' }, 'keep'],
  ['queued, and gone from the broker', { state: 'queued' }, 'lost'],
] as [string, Partial<AttemptFacts>, string][])('%s', (_name, change, verdict) => {
  expect(judgeAttempt({ ...orphan, ...change }, now, 1_000).verdict).toBe(verdict);
});
