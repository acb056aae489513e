/** An attempt's log while it lives: a capped stream, addressed by line number. The whole log travels with the report. */
import { type LogLine, logLineSchema } from '@taskbridge/contract';
import { logSeconds } from './keys.ts';
import type { Line } from './line.ts';

/** Lines kept: enough for a live view to scroll back, about 40 MB at the very most. */
const keptLines = 5_000;
/** Longest text of a line, in characters. */
const textLimit = 8_192;
/** Lines on their way at once; more are dropped, so that a slow Redis can't fill the worker's memory. */
const underWayLimit = 1_000;

/** @returns a function that appends a line; it never blocks or throws, and drops lines while Redis is away */
export function logAppender(line: Line, attemptId: string): (entry: LogLine) => void {
  const key = line.keys.log(attemptId);
  let underWay = 0;
  return (entry) => {
    if (!line.ready || underWay >= underWayLimit) return;
    const text = entry.text.length > textLimit ? `${entry.text.slice(0, textLimit)}…` : entry.text;
    underWay += 1;
    line.client
      .pipeline()
      // The line's number is its id: a view asks for what is above the last one it has.
      .xadd(key, 'MAXLEN', '~', keptLines, `${entry.n}-0`, 'line', JSON.stringify({ ...entry, text }))
      .expire(key, logSeconds)
      .publish(key, String(entry.n))
      .exec()
      .catch(() => undefined) // Dropped by contract: Redis went away meanwhile.
      .finally(() => {
        underWay -= 1;
      });
  };
}

/** Lines with `n` above `after`, oldest first. */
export async function readLog(line: Line, attemptId: string, after: number, limit: number): Promise<LogLine[]> {
  const entries = await line.client.xrange(line.keys.log(attemptId), `${after + 1}-0`, '+', 'COUNT', limit);
  return entries.map(([, fields]) => logLineSchema.parse(JSON.parse(fields[1] ?? '')));
}
