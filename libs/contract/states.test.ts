import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { initialStates, isTerminal, nextState, stateOwners, type TaskState, taskStates, terminalStates, transitions } from './states.ts';

const state = fc.constantFrom(...taskStates);
const open = fc.constantFrom(...taskStates.filter((s) => !isTerminal(s)));
const event = fc.constantFrom(...transitions.map((t) => t.on));

const reachable = (from: readonly TaskState[]): Set<TaskState> => {
  const seen = new Set(from);
  for (const s of seen) for (const t of transitions) if (t.from === s) seen.add(t.to);
  return seen;
};

describe('the table of states', () => {
  test('an event leads from a state to one place at most', () => {
    const pairs = transitions.map((t) => `${t.from} ${t.on}`);
    expect(new Set(pairs).size).toBe(pairs.length);
  });

  test('every state can be reached', () => {
    expect(reachable(initialStates)).toEqual(new Set(taskStates));
  });

  test('nothing leaves a terminal state', () => {
    fc.assert(fc.property(fc.constantFrom(...terminalStates), event, (s, on) => nextState(s, on) === undefined));
  });

  test('every other state has an owner who can act, says what happens otherwise, and has a path to an end', () => {
    fc.assert(
      fc.property(open, (s) => {
        const { owner, otherwise } = stateOwners[s as keyof typeof stateOwners];
        expect(otherwise).not.toBe('');
        expect(transitions.some((t) => t.from === s && (t.by as readonly string[]).includes(owner))).toBe(true);
        expect(terminalStates.every((end) => reachable([s]).has(end) || s === 'blocked' || s === 'waiting')).toBe(true);
        expect(terminalStates.some((end) => reachable([s]).has(end))).toBe(true);
      }),
    );
  });

  test('a person can end every open state', () => {
    const people = ['planner', 'human', 'worker'];
    fc.assert(
      fc.property(open, (s) => transitions.some((t) => t.from === s && t.to === 'cancelled' && t.by.some((by) => people.includes(by)))),
    );
  });

  test('any sequence of events stays inside the table', () => {
    fc.assert(
      fc.property(state, fc.array(event, { maxLength: 50 }), (start, events) => {
        let at = start;
        for (const on of events) {
          const to = nextState(at, on);
          if (to === undefined) continue;
          expect(transitions).toContainEqual(expect.objectContaining({ from: at, on, to }));
          at = to;
        }
        expect(taskStates).toContain(at);
      }),
    );
  });
});
