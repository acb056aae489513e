/** Reports on their way into the record: each applied exactly once, whatever happens to the reaper. */
import { attemptId, type Report } from '@taskbridge/contract';
import { expect, test } from 'vitest';
import { aReport } from '../support/attempts.ts';
import { gate, recordingLog } from '../support/delivery.ts';
import { type ReaperStage, withReaper } from '../support/reaper.ts';
import { withRedis } from '../support/redis.ts';

/** Long enough for a busy machine. */
const soon = { timeout: 20_000 };
const openStage = withReaper(withRedis());

const allDone = (tasks: string[], { record, client }: ReaperStage) => tasks.every((id) => record.tasks.get(client, id).state === 'done');
const submitMany = (stage: ReaperStage, count: number) => Promise.all(Array.from({ length: count }, () => stage.submit()));

/** How often each task was settled. */
const endings = (tasks: string[], stage: ReaperStage) =>
  tasks.map((id) => stage.story(id).filter((type) => ['attempt.succeeded', 'attempt.failed', 'attempt.returned'].includes(type)));
const once = (tasks: string[]) => tasks.map(() => ['attempt.succeeded']);

test('a report becomes the end of its task, with its artifacts; then nothing of it is left in Redis, and its worker knows', async () => {
  const stage = openStage();
  const { record, client } = stage;
  const taskId = await stage.submit();
  const acknowledged = Promise.withResolvers<string>();
  const worker = await stage.worker(async ({ job, fact }, self) => {
    fact({ type: 'attempt.started', attemptId: job.attemptId, fence: job.fence, at: 1, workerId: 'w1', host: 'here' });
    fact({ type: 'attempt.phase', attemptId: job.attemptId, fence: job.fence, at: 2, phase: 'work', baseCommit: 'b'.repeat(40) });
    const diff = { name: 'diff', mediaType: 'text/x-diff', truncated: false, content: Buffer.from([0xff, 0x00, 0x2b]) };
    await self.deliver(aReport(job, { milestone: 'patch' }), [diff]);
  });
  worker.onAcknowledged((id) => id && acknowledged.resolve(id));
  await stage.reaper();
  await stage.until(() => allDone([taskId], stage));
  expect(await acknowledged.promise).toBe(attemptId(taskId, 1));
  expect(record.tasks.get(client, taskId)).toMatchObject({ milestone: 'patch', baseCommit: 'b'.repeat(40), attempts: 1 });
  expect(record.artifacts.read(client, taskId, 'diff')?.content).toEqual(Buffer.from([0xff, 0x00, 0x2b]));
  expect(endings([taskId], stage)).toEqual(once([taskId]));
  const broker = await stage.broker();
  await expect.poll(() => broker.jobState('host-here', attemptId(taskId, 1)), soon).toBe('absent');
  expect(await broker.waitingReports()).toEqual([]);
});

test('reports that came while no reaper was there are applied when one comes', async () => {
  const stage = openStage();
  const tasks = await submitMany(stage, 3);
  await stage.dispatch();
  const delivered = gate();
  let count = 0;
  await stage.worker(
    async ({ job }, self) => {
      await self.deliver(aReport(job), []);
      count += 1;
      if (count === tasks.length) delivered.open();
    },
    { slots: 3 },
  );
  await delivered.wait;
  expect(allDone(tasks, stage)).toBe(false);
  await stage.reaper();
  await stage.until(() => allDone(tasks, stage));
  expect(endings(tasks, stage)).toEqual(once(tasks));
});

test('a reaper that is killed again and again while reports come in applies each exactly once', async () => {
  const stage = openStage();
  const tasks = await submitMany(stage, 40);
  const done = () => tasks.filter((id) => stage.record.tasks.get(stage.client, id).state === 'done').length;
  await stage.worker(({ job }, self) => self.deliver(aReport(job), []), { slots: 4 });
  for (const kills of [5, 15, 25]) {
    const reaper = await stage.reaperProcess();
    await stage.until(() => done() >= kills);
    await reaper.kill('SIGKILL');
    expect(done()).toBeLessThan(tasks.length);
  }
  await stage.reaperProcess();
  await stage.until(() => allDone(tasks, stage));
  expect(endings(tasks, stage)).toEqual(once(tasks));
  const broker = await stage.broker();
  await expect.poll(() => broker.waitingReports(), soon).toEqual([]);
});

test('two reapers at once settle nothing twice', async () => {
  const stage = openStage();
  const tasks = await submitMany(stage, 30);
  await Promise.all([stage.reaperProcess(), stage.reaperProcess(), stage.reaper()]);
  await stage.worker(({ job }, self) => self.deliver(aReport(job), []), { slots: 4 });
  await stage.until(() => allDone(tasks, stage));
  expect(endings(tasks, stage)).toEqual(once(tasks));
  expect(tasks.map((id) => stage.record.tasks.attempts(stage.client, id).length)).toEqual(tasks.map(() => 1));
});

test.each([
  ['breaks the contract', { outcome: 'splendid' } as unknown as Partial<Report>, []],
  ['has two artifacts of one name', {}, ['log', 'log']],
])('a report that %s ends its own attempt as an internal error, and keeps nobody else back', async (_what, wrong, names) => {
  const stage = openStage();
  const { record, client } = stage;
  const [bad, ...good] = (await submitMany(stage, 3)) as [string, ...string[]];
  const acknowledged = new Set<string>();
  const parcels = names.map((name) => ({ name, mediaType: 'text/plain', truncated: false, content: Buffer.from(name) }));
  const worker = await stage.worker(
    ({ job }, self) => (job.taskId === bad ? self.deliver(aReport(job, wrong), parcels) : self.deliver(aReport(job), [])),
    { slots: 3 },
  );
  worker.onAcknowledged((id) => id && acknowledged.add(id));
  await stage.reaper();
  await stage.until(() => allDone(good, stage) && record.tasks.get(client, bad).state === 'failed');
  expect(record.tasks.get(client, bad)).toMatchObject({ attempts: 1, failure: { reason: 'internal_error' } });
  await expect.poll(() => acknowledged, soon).toContain(attemptId(bad, 1));
});

test('a report with an old fence, one for an unknown attempt and one that comes again are refused, acknowledged and said', async () => {
  const stage = openStage();
  const { record, client } = stage;
  const taskId = await stage.submit();
  const acknowledged = new Set<string>();
  const { log, lines } = recordingLog();
  const hold = gate();
  const worker = await stage.worker(async ({ job }, self) => {
    // Both wait in Redis before the attempt's own.
    await self.deliver(aReport({ ...job, fence: job.fence + 1 }, { outcome: 'failed', reason: 'empty_diff' }), []);
    await self.deliver(aReport({ ...job, attemptId: 't_nobody-a1', taskId: 't_nobody' }), []);
    await hold.wait;
    await self.deliver(aReport(job), []);
  });
  worker.onAcknowledged((id) => id && acknowledged.add(id));
  await stage.reaper(log);
  await expect.poll(() => acknowledged.size, soon).toBe(2);
  expect(record.tasks.get(client, taskId).state).not.toBe('failed');
  hold.open();
  await stage.until(() => allDone([taskId], stage));
  const report = record.tasks.attempts(client, taskId)[0]?.report as Report;
  await worker.deliver(report, []);
  const refused = () => lines.filter((line) => line === 'info report refused');
  await expect.poll(refused, soon).toHaveLength(3);
  expect(endings([taskId], stage)).toEqual(once([taskId]));
  const broker = await stage.broker();
  await expect.poll(() => broker.waitingReports(), soon).toEqual([]);
});
