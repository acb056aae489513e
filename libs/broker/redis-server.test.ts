/** The private Redis: durable, private, and able to take over from one whose owner died. */
import { spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { recordingLog } from '../../test/support/delivery.ts';
import { connectBroker, RedisMissing, type RedisServer, startRedisServer } from './index.ts';

let dir: string;
let servers: RedisServer[] = [];
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'tb-server-'));
});
afterEach(async () => {
  for (const server of servers) await server.stop();
  servers = [];
  rmSync(dir, { recursive: true, force: true });
});

const start = async (at = dir, log?: Parameters<typeof startRedisServer>[0]['log']) => {
  const server = await startRedisServer({ dir: at, log });
  servers.push(server);
  return server;
};

/** One command on a connection of its own. */
async function ask<T>(address: string, what: (client: Redis) => Promise<T>): Promise<T> {
  const client = new Redis({ path: address });
  try {
    return await what(client);
  } finally {
    client.disconnect();
  }
}

test('it is private, never evicts, and keeps what it was given across a kill', async () => {
  const first = await start();
  expect(statSync(dir).mode & 0o777).toBe(0o700);
  expect(statSync(first.address).mode & 0o077).toBe(0);
  expect(await ask(first.address, (client) => client.config('GET', 'maxmemory-policy'))).toEqual(['maxmemory-policy', 'noeviction']);
  expect(await ask(first.address, (client) => client.config('GET', 'port'))).toEqual(['port', '0']);
  await ask(first.address, (client) => client.set('kept', 'yes'));
  process.kill(first.pid, 'SIGKILL');
  expect(await first.exited).toEqual({ code: null, signal: 'SIGKILL' });
  // Its socket file is still there.
  const second = await start();
  expect(await ask(second.address, (client) => client.get('kept'))).toBe('yes');
});

test('a clean stop ends it and tells so', async () => {
  const server = await start();
  await server.stop();
  expect((await server.exited).code).toBe(0);
});

test('one that an owner who died left behind is ended cleanly, and what it held is there', async () => {
  const orphan = await start();
  await ask(orphan.address, (client) => client.set('kept', 'yes'));
  const { log, lines } = recordingLog();
  const heir = await start(dir, log);
  expect((await orphan.exited).code).toBe(0);
  expect(heir.pid).not.toBe(orphan.pid);
  expect(await ask(heir.address, (client) => client.get('kept'))).toBe('yes');
  expect(lines).toEqual(['warn a Redis of an earlier run still serves; ending it']);
});

test('a folder with a path too long for a socket gets one under the temp folder, and says so', async () => {
  const deep = join(dir, 'x'.repeat(100), 'redis');
  mkdirSync(deep, { recursive: true });
  const { log, lines } = recordingLog();
  const server = await start(deep, log);
  expect(Buffer.byteLength(server.address)).toBeLessThanOrEqual(103);
  expect(await ask(server.address, (client) => client.ping())).toBe('PONG');
  expect(lines).toEqual(['info the data folder has too long a path for a socket; Redis listens elsewhere']);
  rmSync(join(server.address, '..'), { recursive: true, force: true });
});

test('without redis-server the error has a type of its own', async () => {
  const path = process.env['PATH'];
  process.env['PATH'] = dir;
  try {
    await expect(startRedisServer({ dir })).rejects.toThrow(RedisMissing);
  } finally {
    process.env['PATH'] = path;
  }
});

test("a server that can't start is an error with the server's own words", async () => {
  mkdirSync(join(dir, 'appendonlydir'));
  writeFileSync(join(dir, 'appendonlydir', 'appendonly.aof.manifest'), 'not a manifest\n');
  await expect(startRedisServer({ dir })).rejects.toThrow(/redis-server did not start: .*manifest/i);
});

test('a Redis that may evict is warned of, once', async () => {
  const socket = join(dir, 'evicting.sock');
  const child = spawn('redis-server', ['--port', '0', '--unixsocket', socket, '--save', '', '--maxmemory-policy', 'allkeys-lru'], {
    cwd: dir,
    stdio: 'ignore',
  });
  const { log, lines } = recordingLog();
  const broker = connectBroker({ redis: socket, prefix: 'x' }, log);
  try {
    await expect
      .poll(() => lines.filter((line) => line.includes('evict')))
      .toEqual(['warn Redis may evict jobs and reports: set its maxmemory-policy to noeviction']);
  } finally {
    await broker.close();
    child.kill('SIGKILL');
  }
});
