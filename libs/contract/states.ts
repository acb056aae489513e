/** The one table of task states. Code, docs, metrics and the property tests are derived from it. */

export const taskStates = ['held', 'ready', 'queued', 'running', 'waiting', 'blocked', 'done', 'failed', 'cancelled'] as const;
export type TaskState = (typeof taskStates)[number];

export const terminalStates = ['done', 'failed', 'cancelled'] as const satisfies readonly TaskState[];
export type TerminalState = (typeof terminalStates)[number];
export const isTerminal = (state: TaskState): state is TerminalState => (terminalStates as readonly TaskState[]).includes(state);

/** The states a submitted task may begin in: `held` when it has blockers. */
export const initialStates = ['held', 'ready'] as const satisfies readonly TaskState[];

/** Who may cause a transition. */
export type Party = 'planner' | 'human' | 'dispatcher' | 'worker' | 'agent' | 'reaper' | 'clock';

/** Who must act next in each state that is not terminal, and what happens if they never do (design rule 8). */
export const stateOwners: Record<Exclude<TaskState, TerminalState>, { owner: Party; meaning: string; otherwise: string }> = {
  held: { owner: 'dispatcher', meaning: 'has blockers', otherwise: 'stays until its blockers clear, fail or it is cancelled' },
  ready: { owner: 'dispatcher', meaning: 'could start now', otherwise: 'starts when a worker has a free slot' },
  queued: { owner: 'worker', meaning: 'is with the broker', otherwise: 'the reaper puts it back to ready when the broker lost it' },
  running: {
    owner: 'worker',
    meaning: 'an attempt is at work',
    otherwise: 'the run or stall timeout ends it, or the reaper finds its worker dead',
  },
  waiting: { owner: 'planner', meaning: 'a question waits for an answer', otherwise: 'the question expires' },
  blocked: { owner: 'human', meaning: 'a decision waits for a human', otherwise: 'stays, and is shown as needing attention' },
};

export interface Transition {
  readonly from: TaskState;
  readonly on: string;
  readonly to: TaskState;
  readonly by: readonly Party[];
}

export const transitions = [
  { from: 'held', on: 'blockers.cleared', to: 'ready', by: ['reaper', 'dispatcher', 'clock'] },
  { from: 'held', on: 'dependency.failed', to: 'failed', by: ['reaper'] },
  { from: 'held', on: 'task.cancelled', to: 'cancelled', by: ['planner', 'human'] },
  { from: 'ready', on: 'attempt.dispatched', to: 'queued', by: ['dispatcher'] },
  { from: 'ready', on: 'task.cancelled', to: 'cancelled', by: ['planner', 'human'] },
  { from: 'queued', on: 'attempt.started', to: 'running', by: ['worker'] },
  { from: 'queued', on: 'attempt.returned', to: 'ready', by: ['reaper', 'worker'] },
  { from: 'queued', on: 'task.cancelled', to: 'cancelled', by: ['planner', 'human'] },
  { from: 'running', on: 'attempt.succeeded', to: 'done', by: ['worker'] },
  { from: 'running', on: 'attempt.failed', to: 'failed', by: ['worker', 'reaper', 'clock'] },
  { from: 'running', on: 'attempt.returned', to: 'ready', by: ['reaper', 'worker'] },
  { from: 'running', on: 'attempt.cancelled', to: 'cancelled', by: ['worker', 'reaper'] },
  { from: 'running', on: 'question.asked', to: 'waiting', by: ['agent'] },
  { from: 'running', on: 'decision.requested', to: 'blocked', by: ['worker', 'reaper'] },
  { from: 'waiting', on: 'question.answered', to: 'ready', by: ['planner', 'human'] },
  { from: 'waiting', on: 'question.expired', to: 'failed', by: ['clock'] },
  { from: 'waiting', on: 'task.cancelled', to: 'cancelled', by: ['planner', 'human'] },
  { from: 'blocked', on: 'decision.granted', to: 'ready', by: ['human'] },
  { from: 'blocked', on: 'decision.refused', to: 'failed', by: ['human'] },
  { from: 'blocked', on: 'task.cancelled', to: 'cancelled', by: ['planner', 'human'] },
] as const satisfies readonly Transition[];

export type TransitionEvent = (typeof transitions)[number]['on'];

/** Where `on` leads from `from`, or undefined when the table has no such transition. */
export function nextState(from: TaskState, on: TransitionEvent): TaskState | undefined {
  return transitions.find((t) => t.from === from && t.on === on)?.to;
}

/** How far the work really got, in order. */
export const milestones = ['none', 'patch', 'in_scope', 'checks_passed', 'reviewed', 'pr_open', 'ci_passed', 'merged', 'deployed'] as const;
export type Milestone = (typeof milestones)[number];
