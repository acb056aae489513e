/** What workers leave is applied here, each thing once: facts and reports with the current fence, and the loss of an attempt. */
import { type Fact, type FailureReason, isTerminal, type Party, type Report, type TaskState, type Usage } from '@taskbridge/contract';
import type { ArtifactStore } from './artifacts.ts';
import type { Database } from './database.ts';
import type { Dependents } from './dependents.ts';
import type { Outbox } from './dispatch.ts';
import type { EventLog } from './event-log.ts';
import { type AttemptRow, addUsage } from './task-view.ts';
import type { Cause, Transitions } from './transition.ts';
import type { Applied, Settle } from './types.ts';

interface TaskFacts {
  state: TaskState;
  cancelling_at: number | null;
  usage: string;
}

export function createSettle(
  db: Database,
  events: EventLog,
  artifacts: ArtifactStore,
  transitions: Transitions,
  outbox: Outbox,
  dependents: Dependents,
): Settle {
  const attemptById = db.prepare<[string], AttemptRow>('SELECT * FROM attempts WHERE id = ?');
  const taskById = db.prepare<[string], TaskFacts>('SELECT state, cancelling_at, usage FROM tasks WHERE id = ?');
  const startAttempt = db.prepare("UPDATE attempts SET state = 'running', worker_id = ?, host = ?, started_at = ? WHERE id = ?");
  const setPhase = db.prepare('UPDATE attempts SET phase = ? WHERE id = ?');
  const setBase = db.prepare('UPDATE tasks SET base_commit = ? WHERE id = ?');
  const setActivity = db.prepare('UPDATE tasks SET activity = ? WHERE id = ?');
  const setUsage = db.prepare('UPDATE attempts SET usage = ? WHERE id = ?');
  const endAttempt = db.prepare('UPDATE attempts SET state = ?, ended_at = ?, report = ? WHERE id = ?');
  const setTaskUsage = db.prepare('UPDATE tasks SET usage = ? WHERE id = ?');
  const setResult = db.prepare(
    'UPDATE tasks SET base_commit = coalesce(?, base_commit), head_commit = coalesce(?, head_commit), milestone = ? WHERE id = ?',
  );
  const setFailure = db.prepare('UPDATE tasks SET failure_reason = ?, failure_detail = ? WHERE id = ?');

  /** The open attempt that this id and fence stand for, or why it may not be changed. */
  const current = (attemptId: string, fence: number | undefined): AttemptRow | Exclude<Applied, 'applied'> => {
    const attempt = attemptById.get(attemptId);
    if (!attempt) return 'unknown';
    if (fence !== undefined && fence !== attempt.fence) return 'stale';
    if (attempt.ended_at === null) return attempt;
    // Only a report that was applied leaves one: a second delivery of it is no surprise, any other end makes this one stale.
    return attempt.report === null ? 'stale' : 'already';
  };

  const start = (attempt: AttemptRow, workerId: string, host: string | null, at: number): void => {
    startAttempt.run(workerId, host, at, attempt.id);
    outbox.drop(attempt.id);
    transitions.move(attempt.task_id, 'attempt.started', { by: 'worker', actor: workerId, attemptId: attempt.id, data: { host } }, at);
  };

  const fact = (f: Fact): Applied => {
    const attempt = current(f.attemptId, f.fence);
    if (typeof attempt === 'string') return attempt;
    if (f.type === 'attempt.started') {
      if (attempt.state !== 'queued') return 'already';
      start(attempt, f.workerId, f.host, f.at);
    } else if (f.type === 'attempt.phase') {
      setPhase.run(f.phase, attempt.id);
      if (f.baseCommit) setBase.run(f.baseCommit, attempt.task_id);
      const data = { phase: f.phase, ...(f.baseCommit ? { baseCommit: f.baseCommit } : {}) };
      events.append(
        { type: f.type, taskId: attempt.task_id, attemptId: attempt.id, by: 'worker', actor: attempt.worker_id ?? 'worker', data },
        f.at,
      );
    } else {
      setActivity.run(f.activity, attempt.task_id);
      setUsage.run(JSON.stringify(f.usage), attempt.id);
    }
    return 'applied';
  };

  /** What an ended attempt has spent is its task's, however it ended. */
  const spend = (taskId: string, usage: Usage): void => {
    const { usage: before } = taskById.get(taskId) as TaskFacts;
    setTaskUsage.run(JSON.stringify(addUsage(JSON.parse(before) as Usage, usage)), taskId);
  };

  /**
   * Ends the task of an attempt that has just ended, or gives it back. A task that is being cancelled ends as cancelled, whatever came of it:
   * who asked was told that it will not be done. The attempt keeps its own outcome and report, so nothing that was made is hidden.
   */
  const settleTask = (
    attempt: AttemptRow,
    end: { outcome: Report['outcome']; reason: FailureReason | null; detail: string },
    cause: Cause,
    at: number,
  ) => {
    const cancelling = taskById.get(attempt.task_id)?.cancelling_at !== null;
    const on = {
      succeeded: 'attempt.succeeded',
      failed: 'attempt.failed',
      cancelled: 'attempt.cancelled',
      returned: 'attempt.returned',
    } as const;
    const outcome = cancelling ? 'cancelled' : end.outcome;
    if (outcome === 'failed') setFailure.run(end.reason ?? 'internal_error', end.detail, attempt.task_id);
    const data = { outcome: end.outcome, ...(end.reason ? { reason: end.reason, detail: end.detail } : {}) };
    const state = transitions.move(attempt.task_id, on[outcome], { ...cause, attemptId: attempt.id, data }, at);
    if (isTerminal(state)) dependents.settled(attempt.task_id, state, at);
    else setActivity.run(null, attempt.task_id);
  };

  const report = (r: Report, contents: { name: string; attach: () => void }[]): Applied => {
    const attempt = current(r.attemptId, r.fence);
    if (typeof attempt === 'string') return attempt;
    const at = Date.now();
    // The fact that it started may have been lost on the way.
    if (attempt.state === 'queued') start(attempt, r.workerId, null, r.startedAt);
    for (const { attach } of contents) attach();
    endAttempt.run(r.outcome, at, JSON.stringify(r), attempt.id);
    outbox.dropAll(attempt.id);
    spend(attempt.task_id, r.usage);
    const cancelling = taskById.get(attempt.task_id)?.cancelling_at !== null;
    const head = r.outcome === 'succeeded' && !cancelling ? r.head?.commit : undefined;
    setResult.run(r.base?.commit ?? null, head ?? null, r.milestone, attempt.task_id);
    settleTask(attempt, r, { by: 'worker', actor: r.workerId }, at);
    return 'applied';
  };

  const lost = (attemptId: string, detail: string, by: Party, reason: FailureReason = 'worker_lost'): Applied => {
    const attempt = current(attemptId, undefined);
    if (typeof attempt === 'string') return attempt;
    const at = Date.now();
    // A reason of its own means that a worker had begun, though the fact of it may have been lost on the way.
    if (attempt.state === 'queued' && reason !== 'worker_lost') start(attempt, 'unknown', null, at);
    const outcome = attempt.state === 'queued' && reason === 'worker_lost' ? 'returned' : 'failed';
    endAttempt.run(outcome, at, null, attempt.id);
    outbox.drop(attempt.id);
    // No report tells what it spent: what it told of itself counts.
    if (attempt.usage !== null) spend(attempt.task_id, JSON.parse(attempt.usage) as Usage);
    settleTask(attempt, { outcome, reason, detail }, { by, actor: 'reaper' }, at);
    return 'applied';
  };

  const factInTransaction = db.transaction(fact);
  const reportInTransaction = db.transaction(report);
  const lostInTransaction = db.transaction(lost);
  const finish = (applied: Applied): Applied => {
    if (applied === 'applied') events.committed();
    return applied;
  };
  return {
    fact: (f) => finish(factInTransaction.immediate(f)),
    report: (r, contents) => {
      // A report that will be refused must leave nothing, not even files.
      const known = current(r.attemptId, r.fence);
      if (typeof known === 'string') return known;
      const stored = contents.map((artifact) => {
        const sha256 = artifacts.put(artifact.content);
        return { name: artifact.name, attach: () => artifacts.attach(r.attemptId, artifact, sha256) };
      });
      return finish(reportInTransaction.immediate(r, stored));
    },
    lost: (attemptId, detail, by, reason) => finish(lostInTransaction.immediate(attemptId, detail, by, reason)),
  };
}
