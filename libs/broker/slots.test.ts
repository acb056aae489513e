/** Who takes what: slots shared between two queues and several workers, and what workers say of themselves. */
import { anyoneQueue, hostQueue } from '@taskbridge/contract';
import { expect, test } from 'vitest';
import { anAttempt } from '../../test/support/attempts.ts';
import { gate, withDelivery } from '../../test/support/delivery.ts';
import { withRedis } from '../../test/support/redis.ts';

const redis = withRedis();
const delivery = withDelivery(redis);

test('two workers with two slots each never run more, whichever queue the work is in, and all of it gets done', async () => {
  const options = delivery.newOptions();
  const broker = await delivery.broker(options);
  const jobs = Array.from({ length: 30 }, () => anAttempt());
  const atWork = new Map<string, number>();
  let most = 0;
  let together = 0;
  const done = Promise.withResolvers<void>();
  let count = 0;
  const run = (workerId: string) => async () => {
    atWork.set(workerId, (atWork.get(workerId) ?? 0) + 1);
    most = Math.max(most, atWork.get(workerId) ?? 0);
    together = Math.max(
      together,
      [...atWork.values()].reduce((sum, n) => sum + n, 0),
    );
    // Stays at work long enough for both queues to offer more.
    await broker.workers();
    await new Promise((resolve) => setTimeout(resolve, 5));
    atWork.set(workerId, (atWork.get(workerId) ?? 0) - 1);
    count += 1;
    if (count === jobs.length) done.resolve();
  };
  await delivery.worker(options, run('w1'), { workerId: 'w1' });
  await delivery.worker(options, run('w2'), { workerId: 'w2' });
  await Promise.all(jobs.map((job, at) => broker.enqueue(at % 2 === 0 ? anyoneQueue : hostQueue('here'), job)));
  await done.promise;
  expect(most).toBe(2);
  expect(together).toBe(4);
});

test('a full worker leaves a job to one with a free slot, and takes it itself when it is the only one', async () => {
  const options = delivery.newOptions();
  const broker = await delivery.broker(options);
  const hold = gate();
  const begun = Promise.withResolvers<string>();
  const second = Promise.withResolvers<string>();
  await delivery.worker(
    options,
    async ({ job }) => {
      begun.resolve(job.attemptId);
      await hold.wait;
      second.resolve(job.attemptId);
    },
    { workerId: 'w1', slots: 1 },
  );
  await broker.enqueue(hostQueue('here'), anAttempt());
  await begun.promise;
  const other = anAttempt();
  await broker.enqueue(anyoneQueue, other);
  const taken = Promise.withResolvers<string>();
  await delivery.worker(
    options,
    async ({ job }) => {
      taken.resolve(job.attemptId);
    },
    { workerId: 'w2', slots: 1, host: 'elsewhere' },
  );
  expect(await taken.promise).toBe(other.attemptId);
  hold.open();
});

test('presence: a worker that comes, frees a slot, drains and leaves wakes the record side', async () => {
  const options = delivery.newOptions();
  const broker = await delivery.broker(options);
  const wakes = { count: 0, wake: () => undefined as void };
  broker.onWorkers(() => {
    wakes.count += 1;
    wakes.wake();
  });
  const until = (what: () => Promise<boolean>) =>
    new Promise<void>((resolve) => {
      const look = async () => (await what()) && resolve();
      wakes.wake = () => void look();
      void look();
    });
  const hold = gate();
  const worker = await delivery.worker(options, () => hold.wait, { slots: 3 });
  await until(async () => (await broker.workers()).length === 1);
  const job = anAttempt();
  await broker.enqueue(anyoneQueue, job);
  await until(async () => (await broker.workers())[0]?.busy === 1);
  expect((await broker.workers())[0]).toMatchObject({ workerId: 'w1', host: 'here', slots: 3, attempts: [job.attemptId], draining: false });
  const draining = worker.drain(60_000);
  await until(async () => (await broker.workers())[0]?.draining === true);
  hold.open();
  await draining;
  await until(async () => (await broker.workers())[0]?.busy === 0);
  // Its report was never delivered: the reaper must not take the attempt for lost.
  expect((await broker.workers())[0]?.attempts).toEqual([job.attemptId]);
  await worker.close();
  await until(async () => (await broker.workers()).length === 0);
});

test('a draining worker leaves what comes to others', async () => {
  const options = delivery.newOptions();
  const broker = await delivery.broker(options);
  const hold = gate();
  const begun = Promise.withResolvers<void>();
  const first = await delivery.worker(
    options,
    async () => {
      begun.resolve();
      await hold.wait;
    },
    { workerId: 'w1' },
  );
  await broker.enqueue(anyoneQueue, anAttempt());
  await begun.promise;
  const drained = first.drain(60_000);
  const job = anAttempt();
  await broker.enqueue(anyoneQueue, job);
  const taken = Promise.withResolvers<string>();
  await delivery.worker(options, async (lease) => taken.resolve(lease.job.attemptId), { workerId: 'w2' });
  expect(await taken.promise).toBe(job.attemptId);
  hold.open();
  await drained;
});
