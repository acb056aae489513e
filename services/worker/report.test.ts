import { noUsage, reportSchema, type Usage } from '@taskbridge/contract';
import { expect, test } from 'vitest';
import { succeeded } from './ending.ts';
import { makeReport } from './report.ts';
import { cleaner } from './safe-text.ts';
import { testAttempt, testWorker } from './test-attempt.ts';

const kit = { worker: testWorker, clean: cleaner(['model-key-123']), config: { model: 'p/m', log_limit_bytes: 100_000 } };

const work = (over: object = {}) => ({
  sessionId: 's',
  summary: 'Done.',
  openQuestions: [],
  commands: [],
  usage: noUsage,
  model: 'p/m',
  transcript: null,
  firstModelCallAt: null,
  ...over,
});

test('lists and strings are bounded, the totals are whole', () => {
  const { attempt } = testAttempt();
  const command = { command: `echo model-key-123 ${'x'.repeat(9_000)}`, exitCode: 0, durationMs: 1, isTest: false };
  attempt.known.work = work({
    summary: 's\ud800'.repeat(30_000),
    commands: Array(900).fill(command),
    openQuestions: Array(80).fill('q'.repeat(5_000)),
  });
  attempt.end(succeeded('d'.repeat(5_000)));
  const { report } = makeReport(attempt, kit);
  expect(report).toMatchObject({ outcome: 'succeeded', reason: null, commandsTotal: 900 });
  expect(report.commands).toHaveLength(500);
  expect(report.openQuestions).toHaveLength(50);
  expect(JSON.stringify(report)).not.toContain('model-key-123');
  expect(report.summary.isWellFormed()).toBe(true);
});

test('a transcript stays JSON when secrets are taken out of it', () => {
  const { attempt } = testAttempt();
  const said = [{ text: 'http://', next: 'a:b@c' }, { text: 'the key is model-key-123' }];
  attempt.known.work = work({ transcript: Buffer.from(JSON.stringify(said)) });
  attempt.end(succeeded('Done.'));
  const { report, parcels } = makeReport(attempt, kit);
  const transcript = parcels.find(({ name }) => name === 'transcript');
  expect(JSON.parse(String(transcript?.content))).toEqual([said[0], { text: 'the key is [redacted]' }]);
  expect(report.artifacts.map(({ name }) => name)).toEqual(['transcript', 'log']);
});

test('what an agent counts wrongly can not hold a report back', () => {
  const { attempt } = testAttempt();
  attempt.known.work = work({ usage: { ...noUsage, inputTokens: -1 } satisfies Usage });
  attempt.end(succeeded('Done.'));
  const { report } = makeReport(attempt, kit);
  expect(reportSchema.safeParse(report).success).toBe(true);
  expect(report).toMatchObject({ outcome: 'failed', reason: 'internal_error' });
  expect(report.detail).toContain('inputTokens');
});

test('the first ending stays, and a fault afterwards is in the log', () => {
  const { attempt, lines } = testAttempt();
  attempt.end(succeeded('Done.'));
  attempt.fail(new Error('the slot could not be cleaned'));
  expect(makeReport(attempt, kit).report.outcome).toBe('succeeded');
  expect(lines.some(({ kind, text }) => kind === 'error' && text.includes('the slot could not be cleaned'))).toBe(true);
});
