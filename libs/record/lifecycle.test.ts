import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type AttemptJob, noUsage } from '@taskbridge/contract';
import { describe, expect, test } from 'vitest';
import { aReport } from '../../test/support/attempts.ts';
import { type TestRecord, withRecord } from '../../test/support/record.ts';

const records = withRecord();
const capacity = (slots: number, lookAhead = 0) => ({ slotsByHost: { here: slots }, lookAhead });

/** Hands out and gives the jobs that are new in the outbox, as the broker would take them. */
function handOut({ record }: TestRecord, slots: number, lookAhead = 0): AttemptJob[] {
  record.dispatch.handOut(capacity(slots, lookAhead));
  const jobs: AttemptJob[] = [];
  for (const item of record.dispatch.pending(1_000)) {
    if (item.kind === 'enqueue') jobs.push(item.job);
    record.dispatch.delivered(item.id);
  }
  return jobs;
}
const started = (job: AttemptJob) => ({
  type: 'attempt.started' as const,
  attemptId: job.attemptId,
  fence: job.fence,
  at: 5,
  workerId: 'w',
  host: 'here',
});

describe('handing out', () => {
  test('never more than the free slots and the look-ahead', async () => {
    const t = records.open();
    for (let i = 0; i < 10; i += 1) await t.submit();
    expect(handOut(t, 0, 5)).toHaveLength(0);
    expect(handOut(t, 2, 1)).toHaveLength(3);
    expect(handOut(t, 2, 1)).toHaveLength(0);
    expect(handOut(t, 3, 1)).toHaveLength(1);
  });

  test('fair between clients, then by priority, then by age; fences rise', async () => {
    const t = records.open();
    for (let i = 0; i < 200; i += 1) await t.submit({ goal: `flood ${i}` });
    const { info } = t.record.tokens.create('second', { operator: false }, 'test');
    const second = { clientId: info.clientId, clientName: 'second', operator: false };
    const { submitSchema } = await import('@taskbridge/contract');
    await t.record.tasks.submit(second, [submitSchema.parse({ project: 'sample', goal: 'lone', priority: 0 })]);
    await t.submit({ goal: 'urgent', priority: 9 });
    const jobs = handOut(t, 3);
    expect(jobs.map((job) => job.contract.goal)).toEqual(['urgent', 'lone', 'flood 0']);
    const fences = jobs.map((job) => job.fence);
    expect(fences).toEqual(fences.toSorted((a, b) => a - b));
    expect(new Set(fences).size).toBe(3);
  });

  test('a project by path goes to its host only', async () => {
    const t = records.open();
    await t.submit();
    expect(t.record.dispatch.handOut({ slotsByHost: { elsewhere: 4 }, lookAhead: 2 })).toBe(0);
    expect(t.record.dispatch.handOut({ slotsByHost: { elsewhere: 4, here: 1 }, lookAhead: 0 })).toBe(1);
  });

  test('what waits for a host that is gone takes no slot of another', async () => {
    const t = records.open();
    t.record.projects.add({ name: 'far', source: '/far', kind: 'path', host: 'far', baseBranch: 'main', checks: [] }, 'test');
    for (const project of ['far', 'far', 'sample', 'sample']) await t.submit({ project });
    expect(t.record.dispatch.handOut({ slotsByHost: { far: 2 }, lookAhead: 0 })).toBe(2);
    expect(t.record.dispatch.handOut({ slotsByHost: { here: 2 }, lookAhead: 0 })).toBe(2);
  });

  test('a started attempt is not delivered again', async () => {
    const t = records.open();
    await t.submit();
    t.record.dispatch.handOut(capacity(1));
    const [item] = t.record.dispatch.pending(10);
    if (item?.kind !== 'enqueue') throw new Error('nothing was handed out');
    expect(t.record.settle.fact(started(item.job))).toBe('applied');
    expect(t.record.dispatch.pending(10)).toEqual([]);
  });
});

