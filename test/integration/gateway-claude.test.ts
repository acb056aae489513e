/** Real Claude Code as the client, by either protocol; only its model is scripted. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { execa } from 'execa';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type ModelServer, startModelServer } from '../model-server/index.ts';
import { answer, beginAttempts, openGateway, projectName, settleAttempt, type TestGateway } from '../support/gateway.ts';

/** Its launcher, since packages run no scripts of their own at the install. */
const claude = join(dirname(createRequire(import.meta.url).resolve('@anthropic-ai/claude-code/package.json')), 'cli-wrapper.cjs');
let gateway: TestGateway;
let model: ModelServer;
let home: string;
beforeAll(async () => {
  gateway = await openGateway();
  model = await startModelServer();
  home = mkdtempSync(join(tmpdir(), 'tb-claude-'));
});
afterAll(async () => {
  await model.close();
  await gateway[Symbol.asyncDispose]();
  rmSync(home, { recursive: true, force: true });
});

test.each(['auto', 'legacy'])('submits, waits and reads the end, negotiating %s', async (negotiation) => {
  const goal = `Say hello by ${negotiation}.`;
  model.add({
    when: goal,
    turns: [
      { tools: [{ name: 'mcp__tb__submit_task', input: { project: projectName, goal } }] },
      { tools: [{ name: 'mcp__tb__wait_tasks', input: { ids: ['{{last.task.id}}'], timeout_seconds: 600 } }] },
      { tools: [{ name: 'mcp__tb__get_task', input: { id: '{{last.tasks.0.id}}' } }] },
      { text: 'It ended as {{last.task.state}}.' },
    ],
  });
  const token = gateway.token(`claude-${negotiation}`);
  const config = join(home, `${negotiation}.json`);
  const server = { type: 'http', url: `${gateway.url}/mcp`, headers: { Authorization: `Bearer ${token}` } };
  writeFileSync(config, JSON.stringify({ mcpServers: { tb: server } }));
  const running = execa(
    process.execPath,
    [claude, '-p', goal, '--output-format', 'json', '--mcp-config', config, '--strict-mcp-config', '--allowedTools', 'mcp__tb'],
    {
      cwd: home,
      extendEnv: false,
      stdin: 'ignore',
      env: {
        PATH: process.env['PATH'],
        HOME: home,
        CLAUDE_CONFIG_DIR: join(home, '.claude'),
        ANTHROPIC_BASE_URL: model.anthropicUrl,
        ANTHROPIC_API_KEY: 'scripted',
        MCP_PROTOCOL_NEGOTIATION: negotiation,
        DISABLE_AUTOUPDATER: '1',
        CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
      },
    },
  );

  // The task is worked on once the real client waits for it.
  let over = false;
  const ended = running.finally(() => {
    over = true;
  });
  while (!over && !(await (await fetch(`${gateway.url}/metrics`)).text()).includes('taskbridge_mcp_calls_open{tool="wait_tasks"} 1\n'));
  for (const job of beginAttempts(gateway.record)) settleAttempt(gateway.record, job);

  const { stdout } = await ended;
  expect(JSON.parse(stdout)).toMatchObject({ is_error: false, result: 'It ended as done.' });
  const client = await gateway.connect(token);
  expect((await answer<{ tasks: unknown[] }>(client, 'list_tasks')).tasks).toMatchObject([{ title: goal, state: 'done' }]);
});
