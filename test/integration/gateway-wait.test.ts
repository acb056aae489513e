/** Waiting: woken by the record, bounded, and without effect on the tasks. */
import type { AttemptJob, Report, TaskDetail, TaskSummary } from '@taskbridge/contract';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import {
  answer,
  beginAttempts,
  generations,
  openGateway,
  settleAttempt,
  submit,
  type TestClient,
  type TestGateway,
  type ToolResult,
} from '../support/gateway.ts';

let gateway: TestGateway;
beforeAll(async () => {
  gateway = await openGateway();
});
afterAll(() => gateway[Symbol.asyncDispose]());

interface Waited {
  tasks: TaskDetail[];
  timed_out: boolean;
  next: string;
}

const wait = (client: TestClient, input: Record<string, unknown>) => answer<Waited>(client, 'wait_tasks', input);
/** The task's attempt, begun. Attempts of other tasks begin with it. */
const begun = new Map<string, AttemptJob>();
function begin(taskId: string): AttemptJob | undefined {
  for (const job of beginAttempts(gateway.record)) begun.set(job.taskId, job);
  return begun.get(taskId);
}
function settle(job: AttemptJob | undefined, end?: Partial<Report>): void {
  if (!job) throw new Error('the attempt has not begun');
  settleAttempt(gateway.record, job, end);
}
/** Resolves when the gateway's own count says that this many waits are open. */
async function waitsOpen(count: number): Promise<void> {
  for (;;) {
    const text = await (await fetch(`${gateway.url}/metrics`)).text();
    if (text.includes(`taskbridge_mcp_calls_open{tool="wait_tasks"} ${count}\n`)) return;
  }
}

describe.each(generations)('a client of %s', (generation) => {
  const connect = (name = 'waiter') => gateway.connect(gateway.token(name), { generation });

  test('is answered as soon as the task has ended', async () => {
    const client = await connect();
    const { id } = await submit(client);
    const job = begin(id);
    const waiting = wait(client, { ids: [id], timeout_seconds: 60 });
    await waitsOpen(1);
    const settledAt = performance.now();
    settle(job, { milestone: 'checks_passed' });
    const { tasks, timed_out, next } = await waiting;
    expect(performance.now() - settledAt).toBeLessThan(1_000);
    expect(tasks).toMatchObject([{ id, state: 'done', milestone: 'checks_passed' }]);
    expect([timed_out, next]).toEqual([false, 'See get_task and get_diff.']);
  });

  test('is answered at once for what has ended already, with the failure and what to do next', async () => {
    const client = await connect();
    const { id } = await submit(client);
    const job = begin(id);
    settle(job, {
      outcome: 'failed',
      reason: 'empty_diff',
      detail: 'Nothing was changed.',
      milestone: 'none',
    });
    const { tasks } = await wait(client, { ids: [id] });
    expect(tasks).toMatchObject([{ state: 'failed', failure: { reason: 'empty_diff', detail: 'Nothing was changed.' } }]);
    expect(tasks[0]?.failure?.next).toBeTruthy();
  });

  test('any returns with the first, all with the last', async () => {
    const client = await connect();
    const ids = [(await submit(client)).id, (await submit(client)).id];
    const jobs = ids.map(begin);
    const any = wait(client, { ids, until: 'any', timeout_seconds: 60 });
    const all = wait(client, { ids, until: 'all', timeout_seconds: 60 });
    await waitsOpen(2);
    settle(jobs[0]);
    const first = await any;
    expect(first.tasks.map((task) => task.state).sort()).toEqual(['done', 'running']);
    expect(first.next).toContain('again for the others');
    await waitsOpen(1);
    settle(jobs[1]);
    expect((await all).tasks.map((task) => task.state)).toEqual(['done', 'done']);
  });

  test('says to call again when the time is over', async () => {
    const client = await connect();
    const { id } = await submit(client);
    const waited = await wait(client, { ids: [id], timeout_seconds: 0.2 });
    expect(waited).toMatchObject({ timed_out: true, next: 'Not over yet. Call wait_tasks again.', tasks: [{ id, state: 'ready' }] });
  });

  test('may go away: the wait ends, the task does not', async () => {
    const client = await connect();
    const { id } = await submit(client);
    const before = gateway.record.events.last();
    const leaving = client
      .callTool({ name: 'wait_tasks', arguments: { ids: [id], timeout_seconds: 200 } })
      .catch((error: unknown) => error);
    await waitsOpen(1);
    await client.close();
    await waitsOpen(0);
    await leaving;
    expect(gateway.record.events.last()).toBe(before);
    expect((await answer<{ tasks: TaskSummary[] }>(await connect(), 'list_tasks', { limit: 1 })).tasks).toMatchObject([
      { id, state: 'ready' },
    ]);
  });
});

