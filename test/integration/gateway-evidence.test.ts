/** What a client is shown of a task's evidence: bounded, paged, and never silently cut. */
import type { AttemptJob, FileChange, LogLine, Report, TaskDetail } from '@taskbridge/contract';
import type { ArtifactContent } from '@taskbridge/record';
import { afterAll, beforeAll, expect, test } from 'vitest';
import {
  answer,
  beginAttempts,
  openGateway,
  refused,
  settleAttempt,
  submit,
  type TestClient,
  type TestGateway,
} from '../support/gateway.ts';

let gateway: TestGateway;
let client: TestClient;
beforeAll(async () => {
  gateway = await openGateway();
  client = await gateway.connect(gateway.token('judge'));
});
afterAll(() => gateway[Symbol.asyncDispose]());

const base = { ref: 'main', commit: 'a'.repeat(40) };
const head = { commit: 'b'.repeat(40), branch: 'taskbridge/sample' };

const artifact = (name: string, content: string | Buffer, truncated = false): ArtifactContent => ({
  name,
  mediaType: 'text/plain',
  truncated,
  content: Buffer.from(content),
});
const logOf = (texts: string[]): string =>
  texts.map((text, at) => `${JSON.stringify({ n: at + 1, at, kind: 'agent', text } satisfies LogLine)}\n`).join('');

function begin(taskId: string): AttemptJob {
  const job = beginAttempts(gateway.record).find((one) => one.taskId === taskId);
  if (!job) throw new Error('the attempt has not begun');
  return job;
}

/** A task that ended with this report and these artifacts. */
async function ended(end: Partial<Report>, artifacts: ArtifactContent[], input: Record<string, unknown> = {}): Promise<string> {
  const { id } = await submit(client, input);
  settleAttempt(gateway.record, begin(id), { base, head, ...end }, artifacts);
  return id;
}

interface Diff {
  diff: string;
  next_offset: number | null;
  total_chars: number;
  truncated: boolean;
  whole?: string;
  branch?: string;
  note?: string;
}
const diffOf = (input: Record<string, unknown>) => answer<Diff>(client, 'get_diff', input);

interface Log {
  attempt: number | null;
  lines: LogLine[];
  next_after: number;
  more: boolean;
  note?: string;
}
const logsOf = (input: Record<string, unknown>) => answer<Log>(client, 'get_logs', input);

const section = (path: string, line: string): string =>
  `diff --git a/${path} b/${path}\nindex 1..2 100644\n--- a/${path}\n+++ b/${path}\n@@ -1 +1 @@\n-old\n+${line}\n`;

test('a report comes with its facts, its long lists cut and the cut said', async () => {
  const files: FileChange[] = Array.from({ length: 300 }, (_, n) => ({
    path: `src/${n}.ts`,
    status: 'modified',
    additions: 1,
    deletions: 0,
    binary: false,
  }));
  const commands = Array.from({ length: 120 }, (_, n) => ({ command: `npm test ${n}`, exitCode: n % 2, durationMs: 5, isTest: true }));
  const limits = [{ limit: 'files', enforcedBy: 'os' as const }];
  const goal = 'g'.repeat(50_000);
  const id = await ended({ files, filesTotal: 700, commands, commandsTotal: 120, limits, summary: 's'.repeat(20_000) }, [], { goal });
  const result = await client.callTool({ name: 'get_task', arguments: { id } });
  expect(result.content[0]?.text.length).toBeLessThan(60_000);
  const { task, cut } = result.structuredContent as { task: TaskDetail; cut: string[] };
  const report = task.latestAttempt?.report;
  expect([report?.files.length, report?.filesTotal, report?.commands.length, report?.commandsTotal]).toEqual([100, 700, 30, 120]);
  expect(report).toMatchObject({ base, head, limits });
  expect(report?.commands.at(-1)).toMatchObject({ command: 'npm test 119', exitCode: 1 });
  expect(cut.join('\n')).toMatch(/goal: the first 4000 of 50000 characters/);
  expect(cut).toContain('files: the first 100 of 300; see get_diff with stat');
  expect(cut).toContain('commands: the last 30 of 120; see get_logs');
});

test('a diff comes whole in pages of characters, whatever is in it', async () => {
  const text = section('a.txt', `${'äöü€🙂'.repeat(2_000)}`);
  const id = await ended({}, [artifact('diff', text)]);
  let whole = '';
  for (let offset: number | null = 0; offset !== null; ) {
    const page: Diff = await diffOf({ id, offset, limit: 1_001 });
    expect(page.diff.length).toBeLessThanOrEqual(1_001);
    expect(page.total_chars).toBe(text.length);
    expect(page.diff.isWellFormed()).toBe(true);
    whole += page.diff;
    offset = page.next_offset;
  }
  expect(whole).toBe(text);
  expect((await diffOf({ id })).diff).toBe(text);
});

test('a page is at most 40,000 characters', async () => {
  const id = await ended({}, [artifact('diff', section('a.txt', 'x'.repeat(100_000)))]);
  const page = await diffOf({ id });
  expect([page.diff.length, page.next_offset]).toEqual([40_000, 40_000]);
  expect(await refused(client, 'get_diff', { id, limit: 40_001 })).toMatchObject({ code: 'invalid_input', field: 'limit' });
});

test('a diff that was cut says how to get the whole', async () => {
  const id = await ended({}, [artifact('diff', section('a.txt', 'x'), true)]);
  expect(await diffOf({ id })).toMatchObject({ truncated: true, whole: `git diff ${base.commit}..${head.commit}`, branch: head.branch });
});

