/** Lines of a kept log: newline-separated JSON, numbers rising. Only the lines asked for are parsed, since a log may be many megabytes. */
import { type LogLine, logLineSchema } from '@taskbridge/contract';

const newline = 10;

export interface LogFile {
  /** Lines with a number above `after`, `limit` at most. */
  after(after: number, limit: number): LogLine[];
  last(count: number): LogLine[];
}

export function openLog(content: Buffer): LogFile {
  const starts = [0];
  for (let end = content.indexOf(newline); end !== -1; end = content.indexOf(newline, end + 1)) starts.push(end + 1);
  // What follows the last newline is a line that was cut at the size limit, or nothing.
  const count = starts.length - 1;

  const lineAt = (index: number): LogLine =>
    logLineSchema.parse(JSON.parse(content.toString('utf8', starts[index], (starts[index + 1] ?? content.length) - 1)));
  const slice = (from: number, to: number): LogLine[] =>
    Array.from({ length: Math.max(0, Math.min(to, count) - from) }, (_, offset) => lineAt(from + offset));

  return {
    after(after, limit) {
      let low = 0;
      let high = count;
      while (low < high) {
        const middle = (low + high) >> 1;
        if (lineAt(middle).n > after) high = middle;
        else low = middle + 1;
      }
      return slice(low, low + limit);
    },
    last: (wanted) => slice(Math.max(0, count - wanted), count),
  };
}
