/** The board: who is let in, what it shows of hostile words, and a feed that misses nothing. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { openBoard, type TestBoard } from '../support/board.ts';
import { beginAttempts, settleAttempt } from '../support/gateway.ts';

let board: TestBoard;
let operator: string;
let cookie: string;
beforeAll(async () => {
  board = await openBoard({ TASKBRIDGE_ALLOWED_HOSTS: 'bridge.example:8443,no name' });
  operator = board.token('operator', true).token;
  cookie = await board.signIn(operator);
});
afterAll(() => board[Symbol.asyncDispose]());

const numbers = (heard: string): number[] => [...heard.matchAll(/^id: (\d+)$/gm)].map((match) => Number(match[1]));

test('shows nothing to whoever is not signed in', async () => {
  const id = await board.submit('A secret plan.');
  for (const path of ['/', `/tasks/${id}`, '/nowhere', '/static/../', '/sign-in/x', '/?/sign-in']) {
    const reply = await board.call(path);
    expect([path, reply.status, reply.headers.location]).toEqual([path, 302, '/sign-in']);
    expect(reply.body).not.toContain('secret');
  }
  expect((await board.call('/events')).status).toBe(401);
  expect((await board.call('/', { headers: { cookie: 'taskbridge_session=guessed' } })).status).toBe(302);
  expect((await board.call('/', { headers: { cookie: `taskbridge_session=${operator}` } })).status).toBe(302);
  for (const path of ['/health', '/ready', '/sign-in', '/static/board.css', '/static/board.js'])
    expect([path, (await board.call(path)).status]).toEqual([path, 200]);
});

test("refuses a wrong token and a client's, and says why", async () => {
  for (const form of [
    { token: 'tb_wrong' } as Record<string, string>,
    { token: board.token('planner-2', false).token },
    { token: '' },
    {},
  ]) {
    const reply = await board.call('/sign-in', { form });
    expect([reply.status, reply.headers['set-cookie']]).toEqual([401, undefined]);
    expect(reply.body).toContain('not the token of an operator');
  }
});

test("an operator's token opens a session that scripts and other sites can't use, until they sign out", async () => {
  const reply = await board.call('/sign-in', { form: { token: operator }, headers: { origin: board.url } });
  expect([reply.status, reply.headers.location]).toEqual([303, '/']);
  const set = reply.headers['set-cookie']?.[0] ?? '';
  expect(set).toMatch(/^taskbridge_session=[\w-]{43}; Path=\/; HttpOnly; SameSite=Strict$/);
  const headers = { cookie: set.split(';')[0] ?? '' };
  expect((await board.call('/', { headers })).status).toBe(200);
  expect((await board.call('/sign-out', { form: {}, headers })).status).toBe(303);
  expect((await board.call('/', { headers })).status).toBe(302);
});

test('a session ends with its token', async () => {
  const { token, id } = board.token('leaver', true);
  const headers = { cookie: await board.signIn(token) };
  expect((await board.call('/', { headers })).status).toBe(200);
  board.record.tokens.revoke(id, 'test');
  expect((await board.call('/', { headers })).status).toBe(302);
});

test('looks at no more than so many wrong tokens a minute', async () => {
  await using other = await openBoard();
  const statuses = new Set<number>();
  // Twice the limit and one more, in case a minute ends in between.
  for (let i = 0; i < 41; i += 1) statuses.add((await other.call('/sign-in', { form: { token: `tb_${i}` } })).status);
  expect(statuses).toEqual(new Set([401, 429]));
});

test.each(['evil.example', '127.0.0.1.evil.example', '10.0.0.1:7421', 'two words'])('refuses the Host header "%s"', async (host) => {
  for (const path of ['/', '/sign-in', '/health', '/static/board.js']) {
    const reply = await board.call(path, { headers: { host, cookie } });
    expect([400, 403]).toContain(reply.status);
  }
});

test.each(['localhost:1', '[::1]', 'bridge.example'])('accepts the Host header "%s"', async (host) => {
  expect((await board.call('/', { headers: { host, cookie } })).status).toBe(200);
});

test.each(['https://evil.example', 'null', 'http://127.0.0.1:1'])('refuses a form of the page "%s"', async (origin) => {
  for (const path of ['/sign-in', '/sign-out'])
    expect((await board.call(path, { form: { token: operator }, headers: { origin, cookie } })).status).toBe(403);
  expect((await board.call('/', { headers: { cookie } })).status).toBe(200);
});

test('hostile words are text, wherever they stand', async () => {
  const hostile = (where: string) => `</dd><script>alert("${where}")</script><img src=x onerror='x'>&lt;\u202e`;
  const id = await board.submit(hostile('goal'));
  const job = beginAttempts(board.record).find(({ taskId }) => taskId === id);
  if (!job) throw new Error('the task was not handed out');
  const end = {
    summary: hostile('summary'),
    detail: hostile('detail'),
    openQuestions: [hostile('question')],
    files: [{ path: hostile('path'), status: 'added' as const, additions: 1, deletions: 0, binary: false }],
    filesTotal: 7,
    commands: [{ command: hostile('command'), exitCode: 1, durationMs: 1, isTest: true }],
    commandsTotal: 1,
    gates: [{ gate: 'scope', outcome: 'passed' as const, detail: hostile('gate') }],
  };
  const diff = `--- a/x\n+++ b/x\n@@ -1 +1 @@\n+${hostile('diff')}\n`;
  settleAttempt(board.record, job, end, [{ name: 'diff', mediaType: 'text/x-diff', truncated: false, content: Buffer.from(diff) }]);

  const overview = await board.call('/', { headers: { cookie } });
  const page = await board.call(`/tasks/${id}`, { headers: { cookie } });
  for (const { status, body, headers } of [overview, page]) {
    expect(status).toBe(200);
    expect(body.match(/<script[^>]*>/g)).toEqual(['<script src="/static/board.js" defer>']);
    expect(body).not.toMatch(/<img|\u202e/);
    expect(headers['content-security-policy']).toMatch(/^default-src 'none';/);
    expect(headers['content-security-policy']).not.toContain('unsafe');
    expect(headers['x-content-type-options']).toBe('nosniff');
    // Under no-referrer a browser sends "Origin: null" with the board's own forms, and nobody could sign in.
    expect(headers['referrer-policy']).toBe('same-origin');
  }
  for (const where of ['goal', 'summary', 'detail', 'question', 'path', 'command', 'gate', 'diff'])
    expect(page.body).toContain(`&lt;/dd&gt;&lt;script&gt;alert(&quot;${where}&quot;)&lt;/script&gt;`);
  expect(page.body).toContain('Files (1 of 7)');
});

test('a task that is not there is a plain 404', async () => {
  const reply = await board.call('/tasks/<script>', { headers: { cookie } });
  expect([reply.status, reply.headers['content-type']]).toEqual([404, 'text/plain; charset=utf-8']);
});

test('the feed tells at once what another process commits, and nothing twice', async () => {
  const after = board.record.events.last();
  await using feed = await board.feed(`/events?after=${after}`, { cookie });
  const began = Date.now();
  let heard = '';
  for (let i = 0; i < 5; i += 1) heard = await feed.until(await board.submit('Seen live.'));
  // The slow check that stands behind the watch would take 2 s for each.
  expect(Date.now() - began).toBeLessThan(5_000);
  expect(numbers(heard)).toEqual(board.record.events.since(after, 100).map(({ seq }) => seq));
});

test('a browser that comes back gets what it missed, once and in order', async () => {
  const seen = board.record.events.last();
  // More than the board reads at once.
  for (let i = 0; i < 6; i += 1) await Promise.all(Array.from({ length: 100 }, () => board.submit('Missed.')));
  const missed = board.record.events.since(seen, 10_000).map(({ seq }) => seq);
  expect(missed.length).toBeGreaterThan(500);
  // The address still says where the page began; what the browser says counts.
  await using feed = await board.feed('/events?after=0', { cookie, 'last-event-id': String(seen) });
  const heard = await feed.until(`id: ${missed.at(-1)}\n`);
  expect(numbers(heard)).toEqual(missed);
});

test('a feed gives a sign of life when nothing happens, and ends with its session', async () => {
  const { token, id } = board.token('watcher', true);
  const own = { cookie: await board.signIn(token) };
  await using feed = await board.feed('/events', own);
  const began = Date.now();
  expect(await feed.until('event: alive')).toContain('event: alive');
  expect(Date.now() - began).toBeLessThan(15_000);
  board.record.tokens.revoke(id, 'test');
  await feed.ended;
  expect((await board.call('/events', { headers: own })).status).toBe(401);
});
