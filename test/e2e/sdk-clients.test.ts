/** The main job through both generations of the MCP client. */
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { execa } from 'execa';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { writesFile } from '../support/scenarios.ts';
import { operator, type Stack, startStack } from '../support/stack.ts';

let stack: Stack;
beforeAll(async () => {
  stack = await startStack({
    scenarios: [writesFile('first file', 'first.txt', 'one\n'), writesFile('second file', 'second.txt', 'two\n')],
  });
}, 120_000);
afterAll(() => stack[Symbol.asyncDispose]());

interface Done {
  tasks: { id: string; state: string }[];
}

test('the 2.x client gets a report with evidence, and the branch is in the repository', async () => {
  const before = await stack.fingerprint();
  const { task } = await stack.planner.call<{ task: { id: string } }>('submit_task', { project: 'sample', goal: 'Write the first file.' });
  const done = await stack.planner.call<Done>('wait_tasks', { ids: [task.id], timeout_seconds: 120 });
  expect(done.tasks).toMatchObject([{ id: task.id, state: 'done' }]);

  const detail = stack.record.tasks.get(operator, task.id);
  const report = detail.latestAttempt?.report;
  expect(report).toMatchObject({
    outcome: 'succeeded',
    files: [{ path: 'first.txt', status: 'added', additions: 1 }],
    commands: [{ exitCode: 0 }],
    milestone: 'in_scope',
  });
  expect(report?.usage.modelCalls).toBeGreaterThanOrEqual(3);
  expect(report?.usage.costUsd).toBeGreaterThan(0);
  const { stdout } = await execa('git', ['show', '--format=%H%n%(trailers:key=TaskBridge-Task,valueonly)', detail.branch], {
    cwd: stack.repository,
  });
  expect(stdout).toContain(report?.head?.commit);
  expect(stdout).toContain(task.id);
  expect(stdout).toContain('+one');
  expect(await stack.fingerprint()).toBe(before);
}, 180_000);

test('the 1.x client does the same', async () => {
  const client = new Client({ name: 'older-planner', version: '1.0.0' });
  const requestInit = { headers: { Authorization: `Bearer ${stack.token}` } };
  await client.connect(new StreamableHTTPClientTransport(new URL(stack.mcpUrl), { requestInit }));
  const call = async <T>(name: string, input: Record<string, unknown>) =>
    (await client.callTool({ name, arguments: input }, undefined, { timeout: 150_000 })).structuredContent as T;
  const { task } = await call<{ task: { id: string } }>('submit_task', { project: 'sample', goal: 'Write the second file.' });
  expect(await call<Done>('wait_tasks', { ids: [task.id], timeout_seconds: 120 })).toMatchObject({ tasks: [{ state: 'done' }] });
  expect(await call<{ diff: string }>('get_diff', { id: task.id })).toMatchObject({ diff: expect.stringContaining('+two') });
  await client.close();
}, 180_000);
