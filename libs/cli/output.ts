/** What commands print: text for people, or one JSON document with --json. */

import type { TaskState } from '@taskbridge/contract';
import colors from 'picocolors';

export const print = (text: string): void => void process.stdout.write(`${text}\n`);

export const printJson = (value: unknown): void => print(JSON.stringify(value, null, 2));

/** Rows as aligned columns; the last column keeps its length. */
export function table(rows: string[][]): string {
  const widths = rows.reduce<number[]>((most, row) => row.map((cell, i) => Math.max(most[i] ?? 0, cell.length)), []);
  return rows.map((row) => row.map((cell, i) => (i === row.length - 1 ? cell : cell.padEnd(widths[i] ?? 0))).join('  ')).join('\n');
}

const stateColors: Record<TaskState, (text: string) => string> = {
  held: colors.gray,
  ready: colors.cyan,
  queued: colors.cyan,
  running: colors.blue,
  waiting: colors.yellow,
  blocked: colors.magenta,
  done: colors.green,
  failed: colors.red,
  cancelled: colors.gray,
};

export const colorState = (state: TaskState, text: string = state): string => stateColors[state](text);

/** A unified diff in the usual colours. */
export function colorDiff(diff: string): string {
  return diff
    .split('\n')
    .map((line) => {
      if (/^(diff |index |\+\+\+ |--- |new file|deleted file|rename |similarity )/.test(line)) return colors.bold(line);
      if (line.startsWith('@@')) return colors.cyan(line);
      if (line.startsWith('+')) return colors.green(line);
      if (line.startsWith('-')) return colors.red(line);
      return line;
    })
    .join('\n');
}

/** Milliseconds as a person says them: `0.4 s`, `12 s`, `3 min 5 s`. */
export function duration(ms: number): string {
  if (ms < 9_950) return `${(ms / 1000).toFixed(1)} s`;
  const seconds = Math.round(ms / 1000);
  return seconds < 60 ? `${seconds} s` : `${Math.floor(seconds / 60)} min ${seconds % 60} s`;
}

/** How long ago a time is. */
export const ago = (at: number, now = Date.now()): string => `${duration(Math.max(0, now - at))} ago`;
