/** The one way a task changes state: checks the state table, writes the row and its event together, within the caller's transaction. */
import { ApiError, isTerminal, type Party, type TaskState, type Transition, type TransitionEvent, transitions } from '@taskbridge/contract';
import type { Database } from './database.ts';
import type { EventLog } from './event-log.ts';

export interface Cause {
  by: Party;
  actor: string;
  attemptId?: string;
  data?: Record<string, unknown>;
}

export interface Transitions {
  /**
   * Moves a task by an event of the state table.
   * @returns the new state
   * @throws ApiError wrong_state when the table has no such transition or gives it to another party; nothing is written then
   */
  move(taskId: string, on: TransitionEvent, cause: Cause, at: number): TaskState;
}

export function createTransitions(db: Database, events: EventLog): Transitions {
  const state = db.prepare<[string], { state: TaskState }>('SELECT state FROM tasks WHERE id = ?');
  const update = db.prepare('UPDATE tasks SET state = ?, state_since = ?, ended_at = ? WHERE id = ?');
  return {
    move: (taskId, on, cause, at) => {
      const from = state.get(taskId)?.state;
      const transition: Transition | undefined = transitions.find((t) => t.from === from && t.on === on);
      if (!transition) throw new ApiError('wrong_state', `Task ${taskId} is ${from ?? 'unknown'}: ${on} does not apply.`, { field: 'id' });
      if (!transition.by.includes(cause.by)) throw new ApiError('wrong_state', `${on} is not for a ${cause.by} to cause.`, { field: 'id' });
      const { to } = transition;
      update.run(to, at, isTerminal(to) ? at : null, taskId);
      events.append(
        { type: on, taskId, attemptId: cause.attemptId, by: cause.by, actor: cause.actor, data: { ...cause.data, from, to } },
        at,
      );
      return to;
    },
  };
}
