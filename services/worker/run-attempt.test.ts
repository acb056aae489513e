import type { Agent, AgentPool, PartialWork, Slot, Work, WorkRequest } from '@taskbridge/agents';
import type { LeaseEnd } from '@taskbridge/broker';
import { AttemptFailure, noUsage, type Report } from '@taskbridge/contract';
import { configSchema, createLog } from '@taskbridge/platform';
import type { Patch, Tree, Workspace } from '@taskbridge/workspace';
import { expect, test } from 'vitest';
import { runAttempt, type WorkerKit } from './run-attempt.ts';
import { cleaner } from './safe-text.ts';
import type { Spooled } from './spool.ts';
import { type JobOverrides, testJob, testWorker } from './test-attempt.ts';

const partial: PartialWork = {
  sessionId: 's',
  summary: 'So far.',
  openQuestions: [],
  commands: [{ command: 'ls', exitCode: 0, durationMs: 1, isTest: false }],
  usage: { ...noUsage, inputTokens: 5 },
  model: 'p/m',
  transcript: Buffer.from('[]'),
  firstModelCallAt: null,
};
const done: Work = { ...partial, transcript: Buffer.from('[]'), summary: 'Done.' };

interface Plot extends JobOverrides {
  work?(request: WorkRequest): Promise<Work>;
  changed?: string[];
  publish?(): Promise<void>;
  tidy?(): Promise<void>;
  model?: string | undefined;
}

/** Runs one attempt on faces that only remember in which order they were used. */
async function play(plot: Plot = {}) {
  const steps: string[] = [];
  const lease = new AbortController();
  const changed = plot.changed ?? ['src/a.ts'];
  const diff = Buffer.from(changed.join());
  const patch: Patch = {
    head: 'head',
    empty: changed.length === 0,
    files: changed.map((path) => ({ path, status: 'added', additions: 1, deletions: 0, binary: false })),
    filesTotal: changed.length,
    paths: changed,
    diff,
    diffBytes: diff.length,
    diffTruncated: false,
  };
  const tree: Tree = {
    path: '/tree',
    base: { ref: 'main', commit: 'base' },
    gitDir: '/mirror',
    capture: async () => (steps.push('capture'), patch),
    publish: async () => (steps.push('publish'), plot.publish?.()),
    salvage: async () => (steps.push('salvage'), 'refs/taskbridge/t_one/1/salvage'),
    revert: async () => (steps.push('revert'), []),
    [Symbol.asyncDispose]: async () => void steps.push('tree closed'),
  };
  const agent: Agent = {
    work: async (request) => (steps.push('work'), plot.work ? plot.work(request) : done),
    run: async (command) => (steps.push(command), { exitCode: 0, output: Buffer.from(''), durationMs: 1, timedOut: false }),
    limits: [{ limit: 'files', enforcedBy: 'os' }],
  };
  const slot: Slot = {
    treePath: '/tree',
    agent: async () => (steps.push('agent'), agent),
    [Symbol.asyncDispose]: async () => (steps.push('slot free'), plot.tidy?.()),
  };
  const pool: AgentPool = { take: async () => (steps.push('slot'), slot), versions: async () => ({}), close: async () => undefined };
  const workspace: Workspace = {
    open: async () => (steps.push('tree'), tree),
    saveLeftover: async () => undefined,
    mirrorPath: () => '/mirror',
    gitVersion: async () => '2',
  };
  const sent: Spooled[] = [];
  const kit: WorkerKit = {
    config: configSchema.parse({ model: 'model' in plot ? plot.model : 'p/m' }),
    log: createLog('test', { log_format: 'json', log_level: 'error' }),
    worker: testWorker,
    workspace,
    pool,
    courier: { send: async (entry) => void sent.push(entry), close: async () => undefined },
    clean: cleaner([]),
  };
  const end = (how: LeaseEnd) => lease.abort(how);
  const run = () => runAttempt({ job: testJob(plot), signal: lease.signal, fact: () => undefined, log: () => undefined }, kit);
  const report = async (): Promise<Report> => {
    await run();
    expect(sent).toHaveLength(1);
    return (sent[0] as Spooled).report;
  };
  return { steps, end, report };
}

