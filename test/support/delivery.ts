/** Both sides of the broker on a test's own prefix, closed after each test. */

import {
  type Broker,
  type BrokerOptions,
  connectBroker,
  connectWorker,
  type Lease,
  type Listening,
  listen,
  type WorkerBroker,
} from '@taskbridge/broker';
import type { Fact } from '@taskbridge/contract';
import { pino } from 'pino';
import { afterEach } from 'vitest';
import type { TestRedis } from './redis.ts';

/** Short enough for a test, long enough for a busy machine. */
export const timing = { heartbeatMs: 300, leaseMs: 2_000 };
export const quiet = pino({ level: process.env['TEST_LOG'] ?? 'silent' });

/** A logger and the lines it wrote, as `level message`. */
export function recordingLog(): { log: typeof quiet; lines: string[] } {
  const lines: string[] = [];
  const write = (line: string) => {
    const { level, msg } = JSON.parse(line) as { level: number; msg: string };
    lines.push(`${pino.levels.labels[level]} ${msg}`);
  };
  return { log: pino({ level: 'info' }, { write }), lines };
}

/** What the ear heard, and a way to wait for it. */
export interface Heard {
  facts: Fact[];
  reports: string[];
  stalled: string[];
  cursor: string | undefined;
  listening: Listening;
  /** Resolves when `what` is true of what was heard. */
  until(what: (heard: Heard) => boolean): Promise<void>;
}

/** A place where an attempt stands still until told. */
export function gate(): { wait: Promise<void>; open(): void } {
  const { promise, resolve } = Promise.withResolvers<void>();
  return { wait: promise, open: resolve };
}

export function withDelivery(redis: TestRedis) {
  let closers: (() => Promise<void>)[] = [];
  afterEach(async () => {
    const closing = closers.reverse();
    closers = [];
    for (const close of closing) await close();
  });

  const newOptions = (): BrokerOptions => ({ redis: redis.address, prefix: redis.prefix() });
  return {
    newOptions,
    /** A broker that is ready. */
    async broker(options: BrokerOptions, log = quiet): Promise<Broker> {
      const broker = connectBroker(options, log);
      closers.push(() => broker.close());
      await new Promise<void>((resolve) => broker.onReady(resolve));
      return broker;
    },
    /** A worker that takes attempts and gives each to `run`. */
    async worker(
      options: BrokerOptions,
      run: (lease: Lease, worker: WorkerBroker) => Promise<void>,
      settings: { workerId?: string; host?: string; slots?: number; leaseMs?: number; log?: typeof quiet } = {},
    ): Promise<WorkerBroker> {
      const { workerId = 'w1', host = 'here', slots = 2, leaseMs = timing.leaseMs, log = quiet } = settings;
      const worker = connectWorker(options, { workerId, host, slots, versions: {} }, { ...timing, leaseMs }, log);
      closers.push(() => worker.close());
      await worker.start((lease) => run(lease, worker));
      return worker;
    },
    async ear(options: BrokerOptions, cursor?: string, log = quiet): Promise<Heard> {
      const waiters = new Set<() => void>();
      const heard = { facts: [], reports: [], stalled: [], cursor: undefined } as unknown as Heard;
      const told = () => {
        for (const waiter of [...waiters]) waiter();
      };
      heard.until = (what) =>
        new Promise((resolve) => {
          const waiter = () => {
            if (!what(heard)) return;
            waiters.delete(waiter);
            resolve();
          };
          waiters.add(waiter);
          waiter();
        });
      heard.listening = await listen(
        options,
        cursor,
        {
          onFact: (fact) => void (heard.facts.push(fact), told()),
          onReport: (id) => void (heard.reports.push(id), told()),
          onStalled: (id) => void (heard.stalled.push(id), told()),
        },
        (at) => {
          heard.cursor = at;
        },
        log,
      );
      closers.push(() => heard.listening.close());
      return heard;
    },
  };
}

/** Resolves with the reason once the lease has ended. */
export const ended = (lease: Lease): Promise<unknown> =>
  new Promise((resolve) => {
    if (lease.signal.aborted) resolve(lease.signal.reason);
    lease.signal.addEventListener('abort', () => resolve(lease.signal.reason), { once: true });
  });
