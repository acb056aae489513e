import { type SubmitInput, submitSchema } from '@taskbridge/contract';
import { describe, expect, test } from 'vitest';
import { withRecord } from '../../test/support/record.ts';

const records = withRecord();
const submitOf = (input: Partial<SubmitInput> = {}) => submitSchema.parse({ goal: 'do it', project: 'sample', ...input });

describe('idempotency', () => {
  test('the same key with the same input is the same task; with another input it is refused and changes nothing', async () => {
    const { record, client, submit } = records.open();
    const id = await submit({ idempotency_key: 'k' });
    const [again] = await record.tasks.submit(client, [submitOf({ idempotency_key: 'k' })]);
    expect(again).toMatchObject({ created: false, task: { id } });
    const before = record.events.last();
    await expect(record.tasks.submit(client, [submitOf({ idempotency_key: 'k', goal: 'other' })])).rejects.toMatchObject({
      code: 'idempotency_conflict',
      field: 'idempotency_key',
      message: expect.stringContaining(id),
    });
    expect(record.events.last()).toBe(before);
  });

  test("another client's key is another task", async () => {
    const { record, submit } = records.open();
    const id = await submit({ idempotency_key: 'k' });
    const { info } = record.tokens.create('other', { operator: false }, 'test');
    const [other] = await record.tasks.submit({ clientId: info.clientId, clientName: 'other', operator: false }, [
      submitOf({ idempotency_key: 'k' }),
    ]);
    expect(other?.created).toBe(true);
    expect(other?.task.id).not.toBe(id);
  });
});

describe('a batch', () => {
  test('may refer forward and back; what waits is held', async () => {
    const { record, client } = records.open();
    const submitted = await record.tasks.submit(client, [
      submitOf({ depends_on: ['#1', '#2'] }),
      submitOf(),
      submitOf({ depends_on: ['#1'] }),
    ]);
    expect(submitted.map(({ task }) => task.state)).toEqual(['held', 'ready', 'held']);
    expect(record.tasks.get(client, submitted[0]?.task.id ?? '').dependsOn).toEqual([submitted[1]?.task.id, submitted[2]?.task.id]);
  });

  test('may name one task twice, by its id and by its place', async () => {
    const { record, client, submit } = records.open();
    const id = await submit({ idempotency_key: 'k' });
    const [, dependent] = await record.tasks.submit(client, [
      submitOf({ idempotency_key: 'k' }),
      submitOf({ depends_on: ['#0', id, '#0'] }),
    ]);
    expect(record.tasks.get(client, dependent?.task.id ?? '').dependsOn).toEqual([id]);
  });

  test.each([
    ['a cycle, by its numbers', [submitOf({ depends_on: ['#1'] }), submitOf({ depends_on: ['#0'] })], '#0 → #1 → #0'],
    ['a number outside', [submitOf({ depends_on: ['#7'] })], '#7'],
    ['an unknown id', [submitOf(), submitOf({ depends_on: ['t_unknown'] })], 't_unknown'],
    ['an unknown project', [submitOf(), submitOf({ project: 'nowhere' })], 'nowhere'],
  ])('with %s is refused whole', async (_name, batch, named) => {
    const { record, client } = records.open();
    const before = record.events.last();
    await expect(record.tasks.submit(client, batch)).rejects.toThrow(named);
    expect(record.events.last()).toBe(before);
    expect(record.tasks.list(client, {}, null, 10).items).toEqual([]);
  });
});

test('a refused submit hurts none of those that share its commit', async () => {
  const { record, client } = records.open();
  const outcomes = await Promise.allSettled([
    ...Array.from({ length: 50 }, () => record.tasks.submit(client, [submitOf()])),
    record.tasks.submit(client, [submitOf({ project: 'nowhere' })]),
  ]);
  expect(outcomes.filter((o) => o.status === 'fulfilled')).toHaveLength(50);
  expect(outcomes.at(-1)).toMatchObject({ status: 'rejected', reason: { code: 'not_found', field: 'project' } });
  expect(record.tasks.list(client, {}, null, 100).items).toHaveLength(50);
});

test('lists page by page, newest first, and filter by all at once', async () => {
  const { record, client, submit } = records.open();
  const ids: string[] = [];
  for (let i = 0; i < 5; i += 1) ids.push(await submit({ goal: `100%_${i}`, tags: i % 2 === 0 ? ['even'] : [] }));
  const first = record.tasks.list(client, {}, null, 2);
  const second = record.tasks.list(client, {}, first.next, 2);
  const third = record.tasks.list(client, {}, second.next, 2);
  expect([...first.items, ...second.items, ...third.items].map((t) => t.id)).toEqual(ids.toReversed());
  expect(third.next).toBeNull();
  expect(
    record.tasks.list(client, { tag: 'even', text: '0%_4', states: ['ready'], project: 'sample', client: 'tester' }, null, 9).items,
  ).toHaveLength(1);
  expect(record.tasks.list(client, { text: '0__' }, null, 9).items).toHaveLength(0);
  expect(() => record.tasks.list(client, {}, 'nonsense', 9)).toThrow('cursor');
});

test("another client's task is not found, whatever is asked of it", async () => {
  const { record, client, submit } = records.open();
  const id = await submit();
  const { info } = record.tokens.create('other', { operator: false }, 'test');
  const other = { clientId: info.clientId, clientName: 'other', operator: false };
  for (const ask of [
    () => record.tasks.get(other, id),
    () => record.tasks.attempts(other, id),
    () => record.tasks.cancel(other, id, 'x'),
    () => record.artifacts.list(other, id),
    () => record.artifacts.read(other, id, 'diff'),
  ]) {
    expect(ask).toThrow(`There is no task ${id}`);
  }
  await expect(record.tasks.submit(other, [submitOf({ depends_on: [id] })])).rejects.toMatchObject({
    code: 'not_found',
    field: 'depends_on',
  });
  expect(record.tasks.list(other, {}, null, 9).items).toEqual([]);
  expect(record.tasks.get({ ...other, operator: true }, id).client).toBe(client.clientName);
});
