import { expect, test } from 'vitest';
import { retryAfter } from './model-relay.ts';
import { createModelWatch, type ModelAnswer } from './model-watch.ts';

const answer = (status: ModelAnswer['status'], extra: Partial<ModelAnswer> = {}): ModelAnswer => ({
  at: 0,
  status,
  message: '',
  retryAfterMs: undefined,
  ...extra,
});
const endsAfter = (...answers: ModelAnswer[]) => {
  const watch = createModelWatch();
  return answers.map((a) => watch.see(a)?.reason);
};

test.each([
  ['a refused key', [answer(401)], ['model_unauthorized']],
  ['credit that is used up', [answer(429, { message: '{"error":{"code":"insufficient_quota"}}' })], ['model_quota_exhausted']],
  ['a short limit, then success', [answer(429, { retryAfterMs: 2_000 }), answer(200)], [undefined, undefined]],
  ['a limit of days', [answer(429, { retryAfterMs: 274_579_000 })], ['model_rate_limited']],
  ['five errors in a row', Array(5).fill(answer(500)), [undefined, undefined, undefined, undefined, 'model_error']],
  ['errors with a success between', [...Array(4).fill(answer(500)), answer(200), answer(500)], Array(6).fill(undefined)],
  ['an endpoint that is away', Array(3).fill(answer('unreachable')), [undefined, undefined, 'model_unreachable']],
] as [string, ModelAnswer[], (string | undefined)[]][])('%s', (_name, answers, expected) => {
  expect(endsAfter(...answers)).toEqual(expected);
});

test.each([
  [{ 'retry-after': '3' }, 3_000],
  [{ 'retry-after-ms': '274579000' }, 274_579_000],
  [{ 'retry-after': 'Tue, 01 Dec 2026 00:00:10 GMT' }, 10_000],
  [{ 'retry-after': 'soon' }, undefined],
  [{}, undefined],
])('retry-after %j', (headers, expected) => {
  expect(retryAfter(new Headers(headers as Record<string, string>), Date.parse('2026-12-01T00:00:00Z'))).toBe(expected);
});
