/** A private Redis for a test file: real, durable, in a temp folder. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type RedisServer, startRedisServer } from '@taskbridge/broker';
import { afterAll, beforeAll } from 'vitest';

export interface TestRedis {
  /** The socket's path; the same after a restart. */
  readonly address: string;
  readonly pid: number;
  /** A prefix nobody else has: a test's own keys. */
  prefix(): string;
  /** kill -9: what the append-only file has stays. */
  kill(): Promise<void>;
  /** Starts it again on the same files. */
  start(): Promise<void>;
}

let prefixes = 0;

/** Starts a Redis before this file's tests and ends it after them. */
export function withRedis(): TestRedis {
  const dir = mkdtempSync(join(tmpdir(), 'tb-redis-'));
  let server: RedisServer | undefined;
  const running = () => {
    if (server === undefined) throw new Error('Redis is not running');
    return server;
  };
  const start = async () => {
    server = await startRedisServer({ dir });
  };
  beforeAll(start);
  afterAll(async () => {
    await server?.stop();
    rmSync(dir, { recursive: true, force: true });
  });
  return {
    get address() {
      return running().address;
    },
    get pid() {
      return running().pid;
    },
    prefix: () => `t${process.pid}-${++prefixes}`,
    async kill() {
      process.kill(running().pid, 'SIGKILL');
      await running().exited;
    },
    start,
  };
}
