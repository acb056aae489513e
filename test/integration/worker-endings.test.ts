/** However an attempt is ended, its work is kept and its report arrives. One stage for all, whose worker and Redis are stopped and started. */
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { type AttemptJob, salvageRef } from '@taskbridge/contract';
import { Redis } from 'ioredis';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { runs, writesFile, writesThenSleeps } from '../support/scenarios.ts';
import { startWorkerStage, type WorkerStage } from '../support/worker-stage.ts';

const long = { timeout: 120_000 };
let stage: WorkerStage;
beforeAll(async () => {
  stage = await startWorkerStage({
    scenarios: [
      writesFile('last file', 'last.txt', 'last\n'),
      ...[871, 872, 873, 874, 875].map((n) => writesThenSleeps(`sleepy ${n}`, 'slow.txt', `sleep ${n}`)),
    ],
    env: { TASKBRIDGE_DRAIN_MS: '300', TASKBRIDGE_LEASE_MS: '4000' },
  });
});
afterAll(() => stage?.[Symbol.asyncDispose]());

/** True while a process with this word in its command line lives. */
async function lives(word: string): Promise<boolean> {
  const { stdout } = await promisify(execFile)('ps', ['-eo', 'args']);
  return stdout.split('\n').some((line) => line.includes(word) && !line.includes('ps -eo'));
}

/** Hands in an attempt and resolves when its agent has written its file and sleeps. */
async function asleep(n: number): Promise<AttemptJob> {
  const job = await stage.submit(`Be sleepy ${n}.`);
  await stage.until(() => lives(`sleep ${n}`));
  return job;
}

test('a cancel stops the agent and keeps its work', long, async () => {
  const job = await asleep(871);
  await stage.cancel(job);
  const { report, text } = await stage.returned(job);
  expect(report).toMatchObject({ outcome: 'cancelled', reason: null, head: null });
  expect(await stage.mirrorGit('show', `${report.salvageRef}:slow.txt`)).toBe('so far');
  expect(text('diff')).toContain('+so far');
  expect(report.usage.modelCalls).toBeGreaterThan(0);
  expect(await lives('sleep 871')).toBe(false);
  await expect(stage.git('rev-parse', '--verify', job.branch)).rejects.toThrow();
});

test('a stopping worker hands the attempt back with its work kept', long, async () => {
  const job = await asleep(872);
  await stage.worker.kill('SIGTERM');
  expect(await lives('sleep 872')).toBe(false);
  const { report } = await stage.returned(job);
  expect(report).toMatchObject({ outcome: 'returned', reason: 'worker_shutdown', head: null });
  expect(await stage.mirrorGit('show', `${report.salvageRef}:slow.txt`)).toBe('so far');
  await stage.startWorker();
});

test('a worker stops in time with Redis away, and its report arrives by the next one', long, async () => {
  const job = await asleep(873);
  process.kill(stage.redis.pid, 'SIGKILL');
  await stage.redis.exited;
  const asked = Date.now();
  await stage.worker.kill('SIGTERM');
  expect(Date.now() - asked).toBeLessThan(15_000);
  await stage.startRedis();
  await stage.startWorker();
  expect((await stage.returned(job)).report).toMatchObject({ outcome: 'returned', reason: 'worker_shutdown' });
  await stage.until(async () => (await stage.spool()).length === 0);
});

test('Redis killed at the moment of completion: the report arrives when it is back', long, async () => {
  const job = await stage.submit('Write the last file.', { project: { checks: ['sleep 2'] } });
  await stage.fact((fact) => fact.attemptId === job.attemptId && fact.type === 'attempt.phase' && fact.phase === 'gates');
  process.kill(stage.redis.pid, 'SIGKILL');
  await stage.redis.exited;
  await stage.until(async () => (await stage.spool()).includes(`${job.attemptId}.spool`));
  await stage.startRedis();
  expect((await stage.returned(job)).report).toMatchObject({ outcome: 'succeeded', head: { branch: job.branch } });
  await stage.until(async () => (await stage.spool()).length === 0);
});

test('Redis emptied before the record has the report: it is sent again', long, async () => {
  const job = await stage.submit('Write the last file.');
  const first = await stage.waiting(job);
  const redis = new Redis({ path: stage.redis.address });
  await redis.flushall();
  await redis.quit();
  const again = await stage.returned(job);
  expect(again.report).toEqual(first.report);
  await stage.until(async () => (await stage.spool()).length === 0);
});

test('a worker that was paused past its lease publishes nothing', long, async () => {
  const job = await asleep(874);
  stage.worker.signal('SIGSTOP');
  const redis = new Redis({ path: stage.redis.address });
  for (const key of await redis.keys('*:lock')) await redis.del(key);
  stage.worker.signal('SIGCONT');
  await redis.quit();
  const { report } = await stage.returned(job);
  expect(report).toMatchObject({ outcome: 'returned', reason: 'worker_lost', head: null });
  expect(await stage.mirrorGit('show', `${report.salvageRef}:slow.txt`)).toBe('so far');
  expect(await lives('sleep 874')).toBe(false);
});

test('a worker that is killed: no process stays, and the next one saves the work before it takes anything', long, async () => {
  const job = await asleep(875);
  await stage.worker.kill('SIGKILL');
  await stage.until(async () => !(await lives('sleep 875')));
  await stage.startWorker();
  expect(await stage.mirrorGit('show', `${salvageRef(job.taskId, job.number)}:slow.txt`)).toBe('so far');
});

test('an agent that commits by itself changes nothing about the result', long, async () => {
  await using free = await startWorkerStage({
    scenarios: [
      runs(
        'commit it',
        'echo mine > mine.txt && git add -A && git -c user.name=a -c user.email=a@b.c commit -qm mine && echo more > more.txt',
      ),
    ],
    env: { TASKBRIDGE_SANDBOX: 'off' },
  });
  const job = await free.submit('Write it and commit it.');
  const { report } = await free.returned(job);
  expect(report).toMatchObject({ outcome: 'succeeded', filesTotal: 2, commands: [{ exitCode: 0 }] });
  expect(await free.git('show', `${job.branch}:mine.txt`)).toBe('mine');
  expect(await free.git('show', `${job.branch}:more.txt`)).toBe('more');
});
