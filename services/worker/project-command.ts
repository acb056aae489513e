/** Runs a command of the project (setup, check) where the agent ran, behind the same limits, and keeps its log. */
import type { Agent } from '@taskbridge/agents';
import type { GateResult } from '@taskbridge/contract';
import type { Tree } from '@taskbridge/workspace';
import type { Attempt } from './attempt.ts';
import { type Clean, cut } from './safe-text.ts';

/** Most bytes kept of one command's output: the tail says what failed, and an attempt has up to 21 commands. */
const outputLimitBytes = 4 * 1024 * 1024;

export interface CommandPlace {
  attempt: Attempt;
  agent: Agent;
  tree: Tree;
  timeoutMs: number;
  clean: Clean;
}

/** Runs `command`; its log is kept as the artifact `name`. Only exit code 0 passes. */
export async function runProjectCommand(name: string, command: string, place: CommandPlace): Promise<GateResult> {
  const { attempt, agent, tree, timeoutMs, clean } = place;
  attempt.log.write('command', `$ ${command}`);
  const ran = await agent.run(command, { directory: tree.path, timeoutMs, maxBytes: outputLimitBytes, signal: attempt.signal });
  attempt.signal.throwIfAborted();

  const output = clean(ran.output);
  attempt.log.write('command', output);
  attempt.known.parcels.push({
    name,
    mediaType: 'text/plain; charset=utf-8',
    truncated: ran.output.length >= outputLimitBytes,
    content: Buffer.from(output),
  });
  const how = ran.timedOut
    ? `ran out of time after ${Math.round(timeoutMs / 1000)} s`
    : `ended with exit code ${ran.exitCode ?? 'unknown'}`;
  attempt.log.write('command', `${name} ${how}`);
  return {
    gate: name,
    outcome: ran.exitCode === 0 && !ran.timedOut ? 'passed' : 'failed',
    detail: `${cut(clean(command), 500)} ${how}.`,
    exitCode: ran.exitCode,
    durationMs: ran.durationMs,
    log: name,
  };
}
