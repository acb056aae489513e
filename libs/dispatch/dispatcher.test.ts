/** From the record's decision to a worker, against a real record, a real Redis and real workers. */
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { type Broker, connectBroker, type Lease } from '@taskbridge/broker';
import { expect, test } from 'vitest';
import { aReport } from '../../test/support/attempts.ts';
import { ended, gate, quiet, withDelivery } from '../../test/support/delivery.ts';
import type { CrashSettings } from '../../test/support/dispatch-crash.ts';
import { withRecord } from '../../test/support/record.ts';
import { withRedis } from '../../test/support/redis.ts';
import { createDispatcher, type Dispatcher } from './index.ts';

const redis = withRedis();
const delivery = withDelivery(redis);
const records = withRecord();
const crashProgram = fileURLToPath(new URL('../../test/support/dispatch-crash.ts', import.meta.url));

/** The broker as it is, but for what `other` replaces. */
const instead = (broker: Broker, other: Partial<Broker>): Broker => ({
  ...broker,
  get ready() {
    return broker.ready;
  },
  ...other,
});

async function closing(dispatcher: Dispatcher, what: () => Promise<void>): Promise<void> {
  try {
    await what();
  } finally {
    await dispatcher.close();
  }
}

test('a submitted task reaches an idle worker within milliseconds, and its report ends it', async () => {
  const options = delivery.newOptions();
  const broker = await delivery.broker(options);
  const { record, client, submit } = records.open();
  const begun = Promise.withResolvers<number>();
  const ear = await delivery.ear(options);
  await delivery.worker(options, async (lease, self) => {
    begun.resolve(performance.now());
    await self.deliver(aReport(lease.job), []);
  });
  await expect.poll(() => broker.workers()).toHaveLength(1);
  const dispatcher = createDispatcher({ record, broker, lookAhead: 1, log: quiet });
  await closing(dispatcher, async () => {
    const from = performance.now();
    const taskId = await submit();
    dispatcher.wake();
    console.log(`submit → start: ${((await begun.promise) - from).toFixed(1)} ms`);
    await ear.until(({ reports }) => reports.length > 0);
    const waiting = await broker.readReport(`${taskId}-a1`);
    expect(record.settle.report(waiting?.report ?? aReport({} as never), [])).toBe('applied');
    expect(record.tasks.get(client, taskId).state).toBe('done');
    expect(record.dispatch.pending(10)).toEqual([]);
  });
});

test('with no worker there nothing is handed out; the first that comes gets it without being asked for', async () => {
  const options = delivery.newOptions();
  const broker = await delivery.broker(options);
  const { record, client, submit } = records.open();
  const taskId = await submit();
  const dispatcher = createDispatcher({ record, broker, lookAhead: 1, log: quiet });
  await closing(dispatcher, async () => {
    dispatcher.wake();
    await dispatcher.close();
    expect(record.tasks.get(client, taskId).state).toBe('ready');
  });
  const begun = Promise.withResolvers<string>();
  await closing(createDispatcher({ record, broker, lookAhead: 1, log: quiet }), async () => {
    await delivery.worker(options, async (lease) => begun.resolve(lease.job.taskId));
    expect(await begun.promise).toBe(taskId);
  });
});

test('no more is handed out than free slots and the look-ahead; a draining worker counts for nothing', async () => {
  const options = delivery.newOptions();
  const broker = await delivery.broker(options);
  const { record, submit } = records.open();
  for (let i = 0; i < 6; i++) await submit();
  const hold = gate();
  const draining = await delivery.worker(options, () => hold.wait, { workerId: 'w1', slots: 4 });
  const drained = draining.drain(60_000);
  await delivery.worker(options, () => hold.wait, { workerId: 'w2', slots: 2 });
  await expect.poll(async () => (await broker.workers()).map((worker) => worker.draining).sort()).toEqual([false, true]);
  await closing(createDispatcher({ record, broker, lookAhead: 1, log: quiet }), async () => {
    await expect.poll(() => record.dispatch.openAttempts().length).toBe(3);
    expect(record.dispatch.openAttempts().every((attempt) => attempt.delivered)).toBe(true);
  });
  hold.open();
  await drained;
});

test('Redis away at the submit: the submit is safe, and the task starts when Redis is back', async () => {
  const options = delivery.newOptions();
  const { record, submit } = records.open();
  await redis.kill();
  const broker = connectBroker(options, quiet);
  const dispatcher = createDispatcher({ record, broker, lookAhead: 1, log: quiet });
  const begun = Promise.withResolvers<string>();
  await delivery.worker(options, async (lease) => begun.resolve(lease.job.taskId));
  await closing(dispatcher, async () => {
    const taskId = await submit();
    dispatcher.wake();
    await redis.start();
    const from = performance.now();
    expect(await begun.promise).toBe(taskId);
    console.log(`Redis back → start: ${(performance.now() - from).toFixed(0)} ms`);
  });
  await broker.close();
});

