import { expect, test } from 'vitest';
import { type AttemptFacts, judgeAttempt, patienceOf } from './judge.ts';

const now = 100_000;
const patience = { silenceMs: 4_000, lockMs: 9_000 };
/** A started attempt for which nothing has stood for `ms`. */
const orphan = (ms: number | undefined, facts: Partial<AttemptFacts> = {}): AttemptFacts => ({
  state: 'running',
  delivered: true,
  job: 'absent',
  claimed: false,
  reported: false,
  orphanedSince: ms === undefined ? undefined : now - ms,
  ...facts,
});

test.each([
  ['nothing stands for it, and has not for long enough', orphan(4_000), 'lost'],
  ['nothing stands for it for the first time', orphan(undefined), 'watch'],
  ['nothing stands for it, but a heartbeat may be on its way', orphan(3_999), 'watch'],
  ['a living worker claims it', orphan(60_000, { claimed: true }), 'keep'],
  ['its report waits', orphan(60_000, { reported: true }), 'keep'],
  ['its worker is silent, and may hold its lock still', orphan(8_999, { job: 'active' }), 'watch'],
  ['its worker is silent, and its lock can hold no longer', orphan(9_000, { job: 'active' }), 'lost'],
  ['its job was found stalled, and nobody reported', orphan(4_000, { job: 'failed' }), 'lost'],
  ['its job ended, and left no report', orphan(4_000, { job: 'completed' }), 'lost'],
  ['it runs, and its job went back to its queue: no worker begins it twice', orphan(4_000, { job: 'waiting' }), 'lost'],
  ['queued, and not yet delivered', orphan(60_000, { state: 'queued', delivered: false }), 'keep'],
  ['queued, and waiting in the broker', orphan(60_000, { state: 'queued', job: 'waiting' }), 'keep'],
  ['queued, and gone from the broker', orphan(4_000, { state: 'queued' }), 'lost'],
  ['queued, and just taken by a worker', orphan(undefined, { state: 'queued', job: 'active' }), 'watch'],
])('%s', (_name, facts, verdict) => {
  expect(judgeAttempt(facts, now, patience).verdict).toBe(verdict);
});

test('who watches knows when to look again', () => {
  expect(judgeAttempt(orphan(undefined), now, patience)).toEqual({ verdict: 'watch', againMs: 4_000 });
  expect(judgeAttempt(orphan(5_000, { job: 'active' }), now, patience)).toEqual({ verdict: 'watch', againMs: 4_000 });
});

test('the word on a lost attempt says what was seen', () => {
  const { detail } = judgeAttempt(orphan(60_000, { job: 'failed' }), now, patience) as { detail: string };
  expect(detail).toBe('No living worker is at work on it, and its job is failed.');
});

test('patience outlasts a heartbeat, and with three heartbeats of silence the longest a lock may hold', () => {
  const heartbeatMs = 3_000;
  const leaseMs = 15_000;
  const { silenceMs, lockMs } = patienceOf({ heartbeatMs, leaseMs });
  expect(silenceMs).toBeGreaterThan(heartbeatMs);
  expect(3 * heartbeatMs + lockMs).toBeGreaterThanOrEqual(heartbeatMs + leaseMs);
});
