import { expect, test } from 'vitest';
import { readinessOf } from './readiness.ts';

const live = new AbortController().signal;

test.each([
  ['all is well', true, true, live, true, []],
  ['Redis is away', true, false, live, true, ['redis']],
  ['the record does not answer', false, true, live, false, ['record']],
  ['the gateway stops', true, true, AbortSignal.abort(), false, []],
])('when %s', (_name, healthy, redis, stopping, ready, reasons) => {
  const readiness = readinessOf({ healthy: () => healthy }, { ready: redis }, stopping);
  expect(readiness.ready).toBe(ready);
  expect((['record', 'redis'] as const).filter((part) => readiness[part].reason)).toEqual(reasons);
});
