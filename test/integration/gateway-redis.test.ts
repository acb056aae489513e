/** The gateway with a real Redis: work is handed out at once, logs are live, a cancel reaches the worker; and with Redis gone. */
import { setTimeout as pause } from 'node:timers/promises';
import { connectWorker, type Lease } from '@taskbridge/broker';
import type { LogLine, TaskSummary } from '@taskbridge/contract';
import { createLog } from '@taskbridge/platform';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { answer, openGateway, settleAttempt, submit, type TestClient, type TestGateway, taskOf } from '../support/gateway.ts';
import { withRedis } from '../support/redis.ts';

const redis = withRedis();
let gateway: TestGateway;
let client: TestClient;
beforeAll(async () => {
  gateway = await openGateway({ redis_url: redis.address });
  client = await gateway.connect(gateway.token('planner'));
});
afterAll(() => gateway[Symbol.asyncDispose]());

const closers: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0)) await close();
});

/** A worker that takes attempts and keeps each until the test lets it go. */
function openWorker(): { taken: Promise<Lease>; letGo: () => void } {
  const broker = connectWorker(
    { redis: redis.address, prefix: gateway.config.redis_prefix },
    { workerId: 'w_1', host: 'here', slots: 1, versions: {} },
    { heartbeatMs: 500, leaseMs: 5_000 },
    createLog('worker', gateway.config),
  );
  let letGo = () => {};
  const held = new Promise<void>((resolve) => {
    letGo = resolve;
  });
  const taken = new Promise<Lease>((resolve, reject) => {
    broker
      .start(async (lease) => {
        resolve(lease);
        await held;
      })
      .catch(reject);
  });
  closers.push(async () => {
    letGo();
    await broker.drain(1_000);
    await broker.close();
  });
  return { taken, letGo };
}

/** The fact that an attempt began, as the reaper applies it. */
function applyStart({ job }: Lease): void {
  const { attemptId, fence } = job;
  gateway.record.settle.fact({ type: 'attempt.started', attemptId, fence, at: Date.now(), workerId: 'w_1', host: 'here' });
}

const ready = async () => (await (await fetch(`${gateway.url}/ready`)).json()) as { redis: { ok: boolean } };
/** Resolves when the gateway says that Redis answers, or that it does not. */
async function redisIs(ok: boolean): Promise<void> {
  while ((await ready()).redis.ok !== ok) await pause(20);
}

test('a submit reaches an idle worker at once; its log can be read while it runs; a cancel ends it', async () => {
  await redisIs(true);
  const { taken, letGo } = openWorker();
  const { id } = await submit(client);
  const lease = await taken;
  expect(lease.job.taskId).toBe(id);
  applyStart(lease);

  for (const n of [1, 2, 3]) lease.log({ n, at: n, kind: 'agent', text: `step ${n}` });
  const log = async (input: Record<string, unknown>) => answer<{ lines: LogLine[]; more: boolean }>(client, 'get_logs', { id, ...input });
  while ((await log({})).lines.length < 3) await pause(10);
  expect(await log({ limit: 2 })).toMatchObject({ lines: [{ text: 'step 1' }, { text: 'step 2' }], more: true });
  expect(await log({ after: 2 })).toMatchObject({ lines: [{ text: 'step 3' }], more: false });
  expect((await log({ tail: 1 })).lines.map((line) => line.n)).toEqual([3]);

  const stopped = new Promise((resolve) => {
    lease.signal.addEventListener('abort', () => resolve(lease.signal.reason));
  });
  const cancelling = answer<{ tasks: (TaskSummary & { outcome: string })[] }>(client, 'cancel_tasks', { ids: [id], reason: 'Enough.' });
  expect(await stopped).toBe('cancelled');
  settleAttempt(gateway.record, lease.job, { outcome: 'cancelled', milestone: 'none' });
  expect((await cancelling).tasks).toMatchObject([{ id, state: 'cancelled', outcome: 'ended' }]);
  letGo();
});

test('a cancel that a worker does not answer in five seconds says that it is still stopping', async () => {
  const { taken } = openWorker();
  const { id } = await submit(client);
  const lease = await taken;
  applyStart(lease);
  const began = performance.now();
  const { tasks, next } = await answer<{ tasks: (TaskSummary & { outcome: string })[]; next: string }>(client, 'cancel_tasks', {
    ids: [id],
  });
  expect(performance.now() - began).toBeLessThan(7_000);
  expect(tasks).toMatchObject([{ id, state: 'running', cancelling: true, outcome: 'stopping' }]);
  expect(next).toContain('wait_tasks');
  settleAttempt(gateway.record, lease.job, { outcome: 'cancelled', milestone: 'none' });
});

test('with Redis killed a submit is answered as quickly, and starts when Redis is back', async () => {
  await redis.kill();
  await redisIs(false);
  const began = performance.now();
  const { id } = await submit(client);
  expect(performance.now() - began).toBeLessThan(500);
  expect((await taskOf(client, id)).state).toBe('ready');
  const cancelled = await submit(client);
  expect(await answer(client, 'cancel_tasks', { ids: [cancelled.id] })).toMatchObject({ tasks: [{ state: 'cancelled' }] });

  const { taken } = openWorker();
  await redis.start();
  const lease = await taken;
  expect(lease.job.taskId).toBe(id);
  applyStart(lease);
  settleAttempt(gateway.record, lease.job);
});
