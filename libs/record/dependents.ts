/** What the end of a task means for those that wait for it. Runs within the caller's transaction. */
import type { TerminalState } from '@taskbridge/contract';
import type { Database } from './database.ts';
import type { Transitions } from './transition.ts';

export interface Dependents {
  /** Releases or fails the tasks held by `taskId`, which has just ended; those held by a failed one too, to the end of the chain. */
  settled(taskId: string, state: TerminalState, at: number): void;
  /** Fails a held task because of a dependency that did not succeed. */
  failHeld(taskId: string, dependency: string, at: number): void;
}

export function createDependents(db: Database, transitions: Transitions): Dependents {
  const heldBy = db.prepare<[string], { task_id: string }>(
    "SELECT task_id FROM blockers WHERE kind = 'dependency' AND ref = ? ORDER BY task_id",
  );
  const clear = db.prepare("DELETE FROM blockers WHERE task_id = ? AND kind = 'dependency' AND ref = ?");
  const clearAll = db.prepare('DELETE FROM blockers WHERE task_id = ?');
  const left = db.prepare<[string], { open: number }>('SELECT count(*) AS open FROM blockers WHERE task_id = ?');
  const fail = db.prepare("UPDATE tasks SET failure_reason = 'dependency_failed', failure_detail = ? WHERE id = ?");
  const stateOf = db.prepare<[string], { state: string }>('SELECT state FROM tasks WHERE id = ?');

  const release = (taskId: string, at: number): void => {
    for (const { task_id } of heldBy.all(taskId)) {
      clear.run(task_id, taskId);
      if (left.get(task_id)?.open === 0)
        transitions.move(task_id, 'blockers.cleared', { by: 'reaper', actor: 'record', data: { after: taskId } }, at);
    }
  };
  const failHeld = (taskId: string, dependency: string, at: number): void => {
    fail.run(`${dependency} is ${stateOf.get(dependency)?.state}.`, taskId);
    transitions.move(taskId, 'dependency.failed', { by: 'reaper', actor: 'record', data: { dependency } }, at);
    clearAll.run(taskId);
  };
  /** Fails all that wait for this task, and what waits for them. A list and no recursion: a chain may be of any length. */
  const failAfter = (taskId: string, at: number): void => {
    const ended = [taskId];
    for (const dependency of ended) {
      for (const { task_id } of heldBy.all(dependency)) {
        failHeld(task_id, dependency, at);
        ended.push(task_id);
      }
    }
  };

  return {
    settled: (taskId, state, at) => (state === 'done' ? release(taskId, at) : failAfter(taskId, at)),
    failHeld: (taskId, dependency, at) => {
      failHeld(taskId, dependency, at);
      failAfter(taskId, at);
    },
  };
}