test('a cancel reaches a worker at work through the outbox', async () => {
  const options = delivery.newOptions();
  const broker = await delivery.broker(options);
  const { record, client, submit } = records.open();
  const begun = Promise.withResolvers<Lease>();
  await delivery.worker(options, async (lease) => {
    begun.resolve(lease);
    await ended(lease);
  });
  const taskId = await submit();
  const dispatcher = createDispatcher({ record, broker, lookAhead: 1, log: quiet });
  await closing(dispatcher, async () => {
    const lease = await begun.promise;
    const { attemptId, fence } = lease.job;
    record.settle.fact({ type: 'attempt.started', attemptId, fence, at: Date.now(), workerId: 'w1', host: 'here' });
    record.tasks.cancel(client, taskId, 'changed my mind');
    dispatcher.wake();
    expect(await ended(lease)).toBe('cancelled');
  });
});

test('a row that cannot be delivered holds back no other, and is tried again', async () => {
  const options = delivery.newOptions();
  const broker = await delivery.broker(options);
  const { record, submit } = records.open();
  const hold = gate();
  await delivery.worker(options, () => hold.wait, { slots: 3 });
  await expect.poll(() => broker.workers()).toHaveLength(1);
  const poison = await submit({ priority: 9 });
  await submit();
  await submit();
  let refusing = true;
  const stubborn = instead(broker, {
    enqueue: (queue, job) => {
      if (refusing && job.taskId === poison) return Promise.reject(new Error('OOM command not allowed'));
      return broker.enqueue(queue, job);
    },
  });
  const delivered = () => record.dispatch.openAttempts().filter((attempt) => attempt.delivered);
  await closing(createDispatcher({ record, broker: stubborn, lookAhead: 0, log: quiet }), async () => {
    await expect.poll(delivered).toHaveLength(2);
    expect(delivered().map((attempt) => attempt.taskId)).not.toContain(poison);
    refusing = false;
    await expect.poll(delivered, { timeout: 5_000 }).toHaveLength(3);
    hold.open();
  });
});

test('wakes that come together are answered together, and one during a pass is not lost', async () => {
  const options = delivery.newOptions();
  const broker = await delivery.broker(options);
  const { record } = records.open();
  let looks = 0;
  const counting = instead(broker, {
    onReady: () => undefined,
    onWorkers: () => undefined,
    workers: () => {
      looks += 1;
      if (looks === 1) dispatcher.wake();
      return broker.workers();
    },
  });
  const dispatcher = createDispatcher({ record, broker: counting, lookAhead: 1, log: quiet });
  for (let i = 0; i < 100; i++) dispatcher.wake();
  await expect.poll(() => looks).toBe(2);
  await dispatcher.close();
  expect(looks).toBe(2);
});

/** Runs a dispatching process that is killed at `when`. */
async function crash(settings: CrashSettings): Promise<void> {
  const child = fork(crashProgram, [JSON.stringify(settings)], { stdio: ['ignore', 'ignore', 'inherit', 'ipc'] });
  const [, signal] = (await once(child, 'exit')) as [number | null, NodeJS.Signals | null];
  expect(signal).toBe('SIGKILL');
}

test('killed between commit and enqueue: the next start delivers it', async () => {
  const options = delivery.newOptions();
  const broker = await delivery.broker(options);
  const { record, dataDir, submit } = records.open();
  const taskId = await submit();
  const begun: string[] = [];
  await delivery.worker(options, async ({ job }) => {
    begun.push(job.taskId);
  });
  await expect.poll(() => broker.workers()).toHaveLength(1);
  await crash({ options, dataDir, when: 'before' });
  expect(record.dispatch.openAttempts()).toMatchObject([{ taskId, state: 'queued', delivered: false }]);
  expect(begun).toEqual([]);
  await closing(createDispatcher({ record, broker, lookAhead: 1, log: quiet }), async () => {
    await expect.poll(() => begun).toEqual([taskId]);
  });
});

test('killed between enqueue and the record knowing: the attempt runs once, though it is delivered again after its end', async () => {
  const options = delivery.newOptions();
  const broker = await delivery.broker(options);
  const ear = await delivery.ear(options);
  const { record, dataDir, submit } = records.open();
  const taskId = await submit();
  const attempt = `${taskId}-a1`;
  let runs = 0;
  await delivery.worker(options, async () => {
    runs += 1;
  });
  await expect.poll(() => broker.workers()).toHaveLength(1);
  await crash({ options, dataDir, when: 'after' });
  await ear.until(({ reports }) => reports.includes(attempt));
  await broker.forget('host-here', attempt);
  expect(record.dispatch.openAttempts()).toMatchObject([{ attemptId: attempt, delivered: false }]);
  const told = ear.reports.length;
  await closing(createDispatcher({ record, broker, lookAhead: 0, log: quiet }), async () => {
    await ear.until(({ reports }) => reports.length > told);
    expect(record.dispatch.openAttempts()).toMatchObject([{ attemptId: attempt, delivered: true }]);
  });
  expect(runs).toBe(1);
});
