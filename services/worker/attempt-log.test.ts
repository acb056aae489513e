import { type LogLine, logLineSchema } from '@taskbridge/contract';
import { expect, test } from 'vitest';
import { createAttemptLog, lineLimit } from './attempt-log.ts';
import { cleaner } from './safe-text.ts';

function openLog(limitBytes: number) {
  const streamed: LogLine[] = [];
  const log = createAttemptLog({ stream: (line) => streamed.push(line), clean: cleaner([]), limitBytes });
  const kept = () => {
    const text = log.parcel().content.toString('utf8');
    return text
      .split('\n')
      .slice(0, -1)
      .map((line) => logLineSchema.parse(JSON.parse(line)));
  };
  return { log, streamed, kept };
}

test('each line of text is one log line, numbered, streamed as it is kept', () => {
  const { log, streamed, kept } = openLog(100_000);
  log.write('phase', 'work');
  log.write('command', Buffer.from('one\ntwo\xff\n', 'latin1'));
  expect(kept()).toEqual(streamed);
  expect(streamed.map(({ n, kind, text }) => [n, kind, text])).toEqual([
    [1, 'phase', 'work'],
    [2, 'command', 'one'],
    [3, 'command', 'two\ufffd'],
  ]);
  expect(log.parcel().truncated).toBe(false);
});

test('a huge line is cut with a mark', () => {
  const { log, kept } = openLog(100_000);
  log.write('tool', 'y'.repeat(10_000_000));
  expect(kept()[0]?.text).toHaveLength(lineLimit);
  expect(kept()[0]?.text).toContain('[cut, 10000000 characters in all]');
});

test('the log stays below its limit, says once that it was cut, and still tells the end', () => {
  const { log, streamed, kept } = openLog(20_000);
  for (let i = 0; i < 1_000; i++) log.write('agent', `line ${i} of a chatty agent`);
  log.write('error', 'the end');
  const parcel = log.parcel();
  expect(parcel.content.length).toBeLessThanOrEqual(20_000);
  expect(parcel.truncated).toBe(true);
  expect(kept().filter(({ text }) => text.startsWith('The log is cut here'))).toHaveLength(1);
  expect(kept().at(-1)?.text).toBe('the end');
  expect(kept()).toEqual(streamed);
});
