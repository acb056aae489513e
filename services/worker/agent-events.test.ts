import { noUsage } from '@taskbridge/contract';
import { expect, test } from 'vitest';
import { narrate } from './agent-events.ts';
import { cleaner } from './safe-text.ts';
import { testAttempt } from './test-attempt.ts';

test('commands are logged with their exit code and output, and shown on one clean line', () => {
  const { attempt, lines, facts } = testAttempt();
  const tell = narrate(attempt, cleaner(['model-key-123']));
  tell({
    type: 'command',
    command: { command: 'cat model-key-123\nls', exitCode: 2, durationMs: 5, isTest: false },
    output: 'no\u0000pe\n',
  });
  expect(lines.map(({ kind, text }) => [kind, text])).toEqual([
    ['command', '$ cat [redacted]'],
    ['command', 'ls  (exit 2)'],
    ['command', 'no\ufffdpe'],
  ]);
  expect(facts.at(-1)).toMatchObject({ type: 'attempt.activity', activity: '$ cat [redacted]' });
  attempt[Symbol.dispose]();
});

test('usage travels with the last activity', () => {
  const { attempt, facts } = testAttempt();
  narrate(attempt, cleaner([]))({ type: 'usage', usage: { ...noUsage, inputTokens: 12 } });
  expect(facts.at(-1)).toMatchObject({ usage: { inputTokens: 12 } });
  attempt[Symbol.dispose]();
});
