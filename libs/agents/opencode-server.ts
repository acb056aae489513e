/** One `opencode serve` process: own home, port, password and environment, in a sandbox where there is one. */
import { type ChildProcess, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { mkdir } from 'node:fs/promises';
import { createServer } from 'node:net';
import { dirname, join } from 'node:path';
import { createOpencodeClient, type OpencodeClient } from '@opencode-ai/sdk/v2/client';
import { AttemptFailure } from '@taskbridge/contract';
import { type Endpoint, opencodeBinary, opencodeConfig } from './opencode-config.ts';
import { endMembers, treeMembers, treeMemory } from './process-tree.ts';
import { sandboxArguments } from './sandbox.ts';
import type { ModelSettings } from './types.ts';

export interface ServerRequest {
  /** The slot's folder: `home` and `tree` stand in it. */
  slotDir: string;
  gitDir: string;
  model: ModelSettings;
  endpoint: Endpoint;
  sandboxed: boolean;
  startTimeoutMs: number;
}

export interface OpencodeServer {
  readonly startedAt: number;
  readonly gitDir: string;
  client(directory: string): OpencodeClient;
  /** Resolves with a sentence when the process has ended. */
  readonly ended: Promise<string>;
  readonly alive: boolean;
  memory(): Promise<number>;
  /** Ends what an attempt left running, the server itself excepted. */
  endLeftovers(): Promise<void>;
  /** The command line that runs `command` behind the same limits as the agent. */
  commandLine(command: string[], cwd: string): { file: string; args: string[]; env: Record<string, string> };
  /** Ends the server and its whole process tree. */
  stop(): Promise<void>;
}

/** How much of what a server said is kept for its failure, in characters. */
const keptOutput = 4_000;

/** How often a port is chosen anew: until the server listens, another program may have taken it. */
const portTries = 3;

/**
 * @param choosePort where to listen
 * @throws AttemptFailure agent_start_failed
 */
export async function startServer(request: ServerRequest, choosePort: () => Promise<number> = freePort): Promise<OpencodeServer> {
  for (let tries = 1; ; tries += 1) {
    try {
      return await startOnce(request, await choosePort());
    } catch (error) {
      // What OpenCode says when it can't listen.
      if (tries === portTries || !(error instanceof AttemptFailure) || !error.message.includes('ServeError')) throw error;
    }
  }
}

async function startOnce(request: ServerRequest, port: number): Promise<OpencodeServer> {
  const { slotDir, gitDir, sandboxed } = request;
  const home = join(slotDir, 'home');
  await mkdir(home, { recursive: true, mode: 0o700 });
  const mark = `TASKBRIDGE_SLOT=${randomBytes(12).toString('hex')}`;
  const password = randomBytes(18).toString('hex');
  const binary = opencodeBinary();
  const base = baseEnvironment(home, mark);
  const env = {
    ...base,
    OPENCODE_SERVER_PASSWORD: password,
    OPENCODE_CONFIG_CONTENT: JSON.stringify(opencodeConfig(request.model, request.endpoint)),
    OPENCODE_DISABLE_AUTOUPDATE: '1',
    OPENCODE_DISABLE_MODELS_FETCH: '1',
    OPENCODE_DISABLE_LSP_DOWNLOAD: '1',
    OPENCODE_DISABLE_DEFAULT_PLUGINS: '1',
  };
  const line = (command: string[], cwd: string, variables: Record<string, string>) => {
    const [file = '', ...args] = command;
    if (!sandboxed) return { file, args, env: variables };
    const view = { readOnly: [gitDir, dirname(binary), dirname(process.execPath)], writable: [slotDir], cwd };
    return { file: 'bwrap', args: [...sandboxArguments(view, variables), ...command], env: { PATH: process.env['PATH'] ?? '' } };
  };

  const start = line([binary, 'serve', '--hostname', '127.0.0.1', '--port', String(port)], slotDir, env);
  const child = spawn(start.file, start.args, { cwd: slotDir, env: start.env, stdio: ['ignore', 'pipe', 'pipe'], detached: true });
  const ended = endOf(child);
  let stopped: Promise<void> | undefined;
  const stop = () => (stopped ??= endTree(child, mark, ended.promise));
  try {
    await listening(child, ended, request.startTimeoutMs);
  } catch (error) {
    await stop();
    throw error;
  }
  const own = await treeMembers(child.pid as number, mark);

  return {
    startedAt: Date.now(),
    gitDir,
    client: (directory) =>
      createOpencodeClient({
        baseUrl: `http://127.0.0.1:${port}`,
        directory,
        headers: { Authorization: `Basic ${Buffer.from(`opencode:${password}`).toString('base64')}` },
      }),
    ended: ended.promise,
    get alive() {
      return child.exitCode === null && child.signalCode === null;
    },
    memory: () => treeMemory(child.pid as number),
    endLeftovers: () => endMembers(child.pid as number, mark, own),
    commandLine: (command, cwd) => line(command, cwd, base),
    stop,
  };
}

/** The environment is built from nothing: no variable of the worker's reaches an agent. */
function baseEnvironment(home: string, mark: string): Record<string, string> {
  const [name = '', value = ''] = mark.split('=');
  return {
    // The Node that TaskBridge brings comes last: a project's own is found first.
    PATH: [
      '/usr/local/sbin',
      '/usr/local/bin',
      '/usr/sbin',
      '/usr/bin',
      '/sbin',
      '/bin',
      '/opt/homebrew/bin',
      dirname(process.execPath),
    ].join(':'),
    HOME: home,
    XDG_CONFIG_HOME: join(home, '.config'),
    XDG_DATA_HOME: join(home, '.local/share'),
    XDG_STATE_HOME: join(home, '.local/state'),
    XDG_CACHE_HOME: join(home, '.cache'),
    LANG: 'C.UTF-8',
    TERM: 'dumb',
    CI: 'true',
    [name]: value,
  };
}

/** `--port 0` would try the default port first, so the port is chosen here. */
async function freePort(): Promise<number> {
  const probe = createServer().listen(0, '127.0.0.1');
  await once(probe, 'listening');
  const { port } = probe.address() as { port: number };
  probe.close();
  await once(probe, 'close');
  return port;
}

function endOf(child: ChildProcess): { promise: Promise<string>; said(): string } {
  let output = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream?.on('data', (data: Buffer) => {
      output = (output + data.toString()).slice(-keptOutput);
    });
  }
  const promise = new Promise<string>((resolve) => {
    child.on('error', (error) => resolve(`OpenCode could not be started: ${error.message}`));
    child.on('exit', (code, signal) =>
      resolve(`OpenCode ended with ${signal ?? `code ${code}`}: ${output.trim().slice(-500) || 'it said nothing'}`),
    );
  });
  return { promise, said: () => output };
}

async function listening(child: ChildProcess, ended: { promise: Promise<string>; said(): string }, timeoutMs: number): Promise<void> {
  const ready = new Promise<undefined>((resolve) => {
    child.stdout?.on('data', () => {
      if (/listening on/.test(ended.said())) resolve(undefined);
    });
  });
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<string>((resolve) => {
    timer = setTimeout(() => resolve(`OpenCode did not listen within ${timeoutMs} ms: ${ended.said().trim().slice(-500)}`), timeoutMs);
  });
  const problem = await Promise.race([ready, ended.promise, late]);
  clearTimeout(timer);
  if (problem) throw new AttemptFailure('agent_start_failed', problem);
}

async function endTree(child: ChildProcess, mark: string, ended: Promise<string>): Promise<void> {
  if (child.pid === undefined) return;
  await endMembers(child.pid, mark);
  await ended;
}
