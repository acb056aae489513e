/** What becomes of everything under way when Redis goes away, comes back, or is emptied. */
import { anyoneQueue, hostQueue } from '@taskbridge/contract';
import { Redis } from 'ioredis';
import { expect, test } from 'vitest';
import { anAttempt, aReport } from '../../test/support/attempts.ts';
import { ended, gate, quiet, recordingLog, timing, withDelivery } from '../../test/support/delivery.ts';
import { withRedis } from '../../test/support/redis.ts';
import { connectBroker, connectWorker, type Lease } from './index.ts';

const redis = withRedis();
const delivery = withDelivery(redis);

/** Empties Redis, as an operator's FLUSHALL would. */
async function flush(): Promise<void> {
  const client = new Redis({ path: redis.address });
  await client.flushall();
  client.disconnect();
}

const elapsed = async (promise: Promise<unknown>): Promise<number> => {
  const from = performance.now();
  await promise.catch(() => undefined);
  return performance.now() - from;
};

test('with Redis never there: nothing hangs, everything says no at once, and closing is quick', async () => {
  const { log, lines } = recordingLog();
  const nowhere = { redis: `${redis.address}.none`, prefix: redis.prefix() };
  const broker = connectBroker(nowhere, log);
  const worker = connectWorker(nowhere, { workerId: 'w1', host: 'here', slots: 1, versions: {} }, timing, quiet);
  await worker.start(() => Promise.resolve());
  const job = anAttempt();
  const calls = [
    () => broker.enqueue(anyoneQueue, job),
    () => broker.cancel(anyoneQueue, job.attemptId),
    () => broker.jobState(anyoneQueue, job.attemptId),
    () => broker.workers(),
    () => broker.waitingReports(),
    () => broker.readLog(job.attemptId, 0, 10),
    () => worker.deliver(aReport(job), []),
    () => worker.acknowledged(job.attemptId),
  ];
  for (const call of calls) {
    const outcome = call();
    expect(await elapsed(outcome)).toBeLessThan(1_000);
    await expect(outcome).rejects.toThrow();
  }
  expect(broker.ready).toBe(false);
  await expect.poll(() => lines).toEqual(['warn Redis is away; trying again until it answers']);
  expect(await elapsed(worker.drain(200))).toBeLessThan(1_000);
  expect(await elapsed(worker.close())).toBeLessThan(2_000);
  expect(await elapsed(broker.close())).toBeLessThan(1_000);
  expect(lines).toHaveLength(1);
});

test('Redis killed and back within the lease: the attempt goes on, its report arrives, the worker takes the next; said once each way', async () => {
  const options = delivery.newOptions();
  const { log, lines } = recordingLog();
  const broker = await delivery.broker(options, log);
  const ear = await delivery.ear(options);
  const goOn = gate();
  const begun = Promise.withResolvers<Lease>();
  await delivery.worker(
    options,
    async (lease, self) => {
      begun.resolve(lease);
      await goOn.wait;
      await self.deliver(aReport(lease.job), []);
    },
    { leaseMs: 20_000 },
  );
  const [first, next] = [anAttempt(), anAttempt()];
  await broker.enqueue(hostQueue('here'), first);
  const lease = await begun.promise;

  await redis.kill();
  await expect.poll(() => broker.ready).toBe(false);
  expect(await elapsed(broker.enqueue(anyoneQueue, next))).toBeLessThan(1_000);
  const back = new Promise<void>((resolve) => broker.onReady(resolve));
  await redis.start();
  await back;
  const from = performance.now();
  await broker.enqueue(anyoneQueue, next);
  await expect.poll(() => broker.jobState(anyoneQueue, next.attemptId), { timeout: 20_000 }).toBe('active');
  console.log(`Redis back → next attempt begun: ${(performance.now() - from).toFixed(0)} ms`);
  expect(lease.signal.aborted).toBe(false);
  goOn.open();
  await ear.until(({ reports }) => reports.includes(first.attemptId) && reports.includes(next.attemptId));
  await expect.poll(() => broker.waitingReports()).toHaveLength(2);
  expect(lines).toEqual(['warn Redis is away; trying again until it answers', 'info Redis is back']);
});

test('Redis away for longer than the lease: the run is told to stop, hands its report over once Redis is back, and the worker works on', async () => {
  const options = delivery.newOptions();
  const broker = await delivery.broker(options);
  const ear = await delivery.ear(options);
  const begun = Promise.withResolvers<Lease>();
  const spooled = Promise.withResolvers<void>();
  const worker = await delivery.worker(options, async (lease, self) => {
    begun.resolve(lease);
    if (lease.job.attemptId !== lost.attemptId) return;
    await ended(lease);
    await self.deliver(aReport(lease.job, { outcome: 'returned', reason: 'worker_lost' }), []).catch(() => spooled.resolve());
  });
  const lost = anAttempt();
  await broker.enqueue(anyoneQueue, lost);
  const lease = await begun.promise;
  await redis.kill();
  expect(await ended(lease)).toBe('lease_lost');
  await spooled.promise;
  // What the worker does with its spool once Redis is back.
  worker.onAcknowledged((id) => {
    if (id === undefined) void worker.deliver(aReport(lost, { outcome: 'returned', reason: 'worker_lost' }), []);
  });
  await redis.start();
  await ear.until(({ reports }) => reports.includes(lost.attemptId));
  expect((await broker.readReport(lost.attemptId))?.report.outcome).toBe('returned');
  await ear.until(({ stalled }) => stalled.includes(lost.attemptId));
  const next = anAttempt();
  await broker.enqueue(anyoneQueue, next);
  await ear.until(({ reports }) => reports.includes(next.attemptId));
});

