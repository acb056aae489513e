/** One service as a real process, as the supervisor would start it. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createWriteStream } from 'node:fs';
import { fileURLToPath } from 'node:url';
import type { ReadyMessage } from '@taskbridge/platform';

const repositoryRoot = fileURLToPath(new URL('../../', import.meta.url));

export type ServiceName = 'gateway' | 'worker' | 'reaper' | 'board';

export interface Service {
  readonly name: ServiceName;
  readonly pid: number;
  /** Where it listens, for those that do. */
  readonly url: string | undefined;
  kill(signal: NodeJS.Signals): Promise<void>;
  signal(signal: NodeJS.Signals): void;
}

/** Starts a service and resolves once it says that it serves. Its output goes to `logFile`. */
export async function startService(name: ServiceName, env: Record<string, string>, logFile: string): Promise<Service> {
  const child: ChildProcess = spawn(process.execPath, [`services/${name}/main.ts`], {
    cwd: repositoryRoot,
    env: { PATH: process.env['PATH'], HOME: process.env['HOME'], ...env },
    stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
  });
  const log = createWriteStream(logFile, { flags: 'a' });
  child.stdout?.pipe(log, { end: false });
  child.stderr?.pipe(log, { end: false });
  const exited = once(child, 'exit');
  const message = await Promise.race([
    once(child, 'message').then(([m]) => m as ReadyMessage),
    exited.then(([code, signal]) => Promise.reject(new Error(`${name} ended before it was ready (${code ?? signal}), see ${logFile}`))),
  ]);
  return {
    name,
    pid: child.pid as number,
    url: message.url,
    signal: (signal) => void child.kill(signal),
    kill: async (signal) => {
      if (child.exitCode !== null || child.signalCode !== null) return;
      child.kill(signal);
      await exited;
    },
  };
}
