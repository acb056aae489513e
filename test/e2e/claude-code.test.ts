/** The main job with a real planner: Claude Code submits, waits and reads the diff; OpenCode builds. Only the two models are scripted. */
import { mkdir, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { execa } from 'execa';
import { expect, test } from 'vitest';
import { writesFile } from '../support/scenarios.ts';
import { operator, startStack } from '../support/stack.ts';

/** Finds the native binary by itself; the package's own command needs an install script to have run. */
const claudeCode = join(dirname(createRequire(import.meta.url).resolve('@anthropic-ai/claude-code/package.json')), 'cli-wrapper.cjs');

test('Claude Code hands a task over and reads the diff that OpenCode made', async () => {
  await using stack = await startStack({
    scenarios: [
      writesFile('greeting file', 'greeting.txt', 'hello from the agent\n'),
      {
        when: 'Please have the greeting written',
        turns: [
          { tools: [{ name: 'mcp__taskbridge__submit_task', input: { project: 'sample', goal: 'Write a greeting file.' } }] },
          { tools: [{ name: 'mcp__taskbridge__wait_tasks', input: { ids: ['{{last.task.id}}'] } }] },
          { tools: [{ name: 'mcp__taskbridge__get_diff', input: { id: '{{last.tasks.0.id}}' } }] },
          { text: 'The diff is: {{last.diff}}' },
        ],
      },
    ],
  });
  const before = await stack.fingerprint();
  const home = join(stack.dir, 'claude-home');
  await mkdir(home);
  const mcpConfig = join(stack.dir, 'mcp.json');
  const server = { type: 'http', url: stack.mcpUrl, headers: { Authorization: `Bearer ${stack.token}` } };
  await writeFile(mcpConfig, JSON.stringify({ mcpServers: { taskbridge: server } }));

  const claude = [claudeCode, '-p', 'Please have the greeting written', '--mcp-config', mcpConfig, '--strict-mcp-config'];
  const { stdout } = await execa(process.execPath, [...claude, '--allowedTools', 'mcp__taskbridge', '--output-format', 'json'], {
    cwd: home,
    stdin: 'ignore',
    extendEnv: false,
    env: {
      PATH: process.env['PATH'] ?? '',
      HOME: home,
      CLAUDE_CONFIG_DIR: join(home, '.claude'),
      ANTHROPIC_BASE_URL: stack.model.anthropicUrl,
      ANTHROPIC_API_KEY: 'sk-ant-scripted-000000000000',
      CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
      DISABLE_AUTOUPDATER: '1',
      DISABLE_TELEMETRY: '1',
      DISABLE_ERROR_REPORTING: '1',
      ENABLE_TOOL_SEARCH: 'false',
    },
    timeout: 120_000,
  });

  const answer = (JSON.parse(stdout) as { result: string }).result;
  expect(answer).toContain('+hello from the agent');
  const [task] = stack.record.tasks.list(operator, {}, null, 10).items;
  expect(task).toMatchObject({ state: 'done', client: 'planner', attempts: 1 });
  expect(await stack.fingerprint()).toBe(before);
}, 180_000);
