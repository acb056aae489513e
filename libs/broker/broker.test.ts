/** The way of an attempt through a real Redis: in, at work, out, acknowledged. */
import { anyoneQueue, hostQueue } from '@taskbridge/contract';
import { expect, test } from 'vitest';
import { anAttempt, aReport } from '../../test/support/attempts.ts';
import { ended, gate, withDelivery } from '../../test/support/delivery.ts';
import { withRedis } from '../../test/support/redis.ts';
import type { Lease } from './index.ts';

const redis = withRedis();
const delivery = withDelivery(redis);

test('an attempt goes in, is worked on and told of, and its report waits until it is acknowledged', async () => {
  const options = delivery.newOptions();
  const broker = await delivery.broker(options);
  const ear = await delivery.ear(options);
  const job = anAttempt();
  const content = Buffer.from('diff --git a b\n'.repeat(1_000));
  const worker = await delivery.worker(options, async (lease, self) => {
    const { attemptId, fence } = lease.job;
    lease.fact({ type: 'attempt.started', attemptId, fence, at: 1, workerId: 'w1', host: 'here' });
    lease.fact({ type: 'attempt.phase', attemptId, fence, at: 2, phase: 'agent' });
    await self.deliver(aReport(lease.job), [{ name: 'diff', mediaType: 'text/x-diff', truncated: false, content }]);
  });
  const acknowledged = new Promise((resolve) => worker.onAcknowledged((id) => id !== undefined && resolve(id)));

  await broker.enqueue(hostQueue('here'), job);
  await ear.until(({ reports, facts }) => reports.includes(job.attemptId) && facts.length === 2);
  expect(ear.facts.map((fact) => fact.type)).toEqual(['attempt.started', 'attempt.phase']);
  expect(await broker.waitingReports()).toEqual([job.attemptId]);
  expect(await broker.readReport(job.attemptId)).toEqual({
    report: aReport(job),
    parcels: [{ name: 'diff', mediaType: 'text/x-diff', truncated: false, content }],
  });
  expect(await worker.acknowledged(job.attemptId)).toBe(false);

  await broker.acknowledge(job.attemptId);
  expect(await acknowledged).toBe(job.attemptId);
  expect(await worker.acknowledged(job.attemptId)).toBe(true);
  expect(await broker.readReport(job.attemptId)).toBeUndefined();
  expect(await broker.waitingReports()).toEqual([]);
  await broker.forget(hostQueue('here'), job.attemptId);
  expect(await broker.jobState(hostQueue('here'), job.attemptId)).toBe('absent');
});

test('an attempt delivered again after its job was forgotten is refused, and leaves no job behind', async () => {
  const options = delivery.newOptions();
  const broker = await delivery.broker(options);
  const ear = await delivery.ear(options);
  const job = anAttempt();
  let runs = 0;
  await delivery.worker(options, async () => {
    runs += 1;
  });
  await broker.enqueue(anyoneQueue, job);
  await ear.until(({ reports }) => reports.length === 1);
  await broker.forget(anyoneQueue, job.attemptId);
  await broker.enqueue(anyoneQueue, job);
  await ear.until(({ reports }) => reports.length === 2);
  await expect.poll(() => broker.jobState(anyoneQueue, job.attemptId)).toBe('absent');
  expect(runs).toBe(1);
});

test('enqueueing an attempt twice gives it one job; a later attempt of the task is not held up by the job of an earlier one', async () => {
  const options = delivery.newOptions();
  const broker = await delivery.broker(options);
  const ear = await delivery.ear(options);
  const first = anAttempt();
  const second = anAttempt({ taskId: first.taskId, number: 2 });
  const begun: string[] = [];
  await broker.enqueue(anyoneQueue, first);
  await broker.enqueue(anyoneQueue, first);
  await delivery.worker(options, async ({ job }) => {
    begun.push(job.attemptId);
  });
  await ear.until(({ reports }) => reports.includes(first.attemptId));
  expect(await broker.jobState(anyoneQueue, first.attemptId)).toBe('completed');
  await broker.enqueue(anyoneQueue, second);
  await ear.until(({ reports }) => reports.includes(second.attemptId));
  expect(begun).toEqual([first.attemptId, second.attemptId]);
});

test('a run that ends without a report fails its job, and the ear is told', async () => {
  const options = delivery.newOptions();
  const broker = await delivery.broker(options);
  const ear = await delivery.ear(options);
  const job = anAttempt();
  await delivery.worker(options, () => Promise.reject(new Error('no disk')));
  await broker.enqueue(anyoneQueue, job);
  await ear.until(({ reports }) => reports.includes(job.attemptId));
  expect(await broker.jobState(anyoneQueue, job.attemptId)).toBe('failed');
  await expect.poll(async () => (await broker.workers())[0]?.attempts).toEqual([]);
});

