import { contractSchema } from '@taskbridge/contract';
import { expect, test } from 'vitest';
import { openQuestionsIn, promptOf } from './prompt.ts';

test('a goal alone makes a small prompt', () => {
  const prompt = promptOf(contractSchema.parse({ goal: 'Add a flag.' }), 'Flag');
  expect(prompt).toContain('Add a flag.');
  expect(prompt).toContain('Do not commit');
  expect(prompt).not.toContain('You may change only');
  expect(prompt.length).toBeLessThan(600);
});

test('every part of the contract is said, and a reader is told not to write', () => {
  const contract = {
    goal: 'Look.',
    mode: 'review' as const,
    scope: ['src/**'],
    acceptance: ['It holds.'],
    constraints: ['No new package.'],
    deliverables: ['A list.'],
  };
  const prompt = promptOf(contractSchema.parse(contract), 'Look');
  for (const part of ['src/**', 'It holds.', 'No new package.', 'A list.', 'Do not change any file']) expect(prompt).toContain(part);
});

test.each([
  ['Done.', []],
  ['Done.\nOpen questions:\n- One?\n2. Two?\n', ['One?', 'Two?']],
  ['Done.\n\nOpen questions:\nNone.', []],
  ['Open questions: are none of mine.\nOpen questions:\n* Really?', ['Really?']],
])('open questions in %j', (summary, questions) => {
  expect(openQuestionsIn(summary)).toEqual(questions);
});
