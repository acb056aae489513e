/** The real OpenCode against a scripted model. */
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type AttemptFailure, contractSchema } from '@taskbridge/contract';
import { createLog } from '@taskbridge/platform';
import { execa } from 'execa';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type ModelServer, startModelServer, type Turn } from '../../test/model-server/index.ts';
import { sampleRepository } from '../../test/support/repo.ts';
import { createAgentPool } from './pool.ts';
import { treeMembers } from './process-tree.ts';
import type { Agent, AgentEvent, AgentPool, PartialWork, Slot, WorkRequest } from './types.ts';

let dir: string;
let repository: string;
let model: ModelServer;
let pool: AgentPool;
const log = createLog('test', { log_format: 'text', log_level: 'error' });
const bash = (command: string) => ({ name: 'bash', input: { command, description: 'run' } });

const openPool = (baseUrl: string, slots = 2) =>
  createAgentPool(
    {
      slotsDir: join(dir, `slots-${slots}`),
      slots,
      warm: 1,
      model: {
        model: 'scripted/model',
        baseUrl,
        apiKey: 'sk-the-real-key',
        contextTokens: 100_000,
        outputTokens: 8_000,
        inputPrice: 1,
        outputPrice: 2,
      },
      sandbox: 'auto',
      maxAgeMs: 3_600_000,
      maxMemoryBytes: 8e9,
      startTimeoutMs: 60_000,
    },
    log,
  );

/** Gives `use` an agent in a fresh clone. */
async function withAgent<T>(from: AgentPool, use: (agent: Agent, slot: Slot) => Promise<T>): Promise<T> {
  await using slot = await from.take('p');
  await rm(slot.treePath, { recursive: true, force: true });
  await execa('git', ['clone', '-q', repository, slot.treePath]);
  return await use(await slot.agent({ gitDir: join(repository, '.git'), projectId: 'p' }), slot);
}

const request = (slot: Slot, goal: string, extra: Partial<WorkRequest> = {}): WorkRequest => ({
  contract: contractSchema.parse({ goal }),
  title: 'Test',
  directory: slot.treePath,
  writes: true,
  stallMs: 30_000,
  runMs: 60_000,
  signal: new AbortController().signal,
  onEvent: () => undefined,
  ...extra,
});

const work = (goal: string, turns: Turn[], extra: Partial<WorkRequest> = {}) => {
  model.add({ when: goal, turns });
  return withAgent(pool, (agent, slot) => agent.work(request(slot, goal, extra)));
};

beforeAll(async () => {
  dir = await mkdtemp(join(tmpdir(), 'tb-ag-'));
  repository = join(dir, 'repo');
  await sampleRepository(repository);
  model = await startModelServer();
  pool = await openPool(model.baseUrl);
});
afterAll(async () => {
  await pool.close();
  await model.close();
  await rm(dir, { recursive: true, force: true });
});

test('a task is done with usage, cost, commands with exit codes and last words; the real key stays outside', async () => {
  const events: AgentEvent[] = [];
  model.add({
    when: 'do the thing',
    turns: [
      { text: 'First.', tools: [{ name: 'write', input: { filePath: '{{cwd}}/thing.txt', content: 'thing\n' } }] },
      { tools: [bash('env; cat /proc/*/environ | tr "\\0" "\\n"; exit 3')] },
      { tools: [bash('npm test')] },
      { text: 'Done; the text says 401.\n\nOpen questions:\n- Is that right?' },
    ],
  });
  const { result, written } = await withAgent(pool, async (agent, slot) => ({
    result: await agent.work(request(slot, 'do the thing', { onEvent: (event) => events.push(event) })),
    written: await readFile(join(slot.treePath, 'thing.txt'), 'utf8'),
  }));
  expect(written).toBe('thing\n');
  expect(result).toMatchObject({
    summary: expect.stringContaining('the text says 401'),
    openQuestions: ['Is that right?'],
    commands: [
      { exitCode: 3, isTest: false },
      { command: 'npm test', isTest: true },
    ],
    usage: { inputTokens: 400, outputTokens: 80, costKnown: true },
    model: 'scripted/model',
  });
  expect(result.usage.costUsd).toBeCloseTo(0.00056);
  expect(events.map((event) => event.type)).toEqual(expect.arrayContaining(['model_call', 'text', 'tool', 'command', 'usage']));
  expect(result.transcript.toString()).not.toContain('sk-the-real-key');
  expect(model.requests().every((r) => r.key === 'sk-the-real-key')).toBe(true);
}, 120_000);

test('a shell in the sandbox writes nothing outside and sees neither home nor other slots', async () => {
  const outside = join(dir, 'outside.txt');
  const result = await work('try to leave', [
    {
      tools: [
        bash(`touch ${outside}; ls ${dir}/slots-2; ls -a ${process.env['HOME']}; touch ${repository}/evil; git status --short; exit 7`),
      ],
    },
    { text: 'I tried.' },
  ]);
  expect(result.commands[0]?.exitCode).toBe(7);
  await expect(readFile(outside)).rejects.toThrow('ENOENT');
  await expect(readFile(join(repository, 'evil'))).rejects.toThrow('ENOENT');
}, 120_000);