test('a diff that is not UTF-8 is shown, and says so', async () => {
  const id = await ended({}, [artifact('diff', Buffer.concat([Buffer.from(section('a.txt', 'x')), Buffer.from([0x2b, 0xe9, 0x0a])]))]);
  const page = await diffOf({ id });
  expect(page.diff).toContain('+\ufffd\n');
  expect(page.note).toContain('not UTF-8');
});

test('statistics first: files with what was added and removed', async () => {
  const files: FileChange[] = [
    { path: 'a.txt', status: 'added', additions: 3, deletions: 0, binary: false },
    { path: 'b.txt', status: 'modified', additions: 1, deletions: 2, binary: false },
  ];
  const id = await ended({ files, filesTotal: 2 }, [artifact('diff', section('a.txt', 'x'))]);
  const stat = await answer(client, 'get_diff', { id, stat: true });
  expect(stat).toMatchObject({ files, files_total: 2, additions: 4, deletions: 2 });
  expect(stat).not.toHaveProperty('diff');
});

test('one file of a diff, however git spells its name', async () => {
  const renamed = 'diff --git a/old name.txt b/new name.txt\nsimilarity index 100%\nrename from old name.txt\nrename to new name.txt\n';
  const quoted = section('x', 'quoted').replaceAll(/[ab]\/x/g, (name) => `"${name.replace('x', 'gr\\303\\274n\\t.txt')}"`);
  const spaced = section('with space.txt', 'spaced').replaceAll(/^([-+]{3} .*)$/gm, '$1\t');
  const binary = 'diff --git a/pic.png b/pic.png\nindex 1..2 100644\nGIT binary patch\nliteral 3\nKcmZQzU|?imU|;|M00aO5\n\n';
  const lying = section('lying.txt', 'x').replace('+x', '+x\n+++ b/a.txt');
  const all = [section('a.txt', 'first'), section('src/a.txt', 'other'), renamed, quoted, spaced, binary, lying];
  const id = await ended({}, [artifact('diff', all.join(''))]);
  const of = async (path: string) => (await diffOf({ id, path })).diff;
  expect(await of('a.txt')).toBe(all[0]);
  expect(await of('src/a.txt')).toBe(all[1]);
  expect(await of('new name.txt')).toBe(renamed);
  expect(await of('old name.txt')).toBe(renamed);
  expect(await of('grün\t.txt')).toBe(quoted);
  expect(await of('with space.txt')).toBe(spaced);
  expect(await of('pic.png')).toBe(binary);
  expect(await of('lying.txt')).toBe(lying);
  expect(await refused(client, 'get_diff', { id, path: 'none.txt' })).toMatchObject({ code: 'not_found', field: 'path' });
});

test('a task without a diff says why', async () => {
  const { id } = await submit(client, { mode: 'analysis' });
  expect(await refused(client, 'get_diff', { id })).toMatchObject({ code: 'not_found', message: expect.stringContaining('analysis') });
});

test('a log comes in pages, by its line numbers', async () => {
  const id = await ended({}, [artifact('log', logOf(Array.from({ length: 1_205 }, (_, n) => `line ${n + 1}`)))]);
  const seen: number[] = [];
  for (let after = 0, more = true; more; ) {
    const page = await logsOf({ id, after, limit: 500 });
    seen.push(...page.lines.map((line) => line.n));
    [after, more] = [page.next_after, page.more];
  }
  expect(seen).toEqual(Array.from({ length: 1_205 }, (_, n) => n + 1));
  expect((await logsOf({ id, tail: 2 })).lines.map((line) => line.text)).toEqual(['line 1204', 'line 1205']);
  expect(await logsOf({ id, after: 1_205 })).toMatchObject({ lines: [], next_after: 1_205, more: false });
});

test('an answer stays small however long the lines are, and loses none', async () => {
  const id = await ended({}, [artifact('log', logOf(Array.from({ length: 40 }, () => 'x'.repeat(20_000))), true)]);
  const page = await logsOf({ id });
  expect(JSON.stringify(page).length).toBeLessThan(50_000);
  expect(page).toMatchObject({ more: true, note: expect.stringContaining('size limit') });
  expect(page.lines[0]?.text).toContain('(20000 characters)');
  expect((await logsOf({ id, after: page.next_after })).lines[0]?.n).toBe(page.next_after + 1);
  expect((await logsOf({ id, tail: 40 })).lines.at(-1)?.n).toBe(40);
});

test('the log of an earlier attempt can be chosen', async () => {
  const { id } = await submit(client);
  settleAttempt(gateway.record, begin(id), { outcome: 'returned', reason: 'worker_shutdown' }, [artifact('log', logOf(['first try']))]);
  settleAttempt(gateway.record, begin(id), {}, [artifact('log', logOf(['second try']))]);
  expect((await logsOf({ id })).lines).toMatchObject([{ text: 'second try' }]);
  expect(await logsOf({ id, attempt: 1 })).toMatchObject({ attempt: 1, lines: [{ text: 'first try' }] });
  expect(await refused(client, 'get_logs', { id, attempt: 3 })).toMatchObject({
    code: 'not_found',
    field: 'attempt',
    fix: expect.stringContaining('2'),
  });
});

test('a log that ends within a line, as at a size limit, is read up to there', async () => {
  const id = await ended({}, [artifact('log', `${logOf(['whole'])}{"n":2,"at":1,"ki`, true)]);
  expect((await logsOf({ id })).lines.map((line) => line.text)).toEqual(['whole']);
});

test('the log of a running attempt needs Redis, and says so when it is away', async () => {
  const { id } = await submit(client);
  expect(await logsOf({ id })).toMatchObject({ attempt: null, lines: [], note: 'No attempt has begun yet.' });
  begin(id);
  expect(await refused(client, 'get_logs', { id })).toMatchObject({ code: 'unavailable', message: expect.stringContaining('Redis') });
});