test('cancel before the start takes the job out of its queue, and a copy that comes later is refused', async () => {
  const options = delivery.newOptions();
  const broker = await delivery.broker(options);
  const ear = await delivery.ear(options);
  const job = anAttempt();
  let runs = 0;
  await broker.enqueue(anyoneQueue, job);
  await broker.cancel(anyoneQueue, job.attemptId);
  expect(await broker.jobState(anyoneQueue, job.attemptId)).toBe('absent');
  await broker.enqueue(anyoneQueue, job);
  await delivery.worker(options, async () => {
    runs += 1;
  });
  await ear.until(({ reports }) => reports.includes(job.attemptId));
  expect(runs).toBe(0);
});

test('cancel at work ends the lease at once; cancel after the end harms nothing', async () => {
  const options = delivery.newOptions();
  const broker = await delivery.broker(options);
  const ear = await delivery.ear(options);
  const job = anAttempt();
  const begun = Promise.withResolvers<Lease>();
  await delivery.worker(options, async (lease, self) => {
    begun.resolve(lease);
    await ended(lease);
    await self.deliver(aReport(lease.job, { outcome: 'cancelled' }), []);
  });
  await broker.enqueue(anyoneQueue, job);
  const lease = await begun.promise;
  const from = performance.now();
  await broker.cancel(anyoneQueue, job.attemptId);
  expect(await ended(lease)).toBe('cancelled');
  console.log(`cancel → lease ended: ${(performance.now() - from).toFixed(1)} ms`);
  await ear.until(({ reports }) => reports.filter((id) => id === job.attemptId).length >= 2);
  await broker.cancel(anyoneQueue, job.attemptId);
  expect((await broker.readReport(job.attemptId))?.report.outcome).toBe('cancelled');
});

test('the log of a living attempt can be followed: bounded lines, by number, with wake-ups, also of someone who came late', async () => {
  const options = delivery.newOptions();
  const broker = await delivery.broker(options);
  const job = anAttempt();
  const done = gate();
  const begun = Promise.withResolvers<Lease>();
  await delivery.worker(options, async (lease) => {
    begun.resolve(lease);
    await done.wait;
  });
  const woken = Promise.withResolvers<void>();
  const end = broker.watchLog(job.attemptId, woken.resolve);
  await broker.enqueue(anyoneQueue, job);
  const lease = await begun.promise;
  lease.log({ n: 1, at: 1, kind: 'agent', text: `${'x'.repeat(20_000)}\u0000\ud800` });
  lease.log({ n: 2, at: 2, kind: 'tool', text: 'second' });
  await woken.promise;
  await expect.poll(() => broker.readLog(job.attemptId, 0, 10)).toHaveLength(2);
  const [first] = await broker.readLog(job.attemptId, 0, 10);
  expect(first?.text).toBe(`${'x'.repeat(8_192)}…`);
  expect(await broker.readLog(job.attemptId, 1, 10)).toEqual([{ n: 2, at: 2, kind: 'tool', text: 'second' }]);
  end();
  done.open();
});

test('a second ear goes on where the first left off: nothing missed, nothing from before', async () => {
  const options = delivery.newOptions();
  const broker = await delivery.broker(options);
  const first = await delivery.ear(options);
  await delivery.worker(options, async ({ job, fact }) => {
    fact({ type: 'attempt.phase', attemptId: job.attemptId, fence: job.fence, at: 1, phase: 'agent' });
  });
  const [before, meanwhile] = [anAttempt(), anAttempt({ host: 'here' })];
  await broker.enqueue(anyoneQueue, before);
  await first.until(({ facts, reports }) => facts.length === 1 && reports.length === 1);
  await first.listening.close();
  await broker.enqueue(hostQueue('here'), meanwhile);
  await expect.poll(() => broker.jobState(hostQueue('here'), meanwhile.attemptId)).toBe('completed');
  const second = await delivery.ear(options, first.cursor);
  await second.until(({ facts, reports }) => facts.length === 1 && reports.length === 1);
  expect(second.facts[0]?.attemptId).toBe(meanwhile.attemptId);
  expect(second.reports).toEqual([meanwhile.attemptId]);
});

test('an idle worker starts an attempt within milliseconds of its enqueue', async () => {
  const options = delivery.newOptions();
  const broker = await delivery.broker(options);
  let begun = Promise.withResolvers<number>();
  await delivery.worker(options, async () => begun.resolve(performance.now()));
  const took: number[] = [];
  for (let i = 0; i < 50; i++) {
    begun = Promise.withResolvers<number>();
    const from = performance.now();
    await broker.enqueue(anyoneQueue, anAttempt());
    took.push((await begun.promise) - from);
  }
  took.sort((a, b) => a - b);
  console.log(`enqueue → start, 50 times: median ${took[25]?.toFixed(1)} ms, worst ${took.at(-1)?.toFixed(1)} ms`);
  expect(took[25]).toBeLessThan(100);
});
