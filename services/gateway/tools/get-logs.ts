/** get_logs: what an attempt did, line by line: live while it runs, from the record afterwards. */
import { ApiError, type AttemptView, type LogLine } from '@taskbridge/contract';
import { z } from 'zod';
import { openLog } from './log-lines.ts';
import { type Call, defineTool, type Kit, reads, taskIdSchema } from './tool.ts';

/** Text of one answer, in characters. */
const answerChars = 40_000;
/** Text of one line, in characters; a tool's output may be one line of megabytes. */
const lineChars = 8_000;
/** More than a live log keeps. */
const wholeLiveLog = 100_000;

const input = z.strictObject({
  id: taskIdSchema,
  attempt: z.number().int().min(1).describe('Number of the attempt. Default: the latest.').optional(),
  after: z.number().int().min(0).default(0).describe('Lines after this number.'),
  limit: z.number().int().min(1).max(1_000).default(200),
  tail: z.number().int().min(1).max(1_000).describe('The last lines instead.').optional(),
});

export const getLogs = defineTool({
  name: 'get_logs',
  title: 'Show a log',
  description: "Lines of an attempt's log: phases, the agent's words, tool calls, commands. Go on with after = next_after.",
  hints: reads,
  input,
  async run({ id, attempt: number, after, limit, tail }, call, kit) {
    const attempt = attemptOf(id, number, call, kit);
    if (!attempt) return { id, attempt: null, lines: [], next_after: after, more: false, note: 'No attempt has begun yet.' };

    const kept = attempt.endedAt === null ? undefined : kit.record.artifacts.read(call.by, id, 'log', attempt.id);
    const found = kept
      ? tail
        ? openLog(kept.content).last(tail)
        : openLog(kept.content).after(after, limit + 1)
      : await liveLines(attempt, tail ? 0 : after, tail ? wholeLiveLog : limit + 1, kit);
    const { lines, more } = tail ? { lines: newest(found.slice(-tail)), more: false } : oldest(found, limit);
    return {
      id,
      attempt: attempt.number,
      state: attempt.state,
      lines,
      next_after: lines.at(-1)?.n ?? after,
      more,
      ...(kept?.ref.truncated ? { note: 'The kept log was cut at its size limit.' } : {}),
      ...(!kept && attempt.endedAt !== null
        ? { note: 'This attempt left no log with a report; these are the live lines that remain.' }
        : {}),
    };
  },
});

function attemptOf(id: string, number: number | undefined, call: Call, { record }: Kit): AttemptView | undefined {
  const attempts = record.tasks.attempts(call.by, id);
  if (number === undefined) return attempts.at(-1);
  const attempt = attempts.find((one) => one.number === number);
  if (attempt) return attempt;
  throw new ApiError('not_found', `Task ${id} has no attempt ${number}.`, {
    field: 'attempt',
    fix: `It has ${attempts.length}. Leave it out for the latest.`,
  });
}

async function liveLines(attempt: AttemptView, after: number, limit: number, { broker }: Kit): Promise<LogLine[]> {
  try {
    return await broker.readLog(attempt.id, after, limit);
  } catch (cause) {
    if (attempt.endedAt !== null) return [];
    throw new ApiError('unavailable', 'The live log cannot be read: Redis does not answer.', {
      fix: 'Try again later. The whole log comes with the report.',
      cause,
    });
  }
}

const shortened = (line: LogLine): LogLine =>
  line.text.length <= lineChars ? line : { ...line, text: `${line.text.slice(0, lineChars)}… (${line.text.length} characters)` };

/** The first lines that fit into an answer. */
function oldest(found: LogLine[], limit: number): { lines: LogLine[]; more: boolean } {
  const lines: LogLine[] = [];
  let chars = 0;
  for (const line of found.slice(0, limit).map(shortened)) {
    chars += line.text.length;
    if (chars > answerChars && lines.length > 0) break;
    lines.push(line);
  }
  return { lines, more: lines.length < found.length };
}

/** The last lines that fit into an answer. */
const newest = (found: LogLine[]): LogLine[] => oldest([...found].reverse(), found.length).lines.reverse();
