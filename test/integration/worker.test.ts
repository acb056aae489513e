/** What a worker makes of what agents do: one real worker for all tests, each with a task of its own. */
import { chmod, mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { logLineSchema } from '@taskbridge/contract';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { runs, says, unauthorized, writesFile } from '../support/scenarios.ts';
import { modelKey, startWorkerStage, type WorkerStage } from '../support/worker-stage.ts';

let stage: WorkerStage;
beforeAll(async () => {
  stage = await startWorkerStage({
    scenarios: [
      writesFile('hello file', 'hello.txt', 'hello\n'),
      says('claim success', 'All done, the feature works.'),
      unauthorized('locked model'),
      writesFile('broken file', 'broken.txt', 'broken\n'),
      writesFile('stray file', 'stray.txt', 'stray\n'),
      says('read the code', 'It is a sample.'),
      runs(
        'printf',
        `head -c 300000 /dev/urandom > blob.bin; printf '\\377\\376\\000\\033[31mred\\n'; head -c 10000000 /dev/zero | tr '\\0' y; printf 'caf\\351\\n' > latin1.txt`,
      ),
      writesFile('patient file', 'patient.txt', 'patient\n'),
    ],
  });
});
afterAll(() => stage?.[Symbol.asyncDispose]());

test('a patch: diff, published branch, evidence, and the user notices nothing', async () => {
  const before = await stage.fingerprint();
  const job = await stage.submit('Write the hello file.', {
    project: { setup: 'echo prepared', checks: ['test -s hello.txt', 'grep -q hello hello.txt'] },
    contract: { scope: ['*.txt'], constraints: ['Keep it short.'] },
  });
  const { report, parcels, text } = await stage.returned(job);

  expect(report).toMatchObject({
    outcome: 'succeeded',
    reason: null,
    milestone: 'checks_passed',
    fence: 1,
    salvageRef: null,
    model: 'scripted/model',
  });
  expect(report.files).toEqual([{ path: 'hello.txt', status: 'added', additions: 1, deletions: 0, binary: false }]);
  expect(report.gates.map(({ gate, outcome }) => `${gate} ${outcome}`)).toEqual([
    'non_empty passed',
    'scope passed',
    'check-1 passed',
    'check-2 passed',
  ]);
  expect(report.base?.commit).toBe(await stage.git('rev-parse', 'main'));
  expect(report.head).toEqual({ commit: await stage.git('rev-parse', job.branch), branch: job.branch });
  expect(await stage.git('log', '-1', '--format=%(trailers)', job.branch)).toContain(`TaskBridge-Task: ${job.taskId}`);
  expect(await stage.git('show', `${job.branch}:hello.txt`)).toBe('hello');
  expect(await stage.fingerprint()).toBe(before);

  expect(text('diff')).toContain('+hello');
  expect(text('setup')).toContain('prepared');
  expect(report.artifacts.map(({ name }) => name).sort()).toEqual(['check-1', 'check-2', 'diff', 'log', 'setup', 'transcript']);
  const lines = text('log')
    .trimEnd()
    .split('\n')
    .map((line) => logLineSchema.parse(JSON.parse(line)));
  expect(lines.map(({ n }) => n)).toEqual(lines.map((_, i) => i + 1));
  JSON.parse(text('transcript'));
  expect(parcels.every(({ content }) => !content.includes(modelKey))).toBe(true);
  expect(JSON.stringify(report)).not.toContain(modelKey);

  expect(report.usage.modelCalls).toBeGreaterThan(0);
  expect(report.usage).toMatchObject({ costKnown: true });
  expect(report.commands).toMatchObject([{ exitCode: 0 }]);
  expect(report.versions).toMatchObject({ taskbridge: expect.any(String), git: expect.any(String), opencode: expect.any(String) });
  expect(report.limits.length).toBeGreaterThan(2);
  expect(report.phases.map(({ phase }) => phase)).toEqual([
    'slot',
    'tree',
    'agent',
    'setup',
    'work',
    'capture',
    'gates',
    'publish',
    'close',
  ]);
  expect(stage.facts.filter(({ attemptId }) => attemptId === job.attemptId)[0]).toMatchObject({ type: 'attempt.started', fence: 1 });
  await stage.until(async () => (await stage.spool()).length === 0);
});

test('an agent that changes nothing and claims success has failed', async () => {
  const { report } = await stage.returned(await stage.submit('Do nothing, claim success.'));
  expect(report).toMatchObject({ outcome: 'failed', reason: 'empty_diff', head: null, summary: expect.stringContaining('All done') });
});

test('a refused key ends the attempt as what it is', async () => {
  const { report, text } = await stage.returned(await stage.submit('Ask the locked model.'));
  expect(report).toMatchObject({ outcome: 'failed', reason: 'model_unauthorized', head: null });
  expect(text('log')).toContain('model_unauthorized');
});

test('failing checks: the work is kept, not published', async () => {
  const job = await stage.submit('Write the broken file.', { project: { checks: ['echo not good; exit 7', 'true'] } });
  const { report, text } = await stage.returned(job);
  expect(report).toMatchObject({ outcome: 'failed', reason: 'checks_failed', milestone: 'in_scope', head: null });
  expect(report.gates.find(({ gate }) => gate === 'check-1')).toMatchObject({ outcome: 'failed', exitCode: 7, log: 'check-1' });
  expect(text('check-1')).toContain('not good');
  expect(text('diff')).toContain('+broken');
  expect(await stage.mirrorGit('show', `${report.salvageRef}:broken.txt`)).toBe('broken');
  await expect(stage.git('rev-parse', '--verify', job.branch)).rejects.toThrow();
});

test('a file outside the scope: the work is kept, not published', async () => {
  const job = await stage.submit('Write the stray file.', { contract: { scope: ['src/**'] } });
  const { report } = await stage.returned(job);
  expect(report).toMatchObject({ outcome: 'failed', reason: 'scope_exceeded', head: null, salvageRef: expect.any(String) });
  expect(report.detail).toContain('stray.txt');
  await expect(stage.git('rev-parse', '--verify', job.branch)).rejects.toThrow();
});

test('an analysis ends with an answer and an unchanged tree', async () => {
  const { report } = await stage.returned(await stage.submit('Please read the code.', { contract: { mode: 'analysis' } }));
  expect(report).toMatchObject({ outcome: 'succeeded', head: null, filesTotal: 0, summary: 'It is a sample.' });
  expect(report.gates).toMatchObject([
    { gate: 'unchanged', outcome: 'passed' },
    { gate: 'answered', outcome: 'passed' },
  ]);
});

test('binary files, broken UTF-8, escape codes and a 10 MB line end well', async () => {
  const { report, text } = await stage.returned(await stage.submit('Please printf.'));
  expect(report).toMatchObject({ outcome: 'succeeded', filesTotal: 2 });
  expect(report.files.find(({ path }) => path === 'blob.bin')).toMatchObject({ binary: true });
  const log = text('log');
  expect(log).not.toMatch(/\\u0000|\\u001b/);
  expect(Buffer.byteLength(log)).toBeLessThan(1_000_000);
});

test("signing without a program and a failing hook in the user's repository do not matter", async () => {
  await stage.git('config', 'commit.gpgSign', 'true');
  await stage.git('config', 'gpg.program', '/nowhere/gpg');
  await stage.git('config', 'core.hooksPath', await failingHooks(stage.dir));
  const before = await stage.fingerprint();
  const job = await stage.submit('Write the patient file.');
  const { report } = await stage.returned(job);
  expect(report).toMatchObject({ outcome: 'succeeded', head: { commit: await stage.git('rev-parse', job.branch) } });
  expect(await stage.fingerprint()).toBe(before);
});

async function failingHooks(dir: string): Promise<string> {
  const hooks = join(dir, 'hooks');
  await mkdir(hooks);
  for (const name of ['pre-commit', 'commit-msg', 'post-checkout', 'pre-push', 'reference-transaction']) {
    await writeFile(join(hooks, name), '#!/bin/sh\nexit 1\n');
    await chmod(join(hooks, name), 0o755);
  }
  return hooks;
}
