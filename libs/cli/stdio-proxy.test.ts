/** taskbridge mcp between real clients over stdio and a real MCP server over HTTP. */
import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { fileURLToPath } from 'node:url';
import { Client } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { toNodeHandler } from '@modelcontextprotocol/node';
import { Client as OlderClient } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport as OlderStdioTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { createMcpHandler, McpServer } from '@modelcontextprotocol/server';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { z } from 'zod';

const main = fileURLToPath(new URL('main.ts', import.meta.url));
const token = 'tbk_test';

let closers: (() => Promise<unknown>)[];
let cancelled: PromiseWithResolvers<void>;
let started: PromiseWithResolvers<void>;
beforeEach(() => {
  closers = [];
  cancelled = Promise.withResolvers();
  started = Promise.withResolvers();
});
afterEach(async () => {
  for (const close of closers.reverse()) await close();
});

/** A gateway with two tools: one answers, one never does. */
async function standInGateway(port = 0): Promise<Server> {
  const handler = createMcpHandler(() => {
    const server = new McpServer({ name: 'stand-in', version: '1.0.0' });
    server.registerTool('echo', { inputSchema: z.object({ text: z.string() }) }, ({ text }) => ({ content: [{ type: 'text', text }] }));
    server.registerTool('hang', { inputSchema: z.object({}) }, async (_input, context) => {
      context.mcpReq.signal.addEventListener('abort', () => cancelled.resolve());
      started.resolve();
      await cancelled.promise;
      return { content: [] };
    });
    return server;
  });
  const answer = toNodeHandler(handler);
  const server = createServer((request, response) => {
    if (request.headers.authorization === `Bearer ${token}`) void answer(request, response);
    else response.writeHead(401, { 'WWW-Authenticate': 'Bearer' }).end();
  });
  server.listen(port, '127.0.0.1');
  await once(server, 'listening');
  closers.push(async () => {
    server.closeAllConnections();
    server.close();
    await handler.close();
  });
  return server;
}

const portOf = (server: Server) => (server.address() as AddressInfo).port;

const parameters = (port: number, withToken = token) => ({
  command: process.execPath,
  args: [main, 'mcp'],
  env: { PATH: process.env['PATH'] ?? '', TASKBRIDGE_URL: `http://127.0.0.1:${port}/mcp`, TASKBRIDGE_TOKEN: withToken },
});

type Mode = 'legacy' | 'auto';

async function connect(port: number, withToken?: string, mode: Mode = 'legacy'): Promise<Client> {
  const client = new Client({ name: 'desktop', version: '1.0.0' }, { versionNegotiation: { mode } });
  closers.push(() => client.close());
  await client.connect(new StdioClientTransport(parameters(port, withToken)));
  return client;
}

test.each([
  ['legacy', '2025-11-25'],
  ['auto', '2026-07-28'],
] as const)('the 2.x client lists and calls tools through it (%s, %s)', async (mode, protocol) => {
  const client = await connect(portOf(await standInGateway()), token, mode);
  expect(client.getNegotiatedProtocolVersion()).toBe(protocol);
  expect((await client.listTools()).tools.map(({ name }) => name)).toEqual(['echo', 'hang']);
  expect((await client.callTool({ name: 'echo', arguments: { text: 'hello' } })).content).toEqual([{ type: 'text', text: 'hello' }]);
});

test('the 1.x client does the same', async () => {
  const client = new OlderClient({ name: 'older-desktop', version: '1.0.0' });
  closers.push(() => client.close());
  await client.connect(new OlderStdioTransport(parameters(portOf(await standInGateway()))));
  expect((await client.listTools()).tools).toHaveLength(2);
  expect((await client.callTool({ name: 'echo', arguments: { text: 'hello' } })).content).toEqual([{ type: 'text', text: 'hello' }]);
});

test.each(['legacy', 'auto'] as const)('a cancelled call is cancelled at the gateway (%s)', async (mode) => {
  const client = await connect(portOf(await standInGateway()), token, mode);
  const given = new AbortController();
  const call = client.callTool({ name: 'hang', arguments: {} }, { signal: given.signal });
  await started.promise;
  given.abort();
  await expect(call).rejects.toThrow();
  await cancelled.promise;
});

test('a refused token is one sentence that says what to do', async () => {
  await expect(connect(portOf(await standInGateway()), 'tbk_wrong')).rejects.toThrow(/refuses the token.*taskbridge token create/);
});

test('while the gateway is away calls say so, and work again when it is back', async () => {
  const first = await standInGateway();
  const port = portOf(first);
  const client = await connect(port);
  first.closeAllConnections();
  first.close();
  await once(first, 'close');
  await expect(client.callTool({ name: 'echo', arguments: { text: 'lost' } })).rejects.toThrow(
    /No TaskBridge answers at .*taskbridge start/,
  );
  await standInGateway(port);
  expect((await client.callTool({ name: 'echo', arguments: { text: 'back' } })).content).toEqual([{ type: 'text', text: 'back' }]);
});