test('the story of an attempt that goes well', async () => {
  const { steps, report } = await play({ project: { setup: 'prepare', checks: ['check'] } });
  expect(await report()).toMatchObject({
    outcome: 'succeeded',
    reason: null,
    fence: 3,
    summary: 'Done.',
    head: { commit: 'head', branch: 'taskbridge/one-one' },
    salvageRef: null,
    milestone: 'checks_passed',
    base: { ref: 'main', commit: 'base' },
  });
  expect(steps).toEqual(['slot', 'tree', 'agent', 'prepare', 'revert', 'work', 'capture', 'check', 'publish', 'tree closed', 'slot free']);
});

test('a failed agent leaves its partial work: ref, diff, transcript, usage, commands', async () => {
  const failure = Object.assign(new AttemptFailure('model_rate_limited', 'Slow down.', { retryAfterMs: 9 }), { partial });
  const { steps, report } = await play({ work: () => Promise.reject(failure) });
  const said = await report();
  expect(said).toMatchObject({
    outcome: 'failed',
    reason: 'model_rate_limited',
    retryAfterMs: 9,
    summary: 'So far.',
    salvageRef: 'refs/taskbridge/t_one/1/salvage',
    head: null,
    commandsTotal: 1,
    usage: { inputTokens: 5 },
  });
  expect(said.artifacts.map(({ name }) => name)).toEqual(['diff', 'transcript', 'log']);
  expect(steps).not.toContain('publish');
});

test.each<[LeaseEnd, string, string | null]>([
  ['cancelled', 'cancelled', null],
  ['shutdown', 'returned', 'worker_shutdown'],
  ['lease_lost', 'returned', 'worker_lost'],
])('a lease that ends with %s while the agent works: nothing is published, the work is kept', async (how, outcome, reason) => {
  const stage = await play({
    work: async () => {
      stage.end(how);
      return done;
    },
  });
  expect(await stage.report()).toMatchObject({ outcome, reason, head: null, salvageRef: 'refs/taskbridge/t_one/1/salvage' });
  expect(stage.steps).not.toContain('publish');
});

test('a lease that ends after the branch is out changes nothing more', async () => {
  const stage = await play({ publish: async () => stage.end('cancelled') });
  expect(await stage.report()).toMatchObject({ outcome: 'succeeded', head: { commit: 'head' } });
});

test('a lease that ended before the first step takes no slot', async () => {
  const stage = await play();
  stage.end('cancelled');
  expect(await stage.report()).toMatchObject({ outcome: 'cancelled', base: null });
  expect(stage.steps).toEqual([]);
});

test('an empty diff is failed even when the agent claims success', async () => {
  const { report, steps } = await play({ changed: [] });
  expect(await report()).toMatchObject({ outcome: 'failed', reason: 'empty_diff', summary: 'Done.' });
  expect(steps).not.toContain('publish');
});

test('without a model no git work is begun', async () => {
  const { report, steps } = await play({ model: undefined });
  expect(await report()).toMatchObject({ outcome: 'failed', reason: 'model_not_configured' });
  expect(steps).toEqual([]);
});

test('a refused publish keeps the work', async () => {
  const { report } = await play({ publish: () => Promise.reject(new AttemptFailure('publish_conflict', 'Moved.')) });
  expect(await report()).toMatchObject({ outcome: 'failed', reason: 'publish_conflict', head: null, salvageRef: expect.any(String) });
});

test('trouble while cleaning up does not undo a success', async () => {
  const { report } = await play({ tidy: () => Promise.reject(new Error('stuck')) });
  expect(await report()).toMatchObject({ outcome: 'succeeded' });
});

test('a fault of our own is said in one sentence', async () => {
  const { report } = await play({ work: () => Promise.reject(new TypeError('x is not a function')) });
  expect(await report()).toMatchObject({
    outcome: 'failed',
    reason: 'internal_error',
    detail: 'TaskBridge met an error of its own. x is not a function',
  });
});