/** The first progress of a wait of half an hour. */
async function firstProgress(
  options: Parameters<TestGateway['connect']>[1],
): Promise<{ progress: number; total?: number; message?: string }> {
  const client = await gateway.connect(gateway.token('listener'), options);
  const { id } = await submit(client);
  const call = { name: 'wait_tasks', arguments: { ids: [id], timeout_seconds: 1_800 } };
  try {
    return await new Promise((resolve, reject) => {
      client.callTool(call, { onprogress: resolve }).then(() => reject(new Error('the wait ended before any progress')), reject);
    });
  } finally {
    await client.close();
  }
}

test('a client that asks for progress hears how it stands; only Claude Code may wait longer than four minutes', async () => {
  const [newer, older, claude, olderClaude] = await Promise.all([
    firstProgress({ generation: '2026-07-28' }),
    firstProgress({ generation: '2025-11-25', name: 'claude-code' }),
    firstProgress({ generation: '2026-07-28', name: 'claude-code' }),
    // It names itself only as it connects, so its requests are known by their User-Agent.
    firstProgress({ generation: '2025-11-25', userAgent: 'claude-code/2.1.197 (cli)' }),
  ]);
  expect([newer.total, older.total, claude.total, olderClaude.total]).toEqual([240, 240, 1_800, 1_800]);
  expect(newer.progress).toBeGreaterThan(4);
  expect(newer.message).toMatch(/^0 of 1 settled\. ./);
  await waitsOpen(0);
});

test('a call that the client aborts ends the wait at the gateway (newer protocol)', async () => {
  const client = await gateway.connect(gateway.token('aborter'), { generation: '2026-07-28' });
  const { id } = await submit(client);
  const abort = new AbortController();
  const waiting = client
    .callTool({ name: 'wait_tasks', arguments: { ids: [id], timeout_seconds: 200 } }, { signal: abort.signal })
    .catch((error: unknown) => error);
  await waitsOpen(1);
  abort.abort();
  await waitsOpen(0);
  expect(await waiting).toBeInstanceOf(Error);
  expect((await answer<{ tasks: TaskSummary[] }>(client, 'list_tasks', { limit: 1 })).tasks).toMatchObject([{ id, state: 'ready' }]);
});

test('a hundred waits of fifty clients are each woken by their own task', async () => {
  const clients = await Promise.all(
    Array.from({ length: 50 }, (_, n) => gateway.connect(gateway.token(`many-${n}`), { generation: generations[n % 2] })),
  );
  const waits = await Promise.all(clients.flatMap((client) => [0, 1].map(async () => ({ client, id: (await submit(client)).id }))));
  const jobs = beginAttempts(gateway.record);
  const open = waits.map(({ client, id }) => client.callTool({ name: 'wait_tasks', arguments: { ids: [id], timeout_seconds: 50 } }));
  await waitsOpen(100);
  for (const job of jobs) settle(job);
  const answers: ToolResult[] = await Promise.all(open);
  expect(answers.map((result) => (result.structuredContent['tasks'] as TaskSummary[]).map((task) => [task.id, task.state]))).toEqual(
    waits.map(({ id }) => [[id, 'done']]),
  );
});
