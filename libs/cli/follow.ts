/** Follows one task to its end: each change of state and each line of its log as they come, told through MCP like to any client. */
import { setTimeout as sleep } from 'node:timers/promises';
import { isTerminal, type LogLine, type TaskDetail } from '@taskbridge/contract';
import colors from 'picocolors';
import type { Gateway } from './gateway-client.ts';
import { colorState } from './output.ts';

/** How often the log is asked for while the task is at work, in milliseconds. */
const lookMs = 400;

const kindColors: Record<LogLine['kind'], (text: string) => string> = {
  phase: colors.blue,
  agent: (text) => text,
  tool: colors.cyan,
  command: colors.yellow,
  error: colors.red,
};

const clock = (at: number): string => colors.gray(new Date(at).toTimeString().slice(0, 8));

/** A line of a log for a person. */
export const logLine = (line: LogLine): string => `${clock(line.at)} ${kindColors[line.kind](line.kind.padEnd(7))} ${line.text}`;

/** Shows the lines of a task's newest attempt with a number above `after`. Returns the number of the last one. */
export async function readLog(gateway: Gateway, id: string, after: number, show: (line: LogLine) => void): Promise<number> {
  for (;;) {
    const lines = await gateway.log(id, after);
    const last = lines.at(-1);
    if (!last) return after;
    lines.forEach(show);
    after = last.n;
  }
}

export interface Follower {
  state?(task: TaskDetail): void;
  line?(line: LogLine): void;
}

/**
 * Tells a follower every change of state and log line of a task. Returns the task when it has ended, needs the planner or a human,
 * or `signal` is aborted.
 */
export async function followTask(gateway: Gateway, id: string, follower: Follower, signal?: AbortSignal): Promise<TaskDetail> {
  let state = '';
  let attempt = '';
  let after = 0;
  for (;;) {
    const task = await gateway.task(id);
    if (task.state !== state) follower.state?.(task);
    state = task.state;
    if (task.latestAttempt && follower.line) {
      // Each attempt counts its lines from 1.
      if (task.latestAttempt.id !== attempt) after = 0;
      attempt = task.latestAttempt.id;
      after = await readLog(gateway, id, after, follower.line);
    }
    if (isTerminal(task.state) || task.state === 'waiting' || task.state === 'blocked' || signal?.aborted) return task;
    await sleep(lookMs);
  }
}

/** A follower that writes for a person. */
export const spoken = (say: (line: string) => void): Follower => ({
  state: (task) => say(`${clock(task.stateSince)} ${colorState(task.state, task.state.padEnd(7))} ${task.because}`),
  line: (line) => say(logLine(line)),
});
