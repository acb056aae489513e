/** The commands that go through the gateway, as processes, against a real gateway and record. */
import { afterEach, beforeEach, expect, test } from 'vitest';
import { freePort } from '../../libs/cli/supervisor/ports.ts';
import { startTaskbridge, taskbridge } from '../support/command.ts';
import { beginAttempts, openGateway, projectName, settleAttempt, type TestGateway } from '../support/gateway.ts';

let gateway: TestGateway;
let env: Record<string, string>;
beforeEach(async () => {
  gateway = await openGateway();
  env = {
    TASKBRIDGE_URL: `${gateway.url}/mcp`,
    TASKBRIDGE_TOKEN: gateway.token('someone'),
    TASKBRIDGE_DATA_DIR: gateway.config.data_dir,
    NO_COLOR: '1',
  };
});
afterEach(() => gateway[Symbol.asyncDispose]());

const run = (args: string[], input?: string) => taskbridge(args, env, input);
const json = async (args: string[], input?: string) => {
  const done = await run([...args, '--json'], input);
  expect(done.stderr).toBe('');
  return JSON.parse(done.stdout);
};

const diff = 'diff --git a/a.txt b/a.txt\n--- a/a.txt\n+++ b/a.txt\n@@ -1 +1 @@\n-one\n+two\n';

/** Ends the one attempt that can start, with evidence. */
function finish(): void {
  const [job] = beginAttempts(gateway.record);
  if (!job) throw new Error('no attempt began');
  const lines = ['looking', 'wrote a.txt'].map((text, i) => JSON.stringify({ n: i + 1, at: Date.now(), kind: 'agent', text }));
  settleAttempt(
    gateway.record,
    job,
    {
      summary: 'Changed one to two.',
      files: [{ path: 'a.txt', status: 'modified', additions: 1, deletions: 1, binary: false }],
      filesTotal: 1,
      commands: [{ command: 'node test.mjs', exitCode: 0, durationMs: 5, isTest: true }],
      commandsTotal: 1,
    },
    [
      { name: 'log', mediaType: 'application/x-ndjson', truncated: false, content: Buffer.from(`${lines.join('\n')}\n`) },
      { name: 'diff', mediaType: 'text/x-diff', truncated: false, content: Buffer.from(diff) },
    ],
  );
}

test('a task from submit to its evidence, as JSON', async () => {
  const { task, created } = await json(['submit', '--goal', 'Change one to two.', '--tag', 'quick', '--priority', '7', '--scope', '*.txt']);
  expect(created).toBe(true);
  expect(task).toMatchObject({ state: 'ready', project: projectName, tags: ['quick'], priority: 7 });
  expect((await json(['list', '--tag', 'quick', '--state', 'ready', 'queued'])).tasks).toMatchObject([{ id: task.id }]);
  finish();
  expect(await json(['show', task.id])).toMatchObject({ id: task.id, state: 'done', contract: { scope: ['*.txt'] } });
  expect(await json(['diff', task.id])).toMatchObject({ diff, cut: null });
  expect(await json(['diff', task.id, '--stat'])).toMatchObject({ files: [{ path: 'a.txt' }], additions: 1, deletions: 1 });
  const log = (await run(['logs', task.id, '--json'])).stdout.trim().split('\n');
  expect(log.map((line) => JSON.parse(line).text)).toEqual(['looking', 'wrote a.txt']);
});

test('the same for a person', async () => {
  const submitted = await run(['submit', '--goal', 'Change one to two.']);
  const id = /^(t_\w+) submitted/.exec(submitted.stdout)?.[1] as string;
  finish();
  expect((await run(['list'])).stdout).toMatch(new RegExp(`${id} +done +${projectName}`));
  const shown = (await run(['show', id])).stdout;
  for (const part of ['Changed one to two.', 'modified a.txt  +1 -1', 'exit 0  node test.mjs  (test)']) expect(shown).toContain(part);
  // Piped, a diff is the patch itself.
  expect((await run(['diff', id])).stdout).toBe(diff.trimEnd());
  expect((await run(['logs', id])).stdout).toMatch(/agent +looking\n.*agent +wrote a\.txt$/);
});

test('the goal comes from standard input or a file too, and only one place', async () => {
  expect(await json(['submit', '-'], 'From a pipe.\nSecond line.')).toMatchObject({ task: { title: 'From a pipe.' } });
  expect(await run(['submit'])).toMatchObject({ exitCode: 2, stdout: '' });
  expect(await run(['submit', 'nowhere.md'])).toMatchObject({ exitCode: 2, stdout: '' });
  expect(await run(['submit', 'a.md', '--goal', 'x'])).toMatchObject({ exitCode: 2, stdout: '' });
});

test('an idempotency key leads to the same task', async () => {
  const first = await json(['submit', '--goal', 'Once.', '--key', 'k1']);
  expect(await json(['submit', '--goal', 'Once.', '--key', 'k1'])).toMatchObject({ created: false, task: { id: first.task.id } });
  const other = await run(['submit', '--goal', 'Twice.', '--key', 'k1']);
  expect(other).toMatchObject({ exitCode: 1, stdout: '' });
});

test('--wait follows to the end: 0 for done, 1 for anything else', async () => {
  const waiting = startTaskbridge(['submit', '--goal', 'Change one to two.', '--wait'], env);
  await waiting.said(/ready/);
  finish();
  await waiting.said(/done/);
  expect(await waiting.ended).toBe(0);
  expect(waiting.output()).toContain('Changed one to two.');

  const cancelled = startTaskbridge(['submit', '--goal', 'Never mind.', '--wait', '--json'], env);
  const id = await openTask();
  expect(await json(['cancel', id])).toMatchObject({ tasks: [{ id, state: 'cancelled' }] });
  expect(await cancelled.ended).toBe(1);
  expect(JSON.parse(cancelled.output())).toMatchObject({ task: { id, state: 'cancelled' } });
});

/** The id of a task as soon as one is open. */
const openTask = () =>
  new Promise<string>((resolve) => {
    const everyone = { clientId: 'c_test', clientName: 'test', operator: true };
    const look = () => {
      const [task] = gateway.record.tasks.list(everyone, { states: ['ready'] }, null, 1).items;
      if (!task) return;
      unwatch();
      resolve(task.id);
    };
    const unwatch = gateway.record.events.watch(look);
    look();
  });

test('what is not there or not allowed is one sentence and its own exit code', async () => {
  const nothing = await run(['show', 't_000000000000']);
  expect(nothing).toMatchObject({ exitCode: 5, stdout: '' });
  expect(nothing.stderr.split('\n')).toHaveLength(1);
  env['TASKBRIDGE_TOKEN'] = 'tbk_wrong';
  const refused = await run(['list']);
  expect(refused).toMatchObject({ exitCode: 4, stdout: '' });
  expect(refused.stderr).toMatch(/refuses the token/);
  env['TASKBRIDGE_URL'] = `http://127.0.0.1:${await freePort('127.0.0.1')}/mcp`;
  expect(await run(['list'])).toMatchObject({ exitCode: 3, stdout: '' });
});
