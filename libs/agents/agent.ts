/** An agent: one task in a session, and the project's own commands, behind the same limits. */
import { spawn } from 'node:child_process';
import type { LimitEvidence } from '@taskbridge/contract';
import { workInSession } from './opencode-session.ts';
import type { Warm } from './slot-server.ts';
import type { Agent, ModelSettings } from './types.ts';

/** After so long a killed command's streams are given up, in milliseconds. */
const closeMs = 2_000;

export function createAgent(warm: Warm, model: ModelSettings): Agent {
  return {
    limits: limitsOf(warm),
    work: (request) => workInSession({ server: warm.server, model, sandboxed: warm.sandboxed, relayKey: warm.relayKey }, request),
    run: (command, options) => runCommand(warm, command, options),
  };
}

/** How each limit is enforced, said as it is. */
function limitsOf({ sandboxed, relayKey }: Warm): LimitEvidence[] {
  const by = (limit: string, os: string, without: LimitEvidence): LimitEvidence =>
    sandboxed ? { limit, enforcedBy: 'os', note: os } : without;
  return [
    by('writes stay in the worktree', 'bubblewrap: all else is read-only or not there', {
      limit: 'writes stay in the worktree',
      enforcedBy: 'agent-config',
      note: "OpenCode's file tools refuse paths outside; its shell does not",
    }),
    by("the user's files are hidden", 'bubblewrap: only the system, the worktree and its mirror are there', {
      limit: "the user's files are hidden",
      enforcedBy: 'none',
      note: 'the agent runs as the user of the worker',
    }),
    by('no process outlives the attempt', 'own process namespace', {
      limit: 'no process outlives the attempt',
      enforcedBy: 'none',
      note: 'processes are found by a mark in their environment and ended',
    }),
    by('clean environment', 'built from nothing, and no other process can be looked into', {
      limit: 'clean environment',
      enforcedBy: 'none',
      note: "built from nothing, but a process of the same user can read the worker's",
    }),
    keyLimit(sandboxed, relayKey !== undefined),
    { limit: 'network', enforcedBy: 'none', note: "the agent reaches what the worker's host reaches" },
  ];
}

function keyLimit(sandboxed: boolean, relayed: boolean): LimitEvidence {
  const limit = 'the model key is hidden';
  if (!relayed) return { limit, enforcedBy: 'none', note: 'OpenCode talks to this provider itself and holds its key' };
  if (!sandboxed)
    return {
      limit,
      enforcedBy: 'none',
      note: "the agent is given a relay, but a process of the same user can read the worker's environment",
    };
  return { limit, enforcedBy: 'os', note: 'the agent knows only a relay on loopback' };
}

/** Runs a command with a shell; the tail of its output is kept, both streams together in the order they came. */
function runCommand(warm: Warm, command: string, options: Parameters<Agent['run']>[1]): ReturnType<Agent['run']> {
  const line = warm.server.commandLine(['/bin/sh', '-c', command], options.directory);
  const began = Date.now();
  const child = spawn(line.file, line.args, { cwd: options.directory, env: line.env, stdio: ['ignore', 'pipe', 'pipe'], detached: true });
  let kept = Buffer.alloc(0);
  for (const stream of [child.stdout, child.stderr]) {
    stream.on('data', (data: Buffer) => {
      kept = Buffer.concat([kept, data]);
      // Cut now and then, not on each piece: a chatty command must not cost a copy of all it said.
      if (kept.byteLength > 2 * options.maxBytes) kept = kept.subarray(kept.byteLength - options.maxBytes);
    });
  }
  return new Promise((resolve, reject) => {
    let timedOut = false;
    const kill = () => {
      try {
        process.kill(-(child.pid as number), 'SIGKILL');
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
      }
    };
    const timer = setTimeout(() => {
      timedOut = true;
      kill();
    }, options.timeoutMs);
    const aborted = () => kill();
    options.signal.addEventListener('abort', aborted);
    const done = (exitCode: number | null) => {
      clearTimeout(timer);
      options.signal.removeEventListener('abort', aborted);
      const output = kept.subarray(Math.max(0, kept.byteLength - options.maxBytes));
      // What the command left running belongs to the attempt no more.
      warm.server.endLeftovers().then(() => {
        if (options.signal.aborted) reject(options.signal.reason);
        else resolve({ exitCode, output, durationMs: Date.now() - began, timedOut });
      }, reject);
    };
    child.on('error', reject);
    child.on('exit', (code) => {
      // A child of the command's may hold the streams open for ever.
      const late = setTimeout(() => done(code), closeMs);
      child.on('close', () => {
        clearTimeout(late);
        done(code);
      });
    });
  });
}