test('what a command left running is gone at the end, also after a double fork', async () => {
  await work('leave something running', [
    { tools: [bash('(setsid sleep 98761 >/dev/null 2>&1 &); sleep 98762 >/dev/null 2>&1 & echo started')] },
    { text: 'Left.' },
  ]);
  const { stdout } = await execa('pgrep', ['-f', 'sleep 9876[12]'], { reject: false });
  expect(stdout).toBe('');
}, 120_000);

describe('a model that fails ends the attempt as what it is', () => {
  const cases: [string, Turn, Partial<AttemptFailure>][] = [
    ['401', { error: { status: 401 } }, { reason: 'model_unauthorized' }],
    ['402', { error: { status: 402 } }, { reason: 'model_quota_exhausted' }],
    [
      '429 for days',
      { error: { status: 429, headers: { 'retry-after-ms': '274579000' } } },
      { reason: 'model_rate_limited', retryAfterMs: 274_579_000 },
    ],
    ['silence', { hold: true }, { reason: 'stall_timeout' }],
  ];
  test.each(cases)(
    '%s',
    async (name, turn, failure) => {
      await expect(work(`fail with ${name}.`, [turn], name === 'silence' ? { stallMs: 5_000 } : {})).rejects.toMatchObject({
        ...failure,
        partial: { usage: { modelCalls: expect.any(Number) } },
      });
    },
    120_000,
  );

  test('an endpoint that nobody serves', async () => {
    const other = await openPool('http://127.0.0.1:9/v1', 1);
    try {
      const goal = 'reach nobody';
      await expect(withAgent(other, (agent, slot) => agent.work(request(slot, goal)))).rejects.toMatchObject({
        reason: 'model_unreachable',
      });
    } finally {
      await other.close();
    }
  }, 120_000);
});

test('the run time ends what makes progress for ever, and its work so far is told', async () => {
  // A warm server, so that the time is spent at work and not at the start.
  await work('warm up for it', [{ text: 'Warm.' }]);
  const failure = (await work('go on for ever', [{ text: 'Again.', tools: [bash('echo again')], delayMs: 200 }], { runMs: 15_000 }).catch(
    (error: unknown) => error,
  )) as AttemptFailure & { partial: PartialWork };
  expect(failure.reason).toBe('run_timeout');
  expect(failure.partial.commands.length).toBeGreaterThan(0);
  expect(failure.partial.usage.inputTokens).toBeGreaterThan(0);
}, 120_000);

test('a cancel in the middle takes the whole process tree with it, in at most five seconds', async () => {
  const cancel = new AbortController();
  const started = Promise.withResolvers<void>();
  const running = work('sleep long', [{ tools: [bash('setsid sleep 98763')] }, { text: 'Slept.' }], {
    signal: cancel.signal,
    onEvent: (event) => event.type === 'tool' && event.tool === 'bash' && started.resolve(),
  });
  await started.promise;
  const began = Date.now();
  cancel.abort('cancelled');
  await expect(running).rejects.toThrow('cancelled');
  expect(Date.now() - began).toBeLessThan(5_000);
  expect((await execa('pgrep', ['-f', 'sleep 98763'], { reject: false })).stdout).toBe('');
}, 120_000);

test('an OpenCode that is killed in the middle is a crash of the agent', async () => {
  const goal = 'be killed';
  model.add({ when: goal, turns: [{ hold: true }] });
  const asked = model.nextRequest((r) => r.scenario === goal);
  const running = withAgent(pool, (agent, slot) => agent.work(request(slot, goal)));
  await asked;
  const servers = [...(await treeMembers(process.pid, dir))];
  const commands = await Promise.all(
    servers.map(async (pid) => ({ pid, line: await readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '') })),
  );
  const killed = commands.filter(({ line }) => line.includes('serve') && line.includes('opencode') && !line.startsWith('bwrap'));
  for (const { pid } of killed) process.kill(pid, 'SIGKILL');
  await expect(running).rejects.toMatchObject({ reason: 'agent_crashed' });
}, 120_000);

test("a project's command has its real exit code, a bounded tail and a time limit", async () => {
  await withAgent(pool, async (agent, slot) => {
    const options = { directory: slot.treePath, timeoutMs: 20_000, maxBytes: 100, signal: new AbortController().signal };
    const loud = await agent.run('seq 1 20000; echo last; exit 9', options);
    expect(loud).toMatchObject({ exitCode: 9, timedOut: false });
    expect(loud.output.byteLength).toBeLessThanOrEqual(100);
    expect(loud.output.toString()).toMatch(/last\n$/);
    expect(await agent.run('sleep 60', { ...options, timeoutMs: 300 })).toMatchObject({ timedOut: true, exitCode: null });
  });
}, 120_000);

test('two slots work side by side', async () => {
  const both = ['side one', 'side two'].map((goal) => work(goal, [{ tools: [bash(`echo ${goal} > side.txt`)] }, { text: goal }]));
  expect((await Promise.all(both)).map((w) => w.summary)).toEqual(['side one', 'side two']);
}, 120_000);
