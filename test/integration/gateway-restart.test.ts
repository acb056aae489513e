/** The gateway keeps nothing of its own: it may stop, die and start again, and answers may be lost, and no task is lost or doubled. */
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import type { TaskSummary } from '@taskbridge/contract';
import { variableOf } from '@taskbridge/platform';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { answer, generations, openGateway, projectName, submit, type TestClient, type TestGateway, taskOf } from '../support/gateway.ts';

let gateway: TestGateway;
beforeEach(async () => {
  gateway = await openGateway();
});
afterEach(() => gateway[Symbol.asyncDispose]());

const listed = async (client: TestClient) => (await answer<{ tasks: TaskSummary[] }>(client, 'list_tasks')).tasks.map((task) => task.id);

describe.each(generations)('a client of %s', (generation) => {
  test('goes on after a restart without connecting again', async () => {
    const client = await gateway.connect(gateway.token('steady'), { generation });
    const before = await submit(client);
    await gateway.restart();
    expect((await taskOf(client, before.id)).state).toBe('ready');
    const after = await submit(client);
    expect(await listed(client)).toEqual([after.id, before.id]);
  });

  test('that lost the answer of a submit and sends it again has one task', async () => {
    let losing = false;
    const lossy: typeof fetch = async (input, init) => {
      const response = await fetch(input, init);
      if (!losing) return response;
      // The gateway has answered to the end, and nobody hears it.
      await response.text();
      throw new TypeError('the connection was lost');
    };
    const client = await gateway.connect(gateway.token('unlucky'), { generation, fetch: lossy });
    for (const extra of [{ key: { idempotency_key: 'k' } }, { meta: { 'claudecode/toolUseId': 'toolu_9' } }]) {
      const call = () =>
        client.callTool({
          name: 'submit_task',
          arguments: { project: projectName, goal: 'Once only.', ...('key' in extra ? extra.key : {}) },
          ...('meta' in extra ? { _meta: extra.meta } : {}),
        });
      const before = await listed(client);
      losing = true;
      await expect(call()).rejects.toThrow();
      losing = false;
      const added = (await listed(client)).filter((id) => !before.includes(id));
      expect(added).toHaveLength(1);
      expect((await call()).structuredContent).toMatchObject({ created: false, task: { id: added[0] } });
      expect(await listed(client)).toHaveLength(before.length + 1);
    }
  });

  test('that waits is answered when the gateway stops, which takes no time', async () => {
    const client = await gateway.connect(gateway.token('waiter'), { generation });
    const { id } = await submit(client);
    const waiting = answer<{ timed_out: boolean; next: string }>(client, 'wait_tasks', { ids: [id], timeout_seconds: 200 });
    await waitOpen(gateway.url);
    const began = performance.now();
    await gateway.restart();
    expect(performance.now() - began).toBeLessThan(3_000);
    expect(await waiting).toMatchObject({ timed_out: true, next: 'TaskBridge restarts. Call wait_tasks again.' });
    expect((await taskOf(client, id)).state).toBe('ready');
  });
});

async function waitOpen(url: string): Promise<void> {
  while (!(await (await fetch(`${url}/metrics`)).text()).includes('taskbridge_mcp_calls_open{tool="wait_tasks"} 1\n'));
}

describe('as a process', () => {
  const main = fileURLToPath(new URL('../../services/gateway/main.ts', import.meta.url));
  let child: ChildProcess;
  afterEach(() => {
    child.kill('SIGKILL');
  });

  /** On the record and the port of the gateway under test, which must be stopped. */
  async function start(): Promise<void> {
    const settings = { data_dir: gateway.config.data_dir, redis_url: gateway.config.redis_url, gateway_port: new URL(gateway.url).port };
    const env = Object.fromEntries(Object.entries(settings).map(([key, value]) => [variableOf(key), String(value)]));
    child = fork(main, { env: { PATH: process.env['PATH'], ...env }, stdio: 'ignore', execArgv: [] });
    const [message] = await once(child, 'message');
    expect(message).toEqual({ type: 'ready', service: 'gateway', url: gateway.url });
  }

  test('tells its supervisor, survives kill -9 without a loss, and ends cleanly on SIGTERM with a wait open', async () => {
    const token = gateway.token('process');
    await gateway.stop();
    await start();
    const client = await gateway.connect(token);
    const { id } = await submit(client);
    const killed = once(child, 'exit');
    child.kill('SIGKILL');
    await killed;
    await start();
    expect((await taskOf(client, id)).state).toBe('ready');

    const waiting = answer(client, 'wait_tasks', { ids: [id], timeout_seconds: 200 });
    await waitOpen(gateway.url);
    const exited = once(child, 'exit');
    child.kill('SIGTERM');
    expect(await waiting).toMatchObject({ timed_out: true, next: expect.stringContaining('restarts') });
    expect(await exited).toEqual([0, null]);
  });
});
