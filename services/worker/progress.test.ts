import { type AttemptJob, type Fact, factSchema, noUsage } from '@taskbridge/contract';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { activityIntervalMs, reportProgress } from './progress.ts';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

function open() {
  const facts: Fact[] = [];
  const job = { attemptId: 't_1-a1', fence: 7 } as AttemptJob;
  return { facts, progress: reportProgress({ job, fact: (fact) => facts.push(factSchema.parse(fact)) }) };
}

test('facts carry the fence', () => {
  const { facts, progress } = open();
  progress.started({ workerId: 'w_1', host: 'here' });
  progress.phase('work', 'abc');
  expect(facts).toMatchObject([
    { type: 'attempt.started', attemptId: 't_1-a1', fence: 7, workerId: 'w_1', host: 'here' },
    { type: 'attempt.phase', phase: 'work', baseCommit: 'abc' },
  ]);
});

test('activity goes out at once, then once a second with the newest', () => {
  const { facts, progress } = open();
  for (let i = 0; i < 50; i++) progress.activity(`step ${i}`, noUsage);
  vi.advanceTimersByTime(activityIntervalMs * 3);
  expect(facts).toMatchObject([{ activity: 'step 0' }, { activity: 'step 49' }]);
  progress.activity('x'.repeat(500), noUsage);
  expect(facts).toHaveLength(3);
});

test('nothing is said after the end', () => {
  const { facts, progress } = open();
  progress.activity('one', noUsage);
  progress.activity('two', noUsage);
  progress[Symbol.dispose]();
  vi.advanceTimersByTime(activityIntervalMs * 3);
  expect(facts).toHaveLength(1);
});
