/** What the reaper makes of silence: dead workers are found, living ones are never taken for dead. */
import { setTimeout as sleep } from 'node:timers/promises';
import { attemptId } from '@taskbridge/contract';
import { expect, test } from 'vitest';
import { aReport } from '../support/attempts.ts';
import { ended, gate, timing } from '../support/delivery.ts';
import { withReaper } from '../support/reaper.ts';
import { withRedis } from '../support/redis.ts';

const redis = withRedis();
/** Long enough for a busy machine. */
const soon = { timeout: 20_000 };
const openStage = withReaper(redis);

test.each([
  ['with no other worker there', false],
  ['with another worker there', true],
])('an attempt whose worker was killed fails as worker_lost, %s', async (_where, another) => {
  const stage = openStage();
  const { record, client } = stage;
  await stage.reaper();
  const taskId = await stage.submit();
  const child = await stage.stuckWorker('doomed');
  await stage.until(() => record.tasks.get(client, taskId).state === 'running');
  if (another) await stage.worker(() => Promise.resolve(), { workerId: 'other' });
  child.kill('SIGKILL');
  await stage.until(() => record.tasks.get(client, taskId).state === 'failed');
  expect(record.tasks.get(client, taskId)).toMatchObject({ attempts: 1, failure: { reason: 'worker_lost' } });
  const broker = await stage.broker();
  await expect.poll(() => broker.jobState('host-here', attemptId(taskId, 1)), soon).not.toBe('waiting');
});

test('a task that is being cancelled ends as cancelled when its worker is dead', async () => {
  const stage = openStage();
  const { record, client } = stage;
  const taskId = await stage.submit();
  await stage.dispatch();
  const reaper = await stage.reaper();
  const child = await stage.stuckWorker('doomed');
  await stage.until(() => record.tasks.get(client, taskId).state === 'running');
  await reaper.stop();
  child.kill('SIGKILL');
  expect(record.tasks.cancel(client, taskId, 'not needed')).toMatchObject({ state: 'running', cancelling: true });
  await stage.reaper();
  await stage.until(() => record.tasks.get(client, taskId).state === 'cancelled');
});

test('Redis emptied: what was queued runs, and what was running is given back by its worker, not judged dead', async () => {
  const stage = openStage();
  const { record, client } = stage;
  const [first, ...queued] = [await stage.submit(), await stage.submit(), await stage.submit()];
  const stopped = gate();
  await stage.reaper();
  await stage.worker(
    async (lease, self) => {
      const { job } = lease;
      lease.fact({ type: 'attempt.started', attemptId: job.attemptId, fence: job.fence, at: 1, workerId: 'w1', host: 'here' });
      if (job.attemptId !== attemptId(first, 1)) return self.deliver(aReport(job), []);
      expect(await ended(lease)).toBe('lease_lost');
      // Saving what was done takes a while; the worker lives all along.
      await stopped.wait;
      await self.deliver(aReport(job, { outcome: 'returned', reason: 'worker_lost', salvageRef: 'refs/x' }), []);
    },
    { slots: 1 },
  );
  const states = () => [first, ...queued].map((id) => record.tasks.get(client, id).state);
  await stage.until(() => states().join() === 'running,queued,queued');
  await stage.flush();
  await stage.until(() => queued.every((id) => stage.story(id).includes('attempt.returned')));
  stopped.open();
  await stage.until(() => states().every((state) => state === 'done'));
  expect(record.tasks.attempts(client, first)).toMatchObject([
    { state: 'returned', report: { salvageRef: 'refs/x' } },
    { state: 'succeeded' },
  ]);
  const fences = queued.map((id) => record.tasks.attempts(client, id).map(({ fence, state }) => ({ fence, state })));
  for (const [lost, then] of fences) {
    expect([lost?.state, then?.state]).toEqual(['returned', 'succeeded']);
    expect(then?.fence).toBeGreaterThan(lost?.fence as number);
  }
});

test('Redis away for longer than a worker may be silent: nobody is judged, and the attempt ends as it would have', async () => {
  const stage = openStage({ lease_ms: 20_000 });
  const { record, client } = stage;
  const hold = gate();
  await stage.reaper();
  const taskId = await stage.submit();
  await stage.worker(
    async ({ job, fact }, self) => {
      fact({ type: 'attempt.started', attemptId: job.attemptId, fence: job.fence, at: 1, workerId: 'w1', host: 'here' });
      await hold.wait;
      await self.deliver(aReport(job), []);
    },
    { leaseMs: 20_000 },
  );
  await stage.until(() => record.tasks.get(client, taskId).state === 'running');
  const broker = await stage.broker();
  await redis.kill();
  await sleep(5 * timing.heartbeatMs); // The outage itself.
  await redis.start();
  await expect.poll(() => broker.workers().catch(() => []), soon).toHaveLength(1);
  hold.open();
  await stage.until(() => record.tasks.get(client, taskId).state === 'done');
  expect(record.tasks.attempts(client, taskId)).toHaveLength(1);
});

test('a job that Redis lost while no worker is there waits as ready, and runs when one comes', async () => {
  const stage = openStage();
  const { record, client } = stage;
  const hold = gate();
  const [busy, queued] = [await stage.submit(), await stage.submit()];
  await stage.reaper();
  const leaving = await stage.worker(
    async ({ job }, self) => {
      await hold.wait;
      await self.deliver(aReport(job, { outcome: 'returned', reason: 'worker_shutdown' }), []);
    },
    { slots: 1 },
  );
  await stage.until(() => record.tasks.get(client, queued).state === 'queued');
  hold.open();
  await leaving.close();
  await stage.flush();
  await stage.until(() => [busy, queued].every((id) => record.tasks.get(client, id).state === 'ready'));
  await stage.worker(({ job }, self) => self.deliver(aReport(job), []), { workerId: 'late' });
  await stage.until(() => [busy, queued].every((id) => record.tasks.get(client, id).state === 'done'));
});

test('a worker that is silent for less than its lease is not taken for dead', async () => {
  const leaseMs = 20_000;
  const stage = openStage({ lease_ms: leaseMs });
  const { record, client } = stage;
  await stage.reaper();
  const taskId = await stage.submit();
  const child = await stage.stuckWorker('sleepy', leaseMs);
  await stage.until(() => record.tasks.get(client, taskId).state === 'running');
  const broker = await stage.broker();
  child.kill('SIGSTOP');
  await expect.poll(() => broker.workers(), soon).toEqual([]);
  await sleep(8 * timing.heartbeatMs); // The silence itself: long enough for every look but the one at the lease's end.
  child.kill('SIGCONT');
  await expect.poll(() => broker.workers(), soon).toHaveLength(1);
  expect(record.tasks.get(client, taskId).state).toBe('running');
});
