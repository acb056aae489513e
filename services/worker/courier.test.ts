import type { Parcel } from '@taskbridge/broker';
import type { Report } from '@taskbridge/contract';
import { createLog } from '@taskbridge/platform';
import { expect, test, vi } from 'vitest';
import { startCourier } from './courier.ts';
import type { Spool, Spooled } from './spool.ts';

const log = createLog('test', { log_format: 'json', log_level: 'fatal' as 'error' });
const resendMs = { first: 20, longest: 80 };
const entry = (attemptId: string): Spooled => ({ report: { attemptId } as Report, parcels: [] });

function memorySpool(entries: Spooled[] = []): Spool & { entries: Map<string, Spooled> } {
  const kept = new Map(entries.map((e) => [e.report.attemptId, e]));
  return {
    entries: kept,
    put: async (e) => void kept.set(e.report.attemptId, e),
    list: async () => [...kept.keys()],
    read: async (id) => kept.get(id),
    remove: async (id) => void kept.delete(id),
  };
}

/** A Redis that can be away and can forget, and a record that acknowledges when told. */
function fakeBroker() {
  let listener: (id: string | undefined) => void = () => undefined;
  const broker = {
    away: false,
    delivered: [] as string[],
    acked: new Set<string>(),
    deliver: vi.fn(async ({ attemptId }: Report, _parcels: Parcel[]) => {
      if (broker.away) throw new Error('Redis is away');
      broker.delivered.push(attemptId);
    }),
    acknowledged: async (id: string) => {
      if (broker.away) throw new Error('Redis is away');
      return broker.acked.has(id);
    },
    onAcknowledged: (l: typeof listener) => void (listener = l),
    say: (id: string | undefined) => listener(id),
  };
  return broker;
}

test('a report is kept until it is acknowledged', async () => {
  const broker = fakeBroker();
  const spool = memorySpool();
  const courier = startCourier({ broker, spool, log, resendMs });
  await courier.send(entry('a'));
  expect(broker.delivered).toEqual(['a']);
  expect(spool.entries.size).toBe(1);
  broker.say('a');
  await vi.waitFor(() => expect(spool.entries.size).toBe(0));
  await courier.close();
});

test('Redis away at the moment of completion: sent when it is back', async () => {
  const broker = fakeBroker();
  broker.away = true;
  const courier = startCourier({ broker, spool: memorySpool(), log, resendMs: { first: 60_000, longest: 60_000 } });
  await courier.send(entry('a'));
  expect(broker.delivered).toEqual([]);
  broker.away = false;
  broker.say(undefined);
  await vi.waitFor(() => expect(broker.delivered).toEqual(['a']));
  await courier.close();
});

test('Redis emptied without a word: sent again, ever more rarely', async () => {
  const broker = fakeBroker();
  const courier = startCourier({ broker, spool: memorySpool(), log, resendMs });
  await courier.send(entry('a'));
  await vi.waitFor(() => expect(broker.delivered.length).toBeGreaterThanOrEqual(3));
  await courier.close();
});

test('what an earlier process left is sent at the start, what was acknowledged meanwhile is deleted', async () => {
  const broker = fakeBroker();
  broker.acked.add('old');
  const spool = memorySpool([entry('old'), entry('left')]);
  const courier = startCourier({ broker, spool, log, resendMs });
  await vi.waitFor(() => expect(broker.delivered).toEqual(['left']));
  expect([...spool.entries.keys()]).toEqual(['left']);
  await courier.close();
});

test('one report that can not be handled holds up no other', async () => {
  const broker = fakeBroker();
  const spool = memorySpool([entry('bad'), entry('good')]);
  const read = spool.read;
  spool.read = async (id) => (id === 'bad' ? Promise.reject(new Error('input/output error')) : read(id));
  const courier = startCourier({ broker, spool, log, resendMs });
  await vi.waitFor(() => expect(broker.delivered).toEqual(['good']));
  await courier.close();
});

test('a disk that takes nothing: the report is delivered all the same, and said to be lost when that fails too', async () => {
  const broker = fakeBroker();
  const spool = { ...memorySpool(), put: () => Promise.reject(new Error('no space left on device')) };
  const courier = startCourier({ broker, spool, log, resendMs });
  await courier.send(entry('a'));
  expect(broker.delivered).toEqual(['a']);
  broker.away = true;
  await expect(courier.send(entry('b'))).rejects.toThrow('Redis is away');
  await courier.close();
});
