import { execFileSync } from 'node:child_process';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { contractSchema } from './contract.ts';
import { failureKinds, failureReasons } from './failures.ts';
import { attemptId, newTaskId, newToken, salvageRef, taskBranch, taskOfAttempt } from './ids.ts';
import { hostQueue, queueOf } from './job.ts';
import { submitSchema, titleOf } from './submit.ts';

describe('a contract', () => {
  test('is whole with a goal alone', () => {
    expect(contractSchema.parse({ goal: 'Do it.' })).toEqual({
      goal: 'Do it.',
      mode: 'propose_patch',
      scope: [],
      acceptance: [],
      constraints: [],
      deliverables: [],
      limits: {},
    });
  });

  test.each([
    [{ goal: ' ' }, 'goal'],
    [{ goal: 'x', mode: 'deploy' }, 'mode'],
    [{ goal: 'x', base: '--upload-pack=x' }, 'base'],
    [{ goal: 'x', base: 'a b' }, 'base'],
    [{ goal: 'x', limits: { run_minutes: -1 } }, 'limits'],
    [{ goal: 'x', extra: 1 }, undefined],
  ])('%j is refused at %s', (input, field) => {
    const { success, error } = contractSchema.safeParse(input);
    expect(success).toBe(false);
    expect(error?.issues[0]?.path[0]).toBe(field);
  });
});

describe('a submit', () => {
  test('takes its title from the first line of the goal', () => {
    expect(titleOf(submitSchema.parse({ project: 'p', goal: 'First line\nsecond' }))).toBe('First line');
    expect(titleOf({ goal: 'x'.repeat(500) })).toHaveLength(120);
  });

  test('depends on ids and places in its batch only', () => {
    const depends = (ref: string) => submitSchema.safeParse({ project: 'p', goal: 'g', depends_on: [ref] }).success;
    expect([depends('#0'), depends(newTaskId()), depends('t_../x'), depends('other')]).toEqual([true, true, false, false]);
  });
});

describe('names', () => {
  test('a branch is one that git takes, whatever the title', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme', maxLength: 200 }), (title) => {
        const branch = taskBranch(title, newTaskId());
        expect(branch).toMatch(/^taskbridge\/[a-z0-9]+(-[a-z0-9]+)*$/);
        expect(branch.length).toBeLessThan(70);
      }),
    );
  });

  test('git itself takes every ref that is made', () => {
    const taken = (ref: string) => execFileSync('git', ['check-ref-format', '--normalize', ref], { encoding: 'utf8' }).trim() === ref;
    const awkward = fc.constantFrom('.lock~^:?*[ \\ ..', 'x.lock', '-x', '@{', '..', '/', 'ÄÖ', '\u202e', '\0', 'HEAD');
    fc.assert(
      fc.property(fc.oneof(awkward, fc.string({ unit: 'binary', maxLength: 80 })), fc.integer({ min: 1, max: 99 }), (title, number) => {
        const id = newTaskId();
        expect(taken(`refs/heads/${taskBranch(title, id)}`)).toBe(true);
        expect(taken(salvageRef(id, number))).toBe(true);
      }),
      { numRuns: 60 },
    );
  });

  test('an attempt knows its task, and no two tokens are alike', () => {
    const id = newTaskId();
    expect(taskOfAttempt(attemptId(id, 12))).toBe(id);
    expect(new Set(Array.from({ length: 1_000 }, newToken)).size).toBe(1_000);
  });

  test('a project by URL goes to anyone, one by path to its host', () => {
    expect(queueOf({ kind: 'url' })).toBe('anyone');
    expect(queueOf({ kind: 'path', host: 'my host:1' })).toBe(hostQueue('my host:1'));
    expect(hostQueue('my host:1')).not.toMatch(/[\s:]/);
  });
});

test('every failure has one plain sentence and a next action', () => {
  expect(failureReasons.length).toBeGreaterThanOrEqual(30);
  for (const reason of failureReasons) {
    expect(failureKinds[reason].sentence).toMatch(/^[A-Z].*\.$/);
    expect(failureKinds[reason].next).toMatch(/^[A-Z].*\.$/);
  }
});
