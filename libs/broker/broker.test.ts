/** The way of an attempt through a real Redis: in, at work, out, acknowledged. */
import { type Fact, hostQueue } from '@taskbridge/contract';
import { pino } from 'pino';
import { expect, test } from 'vitest';
import { anAttempt, aReport } from '../../test/support/attempts.ts';
import { withRedis } from '../../test/support/redis.ts';
import { connectBroker, connectWorker, type Lease, listen } from './index.ts';

const redis = withRedis();
const log = pino({ level: process.env['TEST_LOG'] ?? 'silent' });

test('an attempt goes in, is worked on, is told of, and its report comes out until it is acknowledged', async () => {
  const options = { redis: redis.address, prefix: redis.prefix() };
  const broker = connectBroker(options, log);
  await new Promise<void>((resolve) => broker.onReady(resolve));
  const facts: Fact[] = [];
  const reported = Promise.withResolvers<string>();
  let cursor: string | undefined;
  const listening = await listen(
    options,
    undefined,
    { onFact: (fact) => void facts.push(fact), onReport: (id) => reported.resolve(id), onStalled: () => undefined },
    (at) => {
      cursor = at;
    },
    log,
  );
  const worker = connectWorker(
    options,
    { workerId: 'w1', host: 'here', slots: 2, versions: { taskbridge: '1' } },
    { heartbeatMs: 300, leaseMs: 2_000 },
    log,
  );
  const acknowledged = Promise.withResolvers<string>();
  worker.onAcknowledged((id) => id !== undefined && acknowledged.resolve(id));
  const job = anAttempt();
  const content = Buffer.from('diff --git a b\n'.repeat(1000));
  await worker.start(async (lease: Lease) => {
    const { attemptId, fence } = lease.job;
    lease.fact({ type: 'attempt.started', attemptId, fence, at: 1, workerId: 'w1', host: 'here' });
    lease.fact({ type: 'attempt.phase', attemptId, fence, at: 2, phase: 'agent' });
    lease.log({ n: 1, at: 1, kind: 'agent', text: 'x'.repeat(20_000) });
    lease.log({ n: 2, at: 2, kind: 'agent', text: 'second' });
    await worker.deliver(aReport(lease.job), [{ name: 'diff', mediaType: 'text/x-diff', truncated: false, content }]);
  });
  await broker.enqueue(hostQueue('here'), job);
  expect(await reported.promise).toBe(job.attemptId);
  expect(await broker.waitingReports()).toEqual([job.attemptId]);
  const read = await broker.readReport(job.attemptId);
  expect(read?.report).toEqual(aReport(job));
  expect(read?.parcels[0]).toEqual({ name: 'diff', mediaType: 'text/x-diff', truncated: false, content });
  const lines = await broker.readLog(job.attemptId, 0, 10);
  expect(lines.map((line) => line.n)).toEqual([1, 2]);
  expect(lines[0]?.text.length).toBe(8_193);
  expect(await broker.readLog(job.attemptId, 1, 10)).toHaveLength(1);
  await broker.acknowledge(job.attemptId);
  expect(await acknowledged.promise).toBe(job.attemptId);
  expect(await worker.acknowledged(job.attemptId)).toBe(true);
  expect(await broker.readReport(job.attemptId)).toBeUndefined();
  expect(await broker.readLog(job.attemptId, 0, 10)).toEqual([]);
  await worker.close();
  await listening.close();
  expect(facts.map((fact) => fact.type)).toEqual(['attempt.started', 'attempt.phase']);
  expect(JSON.parse(cursor ?? '{}')).toHaveProperty('host-here');
  expect(await broker.workers()).toEqual([]);
  await broker.close();
});