test('a cancel sent while the worker could not hear it reaches it when Redis is back', async () => {
  const options = delivery.newOptions();
  const broker = await delivery.broker(options);
  const begun = Promise.withResolvers<Lease>();
  await delivery.worker(
    options,
    async (lease) => {
      begun.resolve(lease);
      await ended(lease);
    },
    { leaseMs: 20_000 },
  );
  const job = anAttempt();
  await broker.enqueue(anyoneQueue, job);
  const lease = await begun.promise;
  // Only the marker is set, as when the message was sent into a broken connection.
  const client = new Redis({ path: redis.address });
  await client.set(`${options.prefix}:broker:cancelled:${job.attemptId}`, '1');
  client.disconnect();
  await redis.kill();
  await redis.start();
  expect(await ended(lease)).toBe('cancelled');
});

test('emptied while an attempt waits in its queue: the same attempt can be enqueued again and runs once', async () => {
  const options = delivery.newOptions();
  const broker = await delivery.broker(options);
  const ear = await delivery.ear(options);
  const job = anAttempt();
  await broker.enqueue(anyoneQueue, job);
  await flush();
  expect(await broker.jobState(anyoneQueue, job.attemptId)).toBe('absent');
  let runs = 0;
  await delivery.worker(options, async () => {
    runs += 1;
  });
  await broker.enqueue(anyoneQueue, job);
  await ear.until(({ reports }) => reports.includes(job.attemptId));
  expect(runs).toBe(1);
});

test('emptied while a report waits: the worker finds it unacknowledged, delivers it again, and the ear is told', async () => {
  const options = delivery.newOptions();
  const broker = await delivery.broker(options);
  const job = anAttempt();
  const worker = await delivery.worker(options, (lease, self) => self.deliver(aReport(lease.job), []));
  const first = await delivery.ear(options);
  await broker.enqueue(anyoneQueue, job);
  await first.until(({ reports }) => reports.includes(job.attemptId));
  await flush();
  expect(await broker.waitingReports()).toEqual([]);
  expect(await worker.acknowledged(job.attemptId)).toBe(false);
  const told = first.reports.length;
  await worker.deliver(aReport(job), []);
  await first.until(({ reports }) => reports.length > told);
  expect((await broker.readReport(job.attemptId))?.report).toEqual(aReport(job));
});

test('emptied while an attempt is at work: its lease ends, since nothing would stop a second start any more; the worker works on', async () => {
  const options = delivery.newOptions();
  const broker = await delivery.broker(options);
  const ear = await delivery.ear(options);
  const begun = Promise.withResolvers<Lease>();
  const job = anAttempt();
  await delivery.worker(options, async (lease) => {
    begun.resolve(lease);
    if (lease.job.attemptId === job.attemptId) await ended(lease);
  });
  await broker.enqueue(anyoneQueue, job);
  const lease = await begun.promise;
  await flush();
  expect(await ended(lease)).toBe('lease_lost');
  const next = anAttempt();
  await broker.enqueue(anyoneQueue, next);
  await ear.until(({ reports }) => reports.includes(next.attemptId));
  await expect.poll(async () => (await broker.workers()).length).toBe(1);
});

test('drain and close with Redis away return in bounded time, and the runs are told to stop', async () => {
  const options = delivery.newOptions();
  const broker = await delivery.broker(options);
  const begun = Promise.withResolvers<Lease>();
  const worker = await delivery.worker(
    options,
    async (lease) => {
      begun.resolve(lease);
      await ended(lease);
    },
    { leaseMs: 30_000 },
  );
  const ear = await delivery.ear(options);
  await broker.enqueue(anyoneQueue, anAttempt());
  const lease = await begun.promise;
  await redis.kill();
  try {
    expect(await elapsed(worker.drain(300))).toBeLessThan(1_500);
    expect(await ended(lease)).toBe('shutdown');
    expect(await elapsed(worker.close())).toBeLessThan(2_000);
    expect(await elapsed(ear.listening.close())).toBeLessThan(3_000);
    expect(await elapsed(broker.close())).toBeLessThan(1_000);
  } finally {
    await redis.start();
  }
});

test('a frozen Redis: an enqueue fails in bounded time, and the line is whole again after the thaw', async () => {
  const options = delivery.newOptions();
  const broker = await delivery.broker(options);
  const job = anAttempt();
  process.kill(redis.pid, 'SIGSTOP');
  try {
    expect(await elapsed(broker.enqueue(anyoneQueue, job))).toBeLessThan(6_000);
  } finally {
    process.kill(redis.pid, 'SIGCONT');
  }
  await expect.poll(() => broker.ready, { timeout: 10_000 }).toBe(true);
  // The command that seemed to fail may have arrived after all: the id makes the second no-op.
  await broker.enqueue(anyoneQueue, job);
  expect(await broker.jobState(anyoneQueue, job.attemptId)).toBe('waiting');
});
