/** Any order of what can happen, with messages doubled and late: what must always hold of the record. */
import { type AttemptJob, isTerminal, submitSchema, type TaskState } from '@taskbridge/contract';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { aReport } from '../../test/support/attempts.ts';
import { type TestRecord, withRecord } from '../../test/support/record.ts';

const records = withRecord();
const slots = 2;
const lookAhead = 1;

const step = fc.oneof(
  fc.record({ do: fc.constant('submit' as const), depends: fc.option(fc.nat(20)), priority: fc.nat(9) }),
  fc.record({ do: fc.constant('handOut' as const) }),
  fc.record({
    do: fc.constantFrom('start' as const, 'lost' as const, 'succeed' as const, 'fail' as const, 'return' as const),
    which: fc.nat(50),
  }),
  fc.record({ do: fc.constant('cancel' as const), which: fc.nat(50) }),
);
type Step = typeof step extends fc.Arbitrary<infer T> ? T : never;

interface World extends TestRecord {
  tasks: string[];
  /** Every job ever handed out: an old one may still be acted on. */
  jobs: AttemptJob[];
  ended: Map<string, TaskState>;
}

async function take(world: World, s: Step): Promise<void> {
  const { record, client, jobs, tasks } = world;
  const pick = <T>(all: T[], n: number): T | undefined => all[n % Math.max(1, all.length)];
  if (s.do === 'submit') {
    const depends = s.depends === null ? undefined : pick(tasks, s.depends);
    const input = submitSchema.parse({ project: 'sample', goal: 'g', priority: s.priority, depends_on: depends ? [depends] : [] });
    const [submitted] = await record.tasks.submit(client, [input]);
    tasks.push(submitted?.task.id as string);
  } else if (s.do === 'handOut') {
    const open = record.dispatch.openAttempts().length;
    const handed = record.dispatch.handOut({ slotsByHost: { here: slots }, lookAhead });
    expect(open + handed).toBeLessThanOrEqual(Math.max(open, slots + lookAhead));
    for (const item of record.dispatch.pending(100)) {
      if (item.kind === 'enqueue') jobs.push(item.job);
      record.dispatch.delivered(item.id);
    }
  } else if (s.do === 'cancel') {
    const id = pick(tasks, s.which);
    if (id) record.tasks.cancel(client, id, 'test');
  } else {
    const job = pick(jobs, s.which);
    if (!job) return;
    const { attemptId, fence } = job;
    if (s.do === 'start') record.settle.fact({ type: 'attempt.started', attemptId, fence, at: 1, workerId: 'w', host: 'here' });
    if (s.do === 'lost') record.settle.lost(attemptId, 'lost', 'reaper');
    if (s.do === 'succeed') record.settle.report(aReport(job, { head: { commit: `commit-of-${attemptId}`, branch: job.branch } }), []);
    if (s.do === 'fail') record.settle.report(aReport(job, { outcome: 'failed', reason: 'empty_diff' }), []);
    if (s.do === 'return') record.settle.report(aReport(job, { outcome: 'returned', reason: 'worker_shutdown' }), []);
  }
}

function mustHold({ record, client, tasks, ended }: World): void {
  const open = record.dispatch.openAttempts();
  expect(new Set(open.map((a) => a.taskId)).size).toBe(open.length);
  expect(record.tasks.list(client, {}, null, 1_000).items).toHaveLength(tasks.length);
  for (const id of tasks) {
    const task = record.tasks.get(client, id);
    const attempt = open.find((a) => a.taskId === id);
    // An open attempt stands behind exactly the states that a worker owns.
    expect(attempt?.state).toBe(task.state === 'queued' || task.state === 'running' ? task.state : undefined);
    expect(task.blockers.length > 0).toBe(task.state === 'held');
    if (ended.has(id)) expect(task.state).toBe(ended.get(id));
    if (isTerminal(task.state)) ended.set(id, task.state);
    // The log alone tells the state.
    const told = record.events.ofTask(id, 0, 1_000).filter((e) => 'to' in e.data);
    expect(told.at(-1)?.data['to']).toBe(task.state);
    for (const [i, e] of told.entries()) if (i > 0) expect(e.data['from']).toBe(told[i - 1]?.data['to']);
  }
}

test('nothing acknowledged is lost, nothing ends twice, and the log tells it all', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 60 }), async (steps) => {
      const world: World = { ...records.open(), tasks: [], jobs: [], ended: new Map() };
      for (const s of steps) {
        await take(world, s);
        mustHold(world);
      }
    }),
    { numRuns: 60 },
  );
}, 180_000);
