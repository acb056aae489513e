/** The gateway's tools, as real clients of both protocol generations see them. */
import type { TaskSummary } from '@taskbridge/contract';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { instructions } from '../../services/gateway/mcp.ts';
import { answer, generations, openGateway, projectName, refused, submit, type TestGateway, taskOf } from '../support/gateway.ts';

let gateway: TestGateway;
beforeAll(async () => {
  gateway = await openGateway();
});
afterAll(() => gateway[Symbol.asyncDispose]());

const names = [
  'submit_task',
  'submit_batch',
  'wait_tasks',
  'get_task',
  'list_tasks',
  'get_diff',
  'get_logs',
  'cancel_tasks',
  'list_projects',
];

describe.each(generations)('a client of %s', (generation) => {
  const connect = (name: string) => gateway.connect(gateway.token(name), { generation });

  test('connects, and is told the workflow', async () => {
    const client = await connect('hello');
    expect(client.getServerVersion()?.name).toBe('taskbridge');
    expect(client.getInstructions()).toBe(instructions);
    expect(instructions.length).toBeLessThanOrEqual(600);
  });

  test('is shown every tool, small and fully described', async () => {
    const { tools } = await (await connect('hello')).listTools();
    expect(tools.map((tool) => tool.name)).toEqual(names);
    for (const { name, title, annotations } of tools) {
      expect(name.length, name).toBeLessThanOrEqual(20);
      expect(annotations?.['title'], name).toBe(title);
      for (const hint of ['readOnlyHint', 'destructiveHint', 'idempotentHint', 'openWorldHint']) {
        expect(typeof annotations?.[hint], `${name} ${hint}`).toBe('boolean');
      }
    }
    const loaded = tools.filter((tool) => tool._meta?.['anthropic/alwaysLoad'] === true).map((tool) => tool.name);
    expect(loaded).toEqual(['submit_task', 'wait_tasks']);
    const apiForm = tools.map(({ name, description, inputSchema }) => ({ name, description, input_schema: inputSchema }));
    expect(JSON.stringify(apiForm).length).toBeLessThanOrEqual(8 * 1024);
  });

  test('submits a task and reads it back', async () => {
    const client = await connect('reader');
    const task = await submit(client, { goal: 'Add a line.\nAt the end.', scope: ['src/**'], tags: ['one'] });
    expect(task).toMatchObject({ state: 'ready', title: 'Add a line.', project: projectName, client: 'reader', tags: ['one'] });
    const detail = await taskOf(client, task.id);
    expect(detail.contract).toMatchObject({ goal: 'Add a line.\nAt the end.', mode: 'propose_patch', scope: ['src/**'] });
  });

  test('gets the same task for the same key, and a conflict that names it for another input', async () => {
    const client = await connect(`keys-${generation}`);
    const input = { project: projectName, goal: 'Once.', idempotency_key: 'k1' };
    const first = await answer<{ task: TaskSummary; created: boolean }>(client, 'submit_task', input);
    const again = await answer<{ task: TaskSummary; created: boolean }>(client, 'submit_task', input);
    expect([first.created, again.created, again.task.id]).toEqual([true, false, first.task.id]);
    const error = await refused(client, 'submit_task', { ...input, goal: 'Twice.' });
    expect(error).toMatchObject({ code: 'idempotency_conflict', field: 'idempotency_key' });
    expect(error.message).toContain(first.task.id);
    expect(error.fix).toBeTruthy();
  });

  test('sends the same submit twenty times at once, and has one task', async () => {
    const client = await connect(`race-${generation}`);
    const input = { project: projectName, goal: 'Once.', idempotency_key: 'race' };
    const all = await Promise.all(
      Array.from({ length: 20 }, () => answer<{ task: TaskSummary; created: boolean }>(client, 'submit_task', input)),
    );
    expect(new Set(all.map(({ task }) => task.id)).size).toBe(1);
    expect(all.filter(({ created }) => created)).toHaveLength(1);
  });

  test("Claude Code's own id of a call works as the key, also for each task of a batch", async () => {
    const client = await connect(`tool-use-${generation}`);
    const send = async (name: string, input: Record<string, unknown>, toolUseId: string) =>
      (await client.callTool({ name, arguments: input, _meta: { 'claudecode/toolUseId': toolUseId } })).structuredContent;
    const one = { project: projectName, goal: 'Once.' };
    const first = await send('submit_task', one, 'toolu_1');
    expect(await send('submit_task', one, 'toolu_1')).toMatchObject({ created: false, task: { id: (first['task'] as TaskSummary).id } });
    expect(await send('submit_task', one, 'toolu_2')).toMatchObject({ created: true });
    const batch = { tasks: [one, one] };
    const both = await send('submit_batch', batch, 'toolu_3');
    const ids = (both['submitted'] as { task: TaskSummary }[]).map(({ task }) => task.id);
    expect(new Set(ids).size).toBe(2);
    const again = await send('submit_batch', batch, 'toolu_3');
    expect(again['submitted']).toMatchObject(ids.map((id) => ({ created: false, task: { id } })));
  });

  test('submits a batch whose tasks refer to each other', async () => {
    const client = await connect('batches');
    const { submitted } = await answer<{ submitted: { task: TaskSummary }[] }>(client, 'submit_batch', {
      tasks: [
        { project: projectName, goal: 'Second.', depends_on: ['#1'] },
        { project: projectName, goal: 'First.' },
      ],
    });
    const [second, first] = submitted.map(({ task }) => task);
    expect([first?.state, second?.state]).toEqual(['ready', 'held']);
    expect((await taskOf(client, second?.id ?? '')).dependsOn).toEqual([first?.id]);
  });

  test('never finds another client’s task; an operator does', async () => {
    const owner = await connect('owner');
    const other = await connect('other');
    const operator = await gateway.connect(gateway.token('operator', { operator: true }), { generation });
    const { id } = await submit(owner);
    for (const [tool, input] of [
      ['get_task', { id }],
      ['get_diff', { id }],
      ['get_logs', { id }],
      ['wait_tasks', { ids: [id] }],
      ['cancel_tasks', { ids: [id] }],
    ] as const) {
      expect(await refused(other, tool, input), tool).toMatchObject({ code: 'not_found' });
    }
    expect(await refused(other, 'submit_task', { project: projectName, goal: 'x', depends_on: [id] })).toMatchObject({ code: 'not_found' });
    expect((await answer<{ tasks: TaskSummary[] }>(other, 'list_tasks', { text: 'hello' })).tasks.map((task) => task.id)).not.toContain(id);
    expect((await taskOf(operator, id)).state).toBe('ready');
    expect((await taskOf(owner, id)).state).toBe('ready');
  });

  test('is told what is wrong with an input and what would be right, and nothing changes', async () => {
    const client = await connect('wrong');
    const before = gateway.record.events.last();
    const goal = 'x';
    const wrong: [string, Record<string, unknown>, string, string, RegExp][] = [
      ['submit_task', { goal }, 'invalid_input', 'project', /project/],
      ['submit_task', { project: projectName }, 'invalid_input', 'goal', /goal/],
      ['submit_task', { project: projectName, goal, mode: 'fix' }, 'invalid_input', 'mode', /propose_patch/],
      ['submit_task', { project: projectName, goal, priority: 12 }, 'invalid_input', 'priority', /9/],
      ['submit_task', { project: projectName, goal, prioritaet: 1 }, 'invalid_input', 'prioritaet', /priority/],
      ['submit_task', { project: projectName, goal, limits: { run_minutes: -1 } }, 'invalid_input', 'limits.run_minutes', /0/],
      ['submit_task', { project: projectName, goal, tags: ['a b'] }, 'invalid_input', 'tags[0]', /letters/],
      ['submit_task', { project: 'nowhere', goal }, 'not_found', 'project', /sample/],
      ['submit_task', { project: projectName, goal, depends_on: ['t_none'] }, 'not_found', 'depends_on', /id/],
      ['submit_batch', { tasks: [] }, 'invalid_input', 'tasks', /1/],
      ['submit_batch', { tasks: [{ project: projectName, goal }, { project: projectName }] }, 'invalid_input', 'tasks[1].goal', /goal/],
      [
        'submit_batch',
        {
          tasks: [
            { project: projectName, goal },
            { project: 'nowhere', goal },
          ],
        },
        'not_found',
        'project',
        /sample/,
      ],
      ['submit_batch', { tasks: Array.from({ length: 21 }, () => ({ project: projectName, goal })) }, 'invalid_input', 'tasks', /20/],
      ['wait_tasks', { ids: [] }, 'invalid_input', 'ids', /1/],
      ['wait_tasks', { ids: ['t_none'], until: 'some' }, 'invalid_input', 'until', /any/],
      ['wait_tasks', { ids: ['t_none'] }, 'not_found', 'id', /list_tasks/],
      ['cancel_tasks', { ids: ['t_none'] }, 'not_found', 'id', /list_tasks/],
      ['list_tasks', { cursor: 'nonsense' }, 'invalid_input', 'cursor', /Leave it out/],
      ['list_tasks', { state: ['gone'] }, 'invalid_input', 'state[0]', /running/],
    ];
    for (const [tool, input, code, field, fix] of wrong) {
      const error = await refused(client, tool, input);
      expect(error, `${tool} ${field}`).toMatchObject({ code, field: expect.stringContaining(field) });
      expect(error.fix, `${tool} ${field}`).toMatch(fix);
      expect(error.message, `${tool} ${field}`).toMatch(/[.]$/);
    }
    expect(gateway.record.events.last()).toBe(before);
  });

  test('a tool that is not there is an error of the protocol', async () => {
    const client = await connect('wrong');
    await expect(client.callTool({ name: 'drop_tables' })).rejects.toThrow(/no tool drop_tables/);
  });

  test('lists its tasks in pages and by filters', async () => {
    const client = await connect(`lists-${generation}`);
    for (const tag of ['a', 'b', 'a', 'b', 'a']) await submit(client, { goal: `Do ${tag}`, tags: [tag] });
    type Page = { tasks: TaskSummary[]; next: string | null };
    const list = (input: Record<string, unknown>) => answer<Page>(client, 'list_tasks', input);
    const first = await list({ tag: 'a', limit: 2 });
    const second = await list({ tag: 'a', limit: 2, cursor: first.next });
    expect([first.tasks.length, second.tasks.length, second.next]).toEqual([2, 1, null]);
    expect(new Set([...first.tasks, ...second.tasks].map((task) => task.id)).size).toBe(3);
    expect((await list({ text: 'Do b' })).tasks).toHaveLength(2);
    expect((await list({ state: ['ready'], project: projectName })).tasks).toHaveLength(5);
    expect((await list({ state: ['done'] })).tasks).toHaveLength(0);
    expect((await list({ client: 'somebody' })).tasks).toHaveLength(0);
  });

  test('cancels what has not begun at once, and says what had ended', async () => {
    const client = await connect('cancels');
    const { id } = await submit(client);
    type Cancelled = { tasks: (TaskSummary & { outcome: string })[] };
    const first = await answer<Cancelled>(client, 'cancel_tasks', { ids: [id, id], reason: 'No longer needed.' });
    expect(first.tasks).toMatchObject([{ id, state: 'cancelled', outcome: 'ended' }]);
    expect((await answer<Cancelled>(client, 'cancel_tasks', { ids: [id] })).tasks).toMatchObject([{ id, outcome: 'had_ended' }]);
  });

  test('lists the projects', async () => {
    const { projects } = await answer<{ projects: { name: string }[] }>(await connect('hello'), 'list_projects');
    expect(projects).toMatchObject([{ name: projectName, baseBranch: 'main' }]);
  });
});

test('50 clients at once each see their own answers only', async () => {
  const clients = await Promise.all(
    Array.from({ length: 50 }, (_, n) => gateway.connect(gateway.token(`crowd-${n}`), { generation: generations[n % 2] })),
  );
  await Promise.all(
    clients.map(async (client, n) => {
      const tasks = await Promise.all([0, 1, 2].map((part) => submit(client, { goal: `Task ${part} of client ${n}` })));
      expect(tasks.map((task) => [task.title, task.client])).toEqual(
        [0, 1, 2].map((part) => [`Task ${part} of client ${n}`, `crowd-${n}`]),
      );
      const { tasks: listed } = await answer<{ tasks: TaskSummary[] }>(client, 'list_tasks');
      expect(listed.map((task) => task.id).sort()).toEqual(tasks.map((task) => task.id).sort());
    }),
  );
});
