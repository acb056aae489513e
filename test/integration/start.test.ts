/** taskbridge start with the real services: the promises of the supervisor. */
import { mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { execa } from 'execa';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { processesOf, type RunningCommand, stackEnv, startTaskbridge, taskbridge } from '../support/command.ts';

let dir: string;
let env: Record<string, string>;
let running: RunningCommand[];
beforeEach(() => {
  // Short: a unix socket's path may hold about a hundred characters.
  dir = mkdtempSync(join(tmpdir(), 'tb-'));
  env = stackEnv(dir);
  running = [];
});
afterEach(async () => {
  for (const command of running) {
    command.child.kill('SIGTERM');
    await command.ended;
  }
  for (const { pid } of await processesOf(dir)) process.kill(pid, 'SIGKILL');
  rmSync(dir, { recursive: true, force: true, maxRetries: 5 });
}, 60_000);

function start(args: string[] = [], extra: Record<string, string> = {}): RunningCommand {
  const command = startTaskbridge(['start', ...args], { ...env, ...extra });
  running.push(command);
  return command;
}

const up = /TaskBridge is up/;
const processOf = async (part: string) => (await processesOf(dir)).find(({ command }) => command.includes(part));

test('brings the stack up, and says all a person needs', async () => {
  const command = start();
  await command.said(up);
  const [, mcp, token] = await command.said(/claude mcp add --transport http taskbridge (\S+) --header "Authorization: Bearer (tbk_\w+)"/);
  await command.said(/No model is configured/);
  const [, board] = await command.said(/board +(http:\S+)/);
  expect((await fetch(board as string)).status).toBe(200);
  expect((await fetch(new URL('/health', mcp))).status).toBe(200);
  const file = join(dir, 'credentials/operator.token');
  expect(readFileSync(file, 'utf8').trim()).toBe(token);
  expect(statSync(file).mode & 0o777).toBe(0o600);
  // Nobody has to know the ports: commands find the stack through its data folder.
  const listed = await taskbridge(['list', '--json'], env);
  expect(JSON.parse(listed.stdout)).toMatchObject({ tasks: [] });
});

test('Ctrl-C stops everything, and a command then says that nothing answers', async () => {
  const command = start();
  await command.said(up);
  command.child.kill('SIGINT');
  expect(await command.ended).toBe(0);
  expect(await processesOf(dir)).toEqual([]);
  const listed = await taskbridge(['list'], env);
  expect(listed).toMatchObject({ exitCode: 3, stdout: '' });
  expect(listed.stderr).toMatch(/^No TaskBridge answers at \S+\. Start it with "taskbridge start", or set TASKBRIDGE_URL\.$/);
});

test('a second stack on the same folder is refused by the pid of the first', async () => {
  const first = start();
  await first.said(up);
  const second = await taskbridge(['start'], env);
  expect(second.exitCode).toBe(1);
  expect(second.stderr).toContain(String(first.child.pid));
});

test('a stack that was killed leaves nothing in the way: the next one starts at once', async () => {
  const first = start();
  await first.said(up);
  first.child.kill('SIGKILL');
  const second = start();
  await second.said(up);
  const leaders = (await processesOf(dir)).filter(({ command }) => /services\/worker|redis-server/.test(command));
  expect(leaders).toHaveLength(2);
});

test('a stack that was killed ends by itself', async () => {
  const command = start();
  await command.said(up);
  command.child.kill('SIGKILL');
  await vi.waitFor(async () => expect(await processesOf(dir)).toEqual([]), { timeout: 40_000, interval: 100 });
});

test('a dead service is started again, and Redis too', async () => {
  const command = start();
  await command.said(up);
  const parts = {
    gateway: 'services/gateway',
    worker: 'services/worker',
    reaper: 'services/reaper',
    board: 'services/board',
    redis: 'redis-server',
  };
  for (const [name, part] of Object.entries(parts)) {
    const dead = (await processOf(part))?.pid as number;
    process.kill(dead, 'SIGKILL');
    await command.said(new RegExp(`${name} serves again`));
    expect((await processOf(part))?.pid).not.toBe(dead);
  }
});

test('a wrong setting stops the start with a sentence that names it', async () => {
  const wrong = await taskbridge(['start'], { ...env, TASKBRIDGE_WORKER_SLOTS: 'many' });
  expect(wrong.exitCode).toBe(78);
  expect(wrong.stderr).toContain('TASKBRIDGE_WORKER_SLOTS');
  const unknown = await taskbridge(['start'], { ...env, TASKBRIDGE_WORKER_SLOT: '2' });
  expect(unknown.exitCode).toBe(78);
  expect(unknown.stderr).toContain('Unknown setting TASKBRIDGE_WORKER_SLOT');
});

test('with JSON logs every line of standard output is JSON', async () => {
  const command = start([], { LOG_FORMAT: 'json' });
  await command.said(/the stack is up/);
  command.child.kill('SIGTERM');
  await command.ended;
  for (const line of command.output().trim().split('\n')) expect(() => JSON.parse(line), line).not.toThrow();
  expect(command.output()).not.toMatch(/tbk_\w{40}/);
});

test('projects and tokens are managed without a running stack', async () => {
  const repository = join(dir, 'my-repository');
  await execa('git', ['init', '-q', '-b', 'trunk', repository]);
  await execa('git', ['-c', 'user.name=t', '-c', 'user.email=t@t', 'commit', '-q', '--allow-empty', '-m', 'first'], { cwd: repository });
  const added = await taskbridge(['project', 'add', repository, '--check', 'true', '--json'], env);
  expect(JSON.parse(added.stdout)).toMatchObject({ name: 'my-repository', baseBranch: 'trunk', kind: 'path', checks: ['true'] });
  expect(await taskbridge(['project', 'add', repository], env)).toMatchObject({ exitCode: 1 });
  expect(JSON.parse((await taskbridge(['project', 'list', '--json'], env)).stdout)).toHaveLength(1);
  expect(JSON.parse((await taskbridge(['project', 'remove', 'my-repository', '--json'], env)).stdout)).toEqual({
    removed: 'my-repository',
  });
  expect(await taskbridge(['project', 'remove', 'my-repository'], env)).toMatchObject({ exitCode: 5 });
  expect(await taskbridge(['project', 'add', join(dir, 'nothing')], env)).toMatchObject({ exitCode: 1, stdout: '' });
  const secret = await taskbridge(['project', 'add', 'https://me:secret@example.org/r.git'], env);
  expect(secret.exitCode).toBe(1);
  expect(secret.stderr).not.toContain('secret');

  const made = JSON.parse((await taskbridge(['token', 'create', 'laptop', '--json'], env)).stdout);
  expect(made).toMatchObject({ clientName: 'laptop', operator: false, token: expect.stringMatching(/^tbk_/) });
  await taskbridge(['token', 'revoke', made.id], env);
  const tokens = await taskbridge(['token', 'list', '--json'], env);
  expect(JSON.parse(tokens.stdout)).toMatchObject([{ id: made.id, revokedAt: expect.any(Number) }]);
  expect(tokens.stdout).not.toContain(made.token);
  expect(await taskbridge(['token', 'revoke', 'tk_none'], env)).toMatchObject({ exitCode: 5 });
});

test('a wrong command line is exit code 2', async () => {
  expect(await taskbridge(['sumbit'], env)).toMatchObject({ exitCode: 2, stdout: '' });
  expect(await taskbridge(['start', '--exit'], env)).toMatchObject({ exitCode: 2 });
});
