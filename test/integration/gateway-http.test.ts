/** The gateway's door: who is let in, what is refused before it is read, and what it says of itself. */
import { request } from 'node:http';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { openGateway, submit, type TestGateway } from '../support/gateway.ts';

const bodyLimit = 100_000;
let gateway: TestGateway;
let token: string;
beforeAll(async () => {
  gateway = await openGateway({
    allowed_hosts: 'bridge.example:8443',
    allowed_origins: 'https://planner.example',
    body_limit_bytes: bodyLimit,
  });
  token = gateway.token('http');
});
afterAll(() => gateway[Symbol.asyncDispose]());

interface Reply {
  status: number;
  headers: Record<string, string | string[] | undefined>;
  body: string;
}

/** node:http, because fetch lets nobody choose the Host header. */
function send(path: string, options: { method?: string; headers?: Record<string, string>; body?: string } = {}): Promise<Reply> {
  return new Promise((resolve, reject) => {
    const call = request(`${gateway.url}${path}`, { method: options.method ?? 'GET', headers: options.headers ?? {} }, (response) => {
      let body = '';
      response.setEncoding('utf8');
      response.on('data', (chunk: string) => {
        body += chunk;
      });
      response.on('end', () => resolve({ status: response.statusCode ?? 0, headers: response.headers, body }));
    });
    call.on('error', reject);
    call.end(options.body);
  });
}

const initialize = JSON.stringify({
  jsonrpc: '2.0',
  id: 1,
  method: 'initialize',
  params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'raw', version: '1' } },
});
const json = { 'content-type': 'application/json', accept: 'application/json, text/event-stream' };
const post = (headers: Record<string, string> = {}, body = initialize, path = '/mcp') =>
  send(path, { method: 'POST', headers: { ...json, authorization: `Bearer ${token}`, ...headers }, body });

test('lets a known token in', async () => {
  const reply = await post();
  expect([reply.status, reply.headers['cache-control']]).toEqual([200, 'no-store']);
  expect(reply.body).toContain('"name":"taskbridge"');
});

test.each(['evil.example', 'evil.example:80', 'localhost.evil.example', '127.0.0.1.evil.example', '10.0.0.1'])(
  'refuses the Host header "%s", as a page that rebinds its name to loopback sends it',
  async (host) => {
    for (const reply of [
      await post({ host }),
      await send('/health', { headers: { host } }),
      await send('/metrics', { headers: { host } }),
    ]) {
      expect([400, 403]).toContain(reply.status);
      expect(reply.body).not.toContain('taskbridge');
    }
  },
);

test.each(['localhost', 'LOCALHOST', '127.0.0.1:9999', '[::1]:80', 'bridge.example', 'bridge.example:8443'])(
  'accepts the Host header "%s"',
  async (host) => {
    expect((await post({ host })).status).toBe(200);
  },
);

test.each(['https://evil.example', 'http://localhost.evil.example', 'null', 'https://bridge.example'])(
  'refuses the Origin "%s", also with a good token',
  async (origin) => {
    expect((await post({ origin })).status).toBe(403);
  },
);

test.each(['http://localhost:3000', 'https://planner.example'])('accepts the Origin "%s"', async (origin) => {
  expect((await post({ origin })).status).toBe(200);
});

test('asks for a token, on every method', async () => {
  for (const method of ['POST', 'GET', 'DELETE']) {
    const reply = await send('/mcp', { method, headers: json });
    expect([reply.status, reply.headers['www-authenticate']]).toEqual([401, 'Bearer realm="taskbridge"']);
    expect(JSON.parse(reply.body)).toMatchObject({ error: { code: 'unauthorized', fix: expect.stringContaining('token create') } });
    expect(reply.headers['cache-control']).toBe('no-store');
  }
});

test.each([
  ['an unknown token', () => `Bearer tbk_${'x'.repeat(40)}`],
  ['a token with a letter too many', () => `Bearer ${token}0`],
  ['a revoked token', revoked],
])('refuses %s', async (_name, header) => {
  const reply = await post({ authorization: header() });
  expect([reply.status, reply.headers['www-authenticate']]).toEqual([401, 'Bearer realm="taskbridge", error="invalid_token"']);
});