describe('settling', () => {
  test('a report is applied exactly once, with its artifacts', async () => {
    const t = records.open();
    const id = await t.submit();
    const [job] = handOut(t, 1) as [AttemptJob];
    const diff = Buffer.concat([Buffer.from([0xff, 0x00]), Buffer.alloc(3_000_000, 'x')]);
    const report = aReport(job, { head: { commit: 'abc', branch: job.branch }, base: { ref: 'main', commit: 'base' } });
    const parcels = [{ name: 'diff', mediaType: 'text/x-diff', truncated: false, content: diff }];
    expect(t.record.settle.report(report, parcels)).toBe('applied');
    expect(t.record.settle.report(report, parcels)).toBe('already');
    expect(t.record.tasks.get(t.client, id)).toMatchObject({
      state: 'done',
      headCommit: 'abc',
      baseCommit: 'base',
      milestone: 'checks_passed',
    });
    expect(t.record.artifacts.read(t.client, id, 'diff')?.content.equals(diff)).toBe(true);
    expect(t.record.events.ofTask(id, 0, 99).map((e) => e.type)).toEqual([
      'task.submitted',
      'attempt.dispatched',
      'attempt.started',
      'attempt.succeeded',
    ]);
  });

  test('an old fence changes nothing, not even on the disk', async () => {
    const t = records.open();
    const id = await t.submit();
    const [first] = handOut(t, 1) as [AttemptJob];
    expect(t.record.settle.lost(first.attemptId, 'gone', 'reaper')).toBe('applied');
    const [second] = handOut(t, 1) as [AttemptJob];
    expect(second.fence).toBeGreaterThan(first.fence);
    const before = t.record.events.last();
    const late = [{ name: 'diff', mediaType: 'text/x-diff', truncated: false, content: Buffer.from('late') }];
    expect(t.record.settle.report(aReport(first), late)).toBe('stale');
    expect(t.record.settle.report(aReport(second, { fence: first.fence }), late)).toBe('stale');
    expect(t.record.settle.fact(started({ ...second, fence: first.fence }))).toBe('stale');
    expect(t.record.settle.report(aReport({ ...first, attemptId: 't_none-a1' }), late)).toBe('unknown');
    expect(t.record.events.last()).toBe(before);
    expect(existsSync(join(t.dataDir, 'artifacts'))).toBe(false);
    expect(t.record.tasks.get(t.client, id)).toMatchObject({ state: 'queued', attempts: 2 });
  });

  test('a task that is being cancelled is never done', async () => {
    const t = records.open();
    const id = await t.submit();
    const [job] = handOut(t, 1) as [AttemptJob];
    t.record.settle.fact(started(job));
    expect(t.record.tasks.cancel(t.client, id, 'changed my mind')).toMatchObject({ state: 'running', cancelling: true });
    expect(t.record.dispatch.pending(9)).toMatchObject([{ kind: 'cancel', attemptId: job.attemptId }]);
    expect(t.record.settle.report(aReport(job, { head: { commit: 'abc', branch: job.branch } }), [])).toBe('applied');
    expect(t.record.tasks.get(t.client, id)).toMatchObject({ state: 'cancelled', headCommit: null });
    expect(t.record.dispatch.pending(9)).toEqual([]);
  });

  test('a lost attempt is returned when it never began, and fails when it had', async () => {
    const t = records.open();
    const id = await t.submit();
    const [first] = handOut(t, 1) as [AttemptJob];
    t.record.settle.lost(first.attemptId, 'Redis was emptied', 'reaper');
    expect(t.record.tasks.get(t.client, id).state).toBe('ready');
    const [second] = handOut(t, 1) as [AttemptJob];
    t.record.settle.fact(started(second));
    t.record.settle.lost(second.attemptId, 'its worker died', 'reaper');
    expect(t.record.tasks.get(t.client, id)).toMatchObject({
      state: 'failed',
      failure: { reason: 'worker_lost', detail: 'its worker died' },
    });
    expect(t.record.settle.lost(second.attemptId, 'again', 'reaper')).not.toBe('applied');
  });

  test('what a lost attempt told of its spending is counted', async () => {
    const t = records.open();
    const id = await t.submit();
    const [job] = handOut(t, 1) as [AttemptJob];
    t.record.settle.fact(started(job));
    const usage = { ...noUsage, inputTokens: 70, costUsd: 0.5, costKnown: true, modelCalls: 2 };
    t.record.settle.fact({ type: 'attempt.activity', attemptId: job.attemptId, fence: job.fence, at: 6, activity: 'thinking', usage });
    t.record.settle.lost(job.attemptId, 'gone', 'reaper');
    expect(t.record.tasks.get(t.client, id).usage).toEqual(usage);
  });

  test('dependents start from the commit, or fail along the whole chain', async () => {
    const t = records.open();
    const base = await t.submit();
    const next = await t.submit({ depends_on: [base] });
    const last = await t.submit({ depends_on: [next] });
    const [job] = handOut(t, 3) as [AttemptJob];
    t.record.settle.report(aReport(job, { head: { commit: 'c0ffee', branch: job.branch } }), []);
    expect(t.record.tasks.get(t.client, next).state).toBe('ready');
    const [nextJob] = handOut(t, 3) as [AttemptJob];
    expect(nextJob.dependencyCommits).toEqual(['c0ffee']);
    t.record.settle.report(aReport(nextJob, { outcome: 'failed', reason: 'empty_diff', detail: 'nothing' }), []);
    expect(t.record.tasks.get(t.client, last)).toMatchObject({ state: 'failed', failure: { reason: 'dependency_failed' }, blockers: [] });
    const late = await t.submit({ depends_on: [last] });
    expect(t.record.tasks.get(t.client, late)).toMatchObject({ state: 'failed', failure: { reason: 'dependency_failed' } });
    const after = await t.submit({ depends_on: [base] });
    expect(t.record.tasks.get(t.client, after).state).toBe('ready');
  });
});

test('a token stands in the database as its hash only, and is worth nothing once revoked', () => {
  const { record, dataDir } = records.open();
  const { token, info } = record.tokens.create('someone', { operator: true }, 'test');
  expect(record.tokens.verify(token)).toMatchObject({ clientName: 'someone', operator: true });
  expect(record.tokens.verify(`${token.slice(0, -1)}${token.endsWith('0') ? '1' : '0'}`)).toBeUndefined();
  for (const name of readdirSync(dataDir)) expect(readFileSync(join(dataDir, name)).includes(token)).toBe(false);
  record.tokens.revoke(info.id, 'test');
  expect(record.tokens.verify(token)).toBeUndefined();
});
