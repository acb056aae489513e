import { expect, test } from 'vitest';
import { createAgent } from './agent.ts';
import type { Warm } from './slot-server.ts';

const model = { model: 'scripted/model', contextTokens: 1, outputTokens: 1 };
const limits = (warm: Partial<Warm>) => createAgent(warm as Warm, model).limits;
const relayKey = { key: 'k', observe: () => undefined, revoke: () => undefined };

test('without a sandbox nothing is said to be enforced by the operating system', () => {
  expect(limits({ sandboxed: false, relayKey }).filter((l) => l.enforcedBy === 'os')).toEqual([]);
});

test('in a sandbox the key is hidden by the relay, and not without one', () => {
  const key = (warm: Partial<Warm>) => limits(warm).find((l) => l.limit === 'the model key is hidden')?.enforcedBy;
  expect(key({ sandboxed: true, relayKey })).toBe('os');
  expect(key({ sandboxed: true, relayKey: undefined })).toBe('none');
});

test('the network is never claimed', () => {
  expect(limits({ sandboxed: true, relayKey }).find((l) => l.limit === 'network')).toMatchObject({ enforcedBy: 'none' });
});