function revoked(): string {
  const made = gateway.record.tokens.create('leaver', { operator: false }, 'test');
  gateway.record.tokens.revoke(made.info.id, 'test');
  return `Bearer ${made.token}`;
}

test('takes no token from the address, and none by another scheme', async () => {
  for (const query of [`?access_token=${token}`, `?token=${token}`]) {
    expect((await post({ authorization: '' }, initialize, `/mcp${query}`)).status).toBe(401);
  }
  expect((await post({ authorization: `Basic ${Buffer.from(`x:${token}`).toString('base64')}` })).status).toBe(401);
});

test('a token that is revoked between two calls ends the second', async () => {
  const made = gateway.record.tokens.create('short', { operator: false }, 'test');
  const client = await gateway.connect(made.token);
  await submit(client);
  gateway.record.tokens.revoke(made.info.id, 'test');
  await expect(submit(client)).rejects.toThrow(/401|authori/i);
});

test('refuses a body over the limit, announced or not, and takes one below it', async () => {
  const before = gateway.record.events.last();
  const call = (goal: string) =>
    JSON.stringify({
      jsonrpc: '2.0',
      id: 1,
      method: 'tools/call',
      params: { name: 'submit_task', arguments: { project: 'sample', goal } },
    });
  const tooBig = call('x'.repeat(bodyLimit));
  expect((await post({ 'content-length': String(tooBig.length) }, tooBig)).status).toBe(413);
  expect((await post({ 'transfer-encoding': 'chunked' }, tooBig)).status).toBe(413);
  expect(gateway.record.events.last()).toBe(before);
  const large = await post({}, call('x'.repeat(bodyLimit - 1_000)));
  expect(large.status).toBe(200);
  expect(large.body).toContain('\\"created\\":true');
});

test.each([
  ['no JSON', 'nonsense', 400],
  ['an empty body', '', 400],
  ['JSON that is no message', '[]', 400],
])('answers %s with an error and goes on', async (_name, body, status) => {
  expect((await post({}, body)).status).toBe(status);
  expect((await post()).status).toBe(200);
});

test('answers another content type with 415', async () => {
  expect((await post({ 'content-type': 'text/plain' })).status).toBe(415);
});

test('is stateless: it opens no stream and ends no session by itself', async () => {
  for (const method of ['GET', 'DELETE']) {
    expect((await send('/mcp', { method, headers: { ...json, authorization: `Bearer ${token}` } })).status).toBe(405);
  }
  expect((await post()).headers['mcp-session-id']).toBeUndefined();
});

test('says that it lives, and that it is ready though Redis is away', async () => {
  expect(await send('/health')).toMatchObject({ status: 200, body: '{"status":"live"}' });
  const ready = await send('/ready');
  expect(ready.status).toBe(200);
  expect(JSON.parse(ready.body)).toEqual({
    ready: true,
    record: { ok: true },
    redis: { ok: false, reason: expect.stringContaining('Redis does not answer') },
    stopping: false,
  });
});

test('counts requests and tool calls without letting clients make labels', async () => {
  await post();
  const call = (name: string) => post({}, JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name, arguments: {} } }));
  await call('list_projects');
  await call('get_task');
  await call('tool-of-my-own');
  await send('/page-of-my-own');
  const { body, headers } = await send('/metrics');
  expect(headers['content-type']).toContain('text/plain');
  expect(body).toMatch(/taskbridge_http_requests_total\{method="POST",route="\/mcp",status="2xx"\} \d+/);
  expect(body).toMatch(/taskbridge_mcp_calls_total\{tool="list_projects",outcome="ok"\} \d+/);
  expect(body).toMatch(/taskbridge_mcp_calls_total\{tool="get_task",outcome="invalid_input"\} \d+/);
  expect(body).toMatch(/taskbridge_mcp_calls_total\{tool="unknown",outcome="not_found"\} \d+/);
  expect(body).toContain('process_resident_memory_bytes');
  expect(body).not.toContain('of-my-own');
});

test('what is not there is 404, in the same words', async () => {
  const reply = await send('/nothing');
  expect(reply.status).toBe(404);
  expect(JSON.parse(reply.body)).toMatchObject({ error: { code: 'not_found' } });
});
