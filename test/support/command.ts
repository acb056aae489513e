/** The taskbridge command as a process of its own, as a person runs it. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { execa } from 'execa';

const main = fileURLToPath(new URL('../../libs/cli/main.ts', import.meta.url));

/** Settings of a stack in a folder of its own, on free ports. */
export const stackEnv = (dir: string): Record<string, string> => ({
  TASKBRIDGE_DATA_DIR: dir,
  TASKBRIDGE_GATEWAY_PORT: '0',
  TASKBRIDGE_BOARD_PORT: '0',
  TASKBRIDGE_DRAIN_MS: '2000',
  TASKBRIDGE_WORKER_WARM: '0',
  NO_COLOR: '1',
});

const environment = (env: Record<string, string>) => ({ PATH: process.env['PATH'], HOME: process.env['HOME'], ...env });

/** Runs a command to its end. */
export const taskbridge = (args: string[], env: Record<string, string>, input?: string) =>
  execa(process.execPath, [main, ...args], {
    env: environment(env),
    extendEnv: false,
    reject: false,
    timeout: 120_000,
    ...(input === undefined ? { stdin: 'ignore' } : { input }),
  });

export interface RunningCommand {
  readonly child: ChildProcess;
  /** Everything it wrote so far, both streams. */
  output(): string;
  /** Resolves once the output holds a match; rejects when the command ends without one. */
  said(pattern: RegExp): Promise<RegExpExecArray>;
  /** Exit code or signal. */
  readonly ended: Promise<number | NodeJS.Signals>;
}

/** Starts a command that stays. */
export function startTaskbridge(args: string[], env: Record<string, string>): RunningCommand {
  const child = spawn(process.execPath, [main, ...args], { env: environment(env), stdio: ['ignore', 'pipe', 'pipe'] });
  let output = '';
  const listeners = new Set<() => void>();
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (chunk: string) => {
      output += chunk;
      for (const listener of listeners) listener();
    });
  }
  const ended = once(child, 'close').then(([code, signal]) => (signal ?? code) as number | NodeJS.Signals);
  return {
    child,
    output: () => output,
    ended,
    said: (pattern) =>
      new Promise((resolve, reject) => {
        const look = () => {
          const found = pattern.exec(output);
          if (!found) return;
          listeners.delete(look);
          resolve(found);
        };
        listeners.add(look);
        look();
        void ended.then((how) => reject(new Error(`ended (${how}) without saying ${pattern}:\n${output}`)));
      }),
  };
}

/** Processes whose command line or environment names this folder: whatever a stack on it has running, sandboxed agents too. */
export async function processesOf(dir: string): Promise<{ pid: number; command: string }[]> {
  if (process.platform !== 'linux') {
    const { stdout } = await execa('ps', ['-axwwE', '-o', 'pid=,command='], { stdin: 'ignore' });
    const lines = stdout.split('\n').filter((line) => line.includes(dir));
    return lines.map((line) => ({ pid: Number.parseInt(line, 10), command: line.trim().replace(/^\d+\s+/, '') }));
  }
  const pids = readdirSync('/proc').filter((name) => /^\d+$/.test(name));
  return pids.flatMap((pid) => {
    try {
      const [command, environment] = ['cmdline', 'environ'].map((file) =>
        readFileSync(`/proc/${pid}/${file}`, 'utf8').replaceAll('\0', ' '),
      );
      return `${command}${environment}`.includes(dir) ? [{ pid: Number(pid), command: String(command) }] : [];
    } catch {
      // It ended meanwhile, or belongs to someone else.
      return [];
    }
  });
}
