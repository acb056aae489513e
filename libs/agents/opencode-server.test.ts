import { once } from 'node:events';
import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { startServer } from './opencode-server.ts';

const portOf = (server: ReturnType<typeof createServer>) => (server.address() as { port: number }).port;

test('a port that was taken in the meantime is exchanged for another', async () => {
  const dir = await mkdtemp(join(tmpdir(), 'tb-port-'));
  await mkdir(join(dir, 'mirror.git'));
  const taken = createServer().listen(0, '127.0.0.1');
  const spare = createServer().listen(0, '127.0.0.1');
  await Promise.all([once(taken, 'listening'), once(spare, 'listening')]);
  const ports = [portOf(taken), portOf(spare)];
  spare.close();
  const server = await startServer(
    {
      slotDir: dir,
      gitDir: join(dir, 'mirror.git'),
      model: { model: 'scripted/model', contextTokens: 1_000, outputTokens: 100 },
      endpoint: { baseUrl: 'http://127.0.0.1:9/v1', key: 'k' },
      sandboxed: false,
      startTimeoutMs: 60_000,
    },
    async () => ports.shift() as number,
  );
  expect(server.alive).toBe(true);
  expect(ports).toEqual([]);
  await server.stop();
  taken.close();
  await rm(dir, { recursive: true, force: true });
}, 120_000);
