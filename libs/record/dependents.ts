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

  const self: Dependents = {
    settled: (taskId, state, at) => {
      for (const { task_id } of heldBy.all(taskId)) {
        if (state !== 'done') {
          self.failHeld(task_id, taskId, at);
          continue;
        }
        clear.run(task_id, taskId);
        if (left.get(task_id)?.open === 0)
          transitions.move(task_id, 'blockers.cleared', { by: 'reaper', actor: 'record', data: { after: taskId } }, at);
      }
    },
    failHeld: (taskId, dependency, at) => {
      fail.run(`${dependency} is ${stateOf.get(dependency)?.state}.`, taskId);
      transitions.move(taskId, 'dependency.failed', { by: 'reaper', actor: 'record', data: { dependency } }, at);
      clearAll.run(taskId);
      self.settled(taskId, 'failed', at);
    },
  };
  return self;
}
