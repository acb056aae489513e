/** Cancelling: at once what no worker has, by asking the worker what runs. */
import { isTerminal, type TaskSummary } from '@taskbridge/contract';
import type { Database } from './database.ts';
import type { Dependents } from './dependents.ts';
import type { Outbox } from './dispatch.ts';
import type { EventLog } from './event-log.ts';
import type { TaskReads } from './task-reads.ts';
import type { Transitions } from './transition.ts';
import type { Principal } from './types.ts';

export function createCancel(
  db: Database,
  events: EventLog,
  reads: TaskReads,
  transitions: Transitions,
  outbox: Outbox,
  dependents: Dependents,
) {
  const openAttempt = db.prepare<[string], { id: string; queue: string }>(
    'SELECT id, queue FROM attempts WHERE task_id = ? AND ended_at IS NULL',
  );
  const endAttempt = db.prepare("UPDATE attempts SET state = 'cancelled', ended_at = ? WHERE id = ?");
  const markCancelling = db.prepare('UPDATE tasks SET cancelling_at = ? WHERE id = ?');
  const clearBlockers = db.prepare('DELETE FROM blockers WHERE task_id = ?');

  const cancel = (by: Principal, taskId: string, reason: string): void => {
    const task = reads.row(by, taskId);
    if (isTerminal(task.state)) return;
    const at = Date.now();
    const cause = { by: by.operator ? ('human' as const) : ('planner' as const), actor: by.clientId, data: { reason } };
    const attempt = openAttempt.get(taskId);
    if (task.state === 'running' && attempt) {
      if (task.cancelling_at !== null) return;
      markCancelling.run(at, taskId);
      outbox.cancel(attempt.queue, attempt.id);
      events.append({ type: 'cancel.requested', taskId, attemptId: attempt.id, ...cause }, at);
      return;
    }
    if (attempt) {
      endAttempt.run(at, attempt.id);
      outbox.drop(attempt.id);
      outbox.cancel(attempt.queue, attempt.id);
    }
    clearBlockers.run(taskId);
    transitions.move(taskId, 'task.cancelled', { ...cause, ...(attempt ? { attemptId: attempt.id } : {}) }, at);
    dependents.settled(taskId, 'cancelled', at);
  };
  const inTransaction = db.transaction(cancel);

  return (by: Principal, taskId: string, reason: string): TaskSummary => {
    inTransaction.immediate(by, taskId, reason);
    events.committed();
    return reads.summary(taskId);
  };
}
