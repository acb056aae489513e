/** A Redis server of one's own: a child process on a unix socket, durable, reachable by nobody else. */
import { type ChildProcess, spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { chmodSync, lstatSync, mkdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { createInterface } from 'node:readline';
import type { Log } from '@taskbridge/platform';
import { Redis } from 'ioredis';
import { settledWithin } from './deadline.ts';

/** Longest path of a unix socket, in bytes: 107 on Linux, 103 on macOS. */
const socketPathLimit = 103;
/** Longest start, in milliseconds: a large append-only file has to be read. */
const startMs = 60_000;
/** Longest clean stop, in milliseconds. */
const stopMs = 8_000;

/** redis-server is not installed. */
export class RedisMissing extends Error {}

export interface RedisServer {
  /** The path of its socket. */
  address: string;
  pid: number;
  /** Ends it cleanly; everything is on disk after it. */
  stop(): Promise<void>;
  /** Resolves when it has ended, wanted or not. */
  exited: Promise<{ code: number | null; signal: NodeJS.Signals | null }>;
}

/**
 * Starts a server whose files are in `dir` and waits until it serves. The caller must own `dir`: a server that an owner who died left
 * there is ended first, cleanly.
 * @throws RedisMissing; Error with the server's own words when it can't start
 */
export async function startRedisServer(options: { dir: string; log?: Log }): Promise<RedisServer> {
  const dir = resolve(options.dir);
  mkdirSync(dir, { recursive: true, mode: 0o700 });
  chmodSync(dir, 0o700);
  const address = socketIn(dir, options.log);
  await endPredecessor(address, options.log);
  rmSync(address, { force: true });

  const child = spawn(
    'redis-server',
    [
      ...['--port', '0', '--unixsocket', address, '--unixsocketperm', '700', '--dir', dir, '--daemonize', 'no'],
      ...['--appendonly', 'yes', '--appendfsync', 'everysec', '--save', '', '--maxmemory-policy', 'noeviction'],
    ],
    // A group of its own: Ctrl-C in the terminal must not end it before those who use it.
    { cwd: dir, stdio: ['ignore', 'pipe', 'pipe'], detached: true },
  );
  const exited = new Promise<{ code: number | null; signal: NodeJS.Signals | null }>((done) => {
    child.once('exit', (code, signal) => done({ code, signal }));
  });
  await serving(child, exited, options.log);
  return {
    address,
    pid: child.pid as number,
    exited,
    async stop() {
      child.kill('SIGTERM');
      if (!(await settledWithin(exited, stopMs))) child.kill('SIGKILL');
      await exited;
    },
  };
}

/** Where the socket stands: in `dir`, or in a folder of ours under the temp folder when that path would be too long. */
function socketIn(dir: string, log: Log | undefined): string {
  const wanted = join(dir, 'redis.sock');
  if (Buffer.byteLength(wanted) <= socketPathLimit) return wanted;
  const name = createHash('sha256').update(dir).digest('hex').slice(0, 12);
  const short = join(tmpdir(), `taskbridge-${name}`);
  mkdirSync(short, { recursive: true, mode: 0o700 });
  const found = lstatSync(short);
  // Anybody may make a folder there first, and would then own the way to our queue.
  if (!found.isDirectory() || found.uid !== process.getuid?.() || (found.mode & 0o077) !== 0) {
    throw new Error(`${short} is not a private folder of this user; remove it, or use a data folder with a shorter path`);
  }
  const socket = join(short, 'redis.sock');
  log?.info({ socket }, 'the data folder has too long a path for a socket; Redis listens elsewhere');
  return socket;
}

/** Ends a server that answers on this socket: it saves, and lets go of the files. */
async function endPredecessor(address: string, log: Log | undefined): Promise<void> {
  const client = new Redis({
    path: address,
    lazyConnect: true,
    connectTimeout: 2_000,
    commandTimeout: stopMs,
    retryStrategy: () => null,
    maxRetriesPerRequest: 0,
  });
  client.on('error', () => undefined); // No file, or a stale one: nobody to end.
  try {
    await client.connect();
  } catch {
    client.disconnect();
    return;
  }
  log?.warn({ socket: address }, 'a Redis of an earlier run still serves; ending it');
  const gone = once(client, 'end');
  client.shutdown().catch(() => undefined); // Answers by closing the connection.
  const ended = await settledWithin(gone, stopMs);
  client.disconnect();
  if (!ended) throw new Error(`a Redis of an earlier run serves on ${address} and does not end; stop it by hand`);
}

async function serving(child: ChildProcess, exited: Promise<unknown>, log: Log | undefined): Promise<void> {
  const lastWords: string[] = [];
  const { promise: ready, resolve: isReady } = Promise.withResolvers<'ready'>();
  for (const stream of [child.stdout, child.stderr]) {
    if (!stream) continue;
    createInterface({ input: stream }).on('line', (text) => {
      log?.debug(text);
      lastWords.push(text.replace(/^\d+:\w .*?\d{4} [\d:.]+ \S /, ''));
      if (lastWords.length > 5) lastWords.shift();
      if (/ready to accept connections/i.test(text)) isReady('ready');
    });
  }
  const failed = new Promise<never>((_, reject) => {
    child.on('error', (error: NodeJS.ErrnoException) =>
      reject(error.code === 'ENOENT' ? new RedisMissing('redis-server is not installed', { cause: error }) : error),
    );
  });
  const timer = setTimeout(() => child.kill('SIGKILL'), startMs);
  try {
    if ((await Promise.race([ready, failed, exited])) !== 'ready') throw new Error(`redis-server did not start: ${lastWords.join(' | ')}`);
  } finally {
    clearTimeout(timer);
  }
}
