/** One process of the stack: started, watched, started again when it dies, stopped. */
import { type ChildProcess, spawn } from 'node:child_process';
import { exitConfig, type ReadyMessage } from '@taskbridge/platform';

export interface ChildSpec {
  name: string;
  /** Absolute path of the script it runs. */
  script: string;
  args: string[];
  env: NodeJS.ProcessEnv;
  /** How long a clean stop may take before it is killed, in milliseconds. */
  stopMs: number;
}

/** The pace of restarts, in milliseconds. */
export interface Pace {
  first: number;
  most: number;
  /** A child that ran this long is healthy again: the next restart is quick. */
  quiet: number;
  /** How long a start may take. */
  start: number;
}
export const usualPace: Pace = { first: 250, most: 30_000, quiet: 60_000, start: 60_000 };

/** A child that ended this many times before it was ever ready will not become so. */
const triesToStart = 3;

export interface ChildHost {
  /** Where its output goes: this terminal, or an open file. */
  output: 'inherit' | number;
  /** Told what happens to it, as one line. */
  notice(level: 'info' | 'warn', line: string, fields: Record<string, unknown>): void;
  pace: Pace;
}

/** A child that can't be started; the message says why. `configuration` when it refused its configuration. */
export class ChildFailed extends Error {
  readonly configuration: boolean;

  constructor(message: string, configuration = false) {
    super(message);
    this.configuration = configuration;
  }
}

export interface Child {
  readonly name: string;
  readonly pid: number | undefined;
  /** Where it said it serves, the last time it said so. */
  readonly url: string | undefined;
  /** Starts it, and starts it again whenever it dies. Resolves when it serves for the first time. @throws ChildFailed */
  start(): Promise<void>;
  /** Asks it to stop and waits; kills it when it takes longer than it may. */
  stop(): Promise<void>;
  /** Ends it and its process group at once. */
  kill(): void;
}

export function createChild(spec: ChildSpec, host: ChildHost): Child {
  let running: ChildProcess | undefined;
  let exited: Promise<void> = Promise.resolve();
  let restart: NodeJS.Timeout | undefined;
  let stopping = false;
  let served = false;
  let endings = 0;
  let delay = host.pace.first;

  let url: string | undefined;
  const first = Promise.withResolvers<void>();
  // Whoever called start hears of it; without a start nobody needs to.
  first.promise.catch(() => undefined);

  const kill = () => {
    if (running?.pid === undefined) return;
    try {
      // It leads a process group of its own; what it started goes with it.
      process.kill(-running.pid, 'SIGKILL');
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
    }
  };

  const launch = () => {
    const startedAt = Date.now();
    // A group of its own, so that Ctrl-C in the terminal reaches the supervisor only, which stops everything in order.
    const child = spawn(process.execPath, [spec.script, ...spec.args], {
      env: spec.env,
      detached: true,
      stdio: ['ignore', host.output, host.output, 'ipc'],
    });
    running = child;
    child.on('message', (message: ReadyMessage) => {
      if (message.type !== 'ready') return;
      if (served) host.notice('info', `${spec.name} serves again`, { pid: child.pid });
      served = true;
      url = message.url;
      first.resolve();
    });
    exited = new Promise((resolve) => {
      const ended = (how: string, code: number | null) => {
        running = undefined;
        resolve();
        if (!stopping) afterEnd(how, code, Date.now() - startedAt);
      };
      child.once('error', (error) => ended(error.message, null));
      child.once('exit', (code, signal) => ended(signal ?? `code ${code}`, code));
    });
  };

  const afterEnd = (how: string, code: number | null, ranMs: number) => {
    endings += 1;
    if (code === exitConfig) {
      host.notice('warn', `${spec.name} refuses its configuration; it is not started again`, {});
      first.reject(new ChildFailed(`${spec.name} refuses its configuration.`, true));
      return;
    }
    if (!served && endings >= triesToStart) {
      first.reject(new ChildFailed(`${spec.name} ended ${endings} times before it was ready (${how}).`));
      return;
    }
    if (ranMs >= host.pace.quiet) delay = host.pace.first;
    host.notice('warn', `${spec.name} ended (${how}), starting it again`, { inMs: delay });
    restart = setTimeout(launch, delay);
    delay = Math.min(delay * 2, host.pace.most);
  };

  return {
    name: spec.name,
    get pid() {
      return running?.pid;
    },
    get url() {
      return url;
    },
    start: () => {
      launch();
      const late = setTimeout(
        () => first.reject(new ChildFailed(`${spec.name} was not ready after ${host.pace.start / 1000} s.`)),
        host.pace.start,
      );
      return first.promise.finally(() => clearTimeout(late));
    },
    stop: async () => {
      stopping = true;
      clearTimeout(restart);
      first.reject(new ChildFailed(`${spec.name} was stopped before it was ready.`));
      running?.kill('SIGTERM');
      const deadline = setTimeout(() => {
        host.notice('warn', `${spec.name} did not stop in time, killing it`, {});
        kill();
      }, spec.stopMs);
      await exited;
      clearTimeout(deadline);
    },
    kill: () => {
      stopping = true;
      clearTimeout(restart);
      kill();
    },
  };
}
