/** A worker process that is stopped, or killed, in the middle of an attempt. */
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { anyoneQueue } from '@taskbridge/contract';
import { afterEach, expect, test } from 'vitest';
import { anAttempt } from '../../test/support/attempts.ts';
import type { WorkerMessage, WorkerSettings } from '../../test/support/broker-worker.ts';
import { timing, withDelivery } from '../../test/support/delivery.ts';
import { withRedis } from '../../test/support/redis.ts';
import type { BrokerOptions } from './index.ts';

const redis = withRedis();
const delivery = withDelivery(redis);
const program = fileURLToPath(new URL('../../test/support/broker-worker.ts', import.meta.url));
const children: ChildProcess[] = [];
afterEach(async () => {
  for (const child of children.splice(0)) {
    child.kill('SIGKILL');
    if (child.exitCode === null && child.signalCode === null) await once(child, 'exit');
  }
});

/** Starts a worker process; `heard` resolves with its next message of a type. */
function startWorker(options: BrokerOptions, workerId: string) {
  const settings: WorkerSettings = { options, identity: { workerId, host: 'here', slots: 1, versions: {} }, timing };
  const child = fork(program, [JSON.stringify(settings)], { stdio: ['ignore', 'ignore', 'inherit', 'ipc'] });
  children.push(child);
  const messages: WorkerMessage[] = [];
  const waiting = new Set<() => void>();
  child.on('message', (message: WorkerMessage) => {
    messages.push(message);
    for (const look of waiting) look();
  });
  const heard = <T extends WorkerMessage['type']>(type: T) =>
    new Promise<Extract<WorkerMessage, { type: T }>>((resolve) => {
      const look = () => {
        const found = messages.find((message) => message.type === type);
        if (found) resolve(found as Extract<WorkerMessage, { type: T }>);
      };
      waiting.add(look);
      look();
    });
  return { child, heard, messages };
}

test('a worker stopped beyond its lease: it counts as gone, its attempt is told of as stalled, and on waking it is told at once to stop', async () => {
  const options = delivery.newOptions();
  const broker = await delivery.broker(options);
  const ear = await delivery.ear(options);
  const job = anAttempt();
  const first = startWorker(options, 'w1');
  await first.heard('ready');
  await broker.enqueue(anyoneQueue, job);
  await first.heard('begun');
  const gone = new Promise<void>((resolve) => {
    const look = async () => {
      if ((await broker.workers()).length === 0) resolve();
    };
    // It is called until the broker is closed, and a look then finds no line any more.
    broker.onWorkers(() => void look().catch(() => undefined));
  });
  first.child.kill('SIGSTOP');
  await gone;
  const second = startWorker(options, 'w2');
  await ear.until(({ stalled }) => stalled.includes(job.attemptId));
  await expect.poll(() => broker.jobState(anyoneQueue, job.attemptId)).toBe('failed');
  const from = performance.now();
  first.child.kill('SIGCONT');
  expect((await first.heard('ended')).reason).toBe('lease_lost');
  console.log(`SIGCONT → lease_lost: ${(performance.now() - from).toFixed(0)} ms`);
  // Nobody began it a second time.
  expect(second.messages.map((message) => message.type)).toEqual(['ready']);
});

test('a worker stopped beyond its lease knows it on waking also when it is the only one, and nobody looked', async () => {
  const options = delivery.newOptions();
  const broker = await delivery.broker(options);
  const job = anAttempt();
  const { child, heard } = startWorker(options, 'w1');
  await heard('ready');
  await broker.enqueue(anyoneQueue, job);
  await heard('begun');
  child.kill('SIGSTOP');
  await new Promise((resolve) => setTimeout(resolve, timing.leaseMs + 300));
  child.kill('SIGCONT');
  expect((await heard('ended')).reason).toBe('lease_lost');
});

test('a worker killed at work: its attempt is told of as stalled and never begun again by another', async () => {
  const options = delivery.newOptions();
  const broker = await delivery.broker(options);
  const ear = await delivery.ear(options);
  const [job, next] = [anAttempt(), anAttempt()];
  const first = startWorker(options, 'w1');
  await first.heard('ready');
  await broker.enqueue(anyoneQueue, job);
  await first.heard('begun');
  first.child.kill('SIGKILL');
  const from = performance.now();
  const second = startWorker(options, 'w2');
  await ear.until(({ stalled }) => stalled.includes(job.attemptId));
  console.log(`kill -9 → told of as stalled: ${(performance.now() - from).toFixed(0)} ms with a lease of ${timing.leaseMs} ms`);
  await broker.enqueue(anyoneQueue, next);
  expect((await second.heard('begun')).attemptId).toBe(next.attemptId);
});
