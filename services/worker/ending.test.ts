import type { LeaseEnd } from '@taskbridge/broker';
import { AttemptFailure } from '@taskbridge/contract';
import { expect, test } from 'vitest';
import { judgeFailure } from './ending.ts';

const open = new AbortController().signal;

test('a failed step ends the attempt with its own reason', () => {
  expect(judgeFailure(new AttemptFailure('model_rate_limited', 'Wait.', { retryAfterMs: 274_579_000 }), open)).toEqual({
    outcome: 'failed',
    reason: 'model_rate_limited',
    detail: 'Wait.',
    retryAfterMs: 274_579_000,
  });
});

test.each<[LeaseEnd, string, string | null]>([
  ['cancelled', 'cancelled', null],
  ['shutdown', 'returned', 'worker_shutdown'],
  ['lease_lost', 'returned', 'worker_lost'],
])('when the lease ended with %s, whatever was thrown is its echo', (end, outcome, reason) => {
  expect(judgeFailure(new AttemptFailure('agent_crashed', 'Gone.'), AbortSignal.abort(end))).toMatchObject({ outcome, reason });
});

test('anything else is a fault of TaskBridge, but a full disk is named', () => {
  expect(judgeFailure(new TypeError('x is not a function'), open)).toMatchObject({ outcome: 'failed', reason: 'internal_error' });
  const full = Object.assign(new Error('no space left on device'), { code: 'ENOSPC' });
  expect(judgeFailure(new Error('writing failed', { cause: full }), open)).toMatchObject({ reason: 'disk_full' });
});
