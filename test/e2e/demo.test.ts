/** The first thing a newcomer does: one command from nothing to a diff. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { execa } from 'execa';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { processesOf, stackEnv, startTaskbridge, taskbridge } from '../support/command.ts';

let dir: string;
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'tb-'));
});
afterEach(async () => {
  for (const { pid } of await processesOf(dir)) process.kill(pid, 'SIGKILL');
  rmSync(dir, { recursive: true, force: true, maxRetries: 5 });
}, 60_000);

test('the demo ends with a report and a diff, leaves nothing running, and can be run again', async () => {
  const first = await taskbridge(['demo', '--exit'], stackEnv(dir));
  expect(first.exitCode, `${first.stdout}\n${first.stderr}`).toBe(0);
  expect(first.stdout).toContain('practice model: a script, not an AI');
  // The report: what the agent did and what TaskBridge itself checked.
  for (const part of ['modified greet.mjs', 'exit 0  node test.mjs', 'model calls', 'Gates', 'Limits'])
    expect(first.stdout).toContain(part);
  expect(first.stdout).toMatch(/passed +\S+ \(exit 0\) .*node test\.mjs/);
  expect(first.stdout).toContain('+export function greetSpanish(name) {');
  expect(await processesOf(dir)).toEqual([]);

  const repository = join(dir, 'demo/repository');
  const git = async (...args: string[]) => (await execa('git', args, { cwd: repository, stdin: 'ignore' })).stdout;
  expect(await git('status', '--porcelain')).toBe('');
  expect(await git('rev-list', '--count', 'main')).toBe('1');

  const second = await taskbridge(['demo', '--exit'], stackEnv(dir));
  expect(second.exitCode, `${second.stdout}\n${second.stderr}`).toBe(0);
  expect((await git('for-each-ref', 'refs/heads/taskbridge/', '--format=%(refname)')).split('\n')).toHaveLength(2);
}, 300_000);

test.each(['SIGINT', 'SIGKILL'] as const)(
  '%s while the agent works leaves no process, and the next start works',
  async (signal) => {
    const command = startTaskbridge(['demo'], stackEnv(dir));
    await command.said(/phase +work/);
    expect((await processesOf(dir)).map(({ command }) => command).join()).toContain('opencode');
    command.child.kill(signal);
    await command.ended;
    // After a kill the services notice for themselves, and the worker drains first.
    await vi.waitFor(async () => expect(await processesOf(dir)).toEqual([]), { timeout: 60_000, interval: 100 });

    const again = startTaskbridge(['start'], stackEnv(dir));
    await again.said(/TaskBridge is up/);
    again.child.kill('SIGINT');
    expect(await again.ended).toBe(0);
  },
  120_000,
);
