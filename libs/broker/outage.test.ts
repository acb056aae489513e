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

/** One command on a connection of its own. */
async function ask(what: (client: Redis) => Promise<unknown>): Promise<void> {
  const client = new Redis({ path: redis.address });
  await what(client);
  client.disconnect();
}
/** Empties Redis, as an operator's FLUSHALL would. */
const flush = () => ask((client) => client.flushall());

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
  await expect.poll(() => broker.ready).toBe(true);
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
  await ask((client) => client.set(`${options.prefix}:broker:cancelled:${job.attemptId}`, '1'));
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

test('Redis killed three times under load: no attempt begins twice, and each acknowledged one either ran or is told of', async () => {
  const options = delivery.newOptions();
  // With everysec a kill may take what was acknowledged while the disk was busy; finding that is the reaper's part.
  const writeThrough = () => ask((client) => client.config('SET', 'appendfsync', 'always'));
  await writeThrough();
  const broker = await delivery.broker(options);
  const ear = await delivery.ear(options);
  const runs = new Map<string, number>();
  const run = async ({ job }: Lease) => {
    runs.set(job.attemptId, (runs.get(job.attemptId) ?? 0) + 1);
    await broker.workers().catch(() => undefined);
  };
  for (const workerId of ['w1', 'w2', 'w3']) await delivery.worker(options, run, { workerId });
  const accepted: string[] = [];
  let producing = true;
  const producer = (async () => {
    while (producing) {
      const job = anAttempt();
      const queue = accepted.length % 2 === 0 ? anyoneQueue : hostQueue('here');
      await broker.enqueue(queue, job).then(
        () => accepted.push(job.attemptId),
        () => new Promise((resolve) => setTimeout(resolve, 20)),
      );
    }
  })();
  for (let kill = 1; kill <= 3; kill++) {
    const target = accepted.length + 100;
    await expect.poll(() => accepted.length, { timeout: 20_000, interval: 5 }).toBeGreaterThan(target);
    await redis.kill();
    await redis.start();
    await writeThrough();
  }
  producing = false;
  await producer;
  const untold = async () => {
    const told = new Set([...ear.reports, ...ear.stalled]);
    const missing = accepted.filter((id) => !told.has(id));
    return Promise.all(missing.map(async (id) => ({ id, ran: runs.has(id), job: await broker.jobState(anyoneQueue, id) })));
  };
  await expect.poll(untold, { timeout: 30_000 }).toEqual([]);
  const notRun = accepted.filter((id) => !runs.has(id));
  console.log(`${accepted.length} accepted, ${runs.size} run, ${notRun.length} told of without a run`);
  expect([...runs.values()].every((count) => count === 1)).toBe(true);
  expect(notRun.length).toBeLessThan(20);
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
