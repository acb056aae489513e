/** Reading tasks. A client sees its own; an operator all. */
import { ApiError, type AttemptView, type TaskDetail, type TaskState, type TaskSummary, taskStates } from '@taskbridge/contract';
import type { ArtifactStore } from './artifacts.ts';
import type { Database } from './database.ts';
import { type AttemptRow, type TaskRow, toAttempt, toContract, toFailure, toSummary } from './task-view.ts';
import type { Page, Principal, TaskFilter, Tasks } from './types.ts';

export interface TaskReads extends Pick<Tasks, 'get' | 'list' | 'attempts' | 'countByState'> {
  /** The row, when `by` may see it. @throws ApiError not_found */
  row(by: Principal, taskId: string): TaskRow;
  summary(taskId: string): TaskSummary;
}

const columns = `t.*, c.name AS client_name, p.name AS project_name,
  (SELECT json_group_array(tag) FROM (SELECT tag FROM task_tags WHERE task_id = t.id ORDER BY tag)) AS tags,
  (SELECT json_group_array(ref) FROM (SELECT ref FROM blockers WHERE task_id = t.id ORDER BY ref)) AS held_by,
  a.usage AS open_usage, a.phase AS open_phase`;
const source = `FROM tasks t JOIN clients c ON c.id = t.client_id JOIN projects p ON p.id = t.project_id
  LEFT JOIN attempts a ON a.task_id = t.id AND a.ended_at IS NULL`;

const encodeCursor = (n: number): string => Buffer.from(String(n)).toString('base64url');
function decodeCursor(cursor: string): number {
  const n = Number(Buffer.from(cursor, 'base64url').toString());
  if (Number.isSafeInteger(n) && n > 0) return n;
  throw new ApiError('invalid_input', 'This cursor is not one that list_tasks gave.', {
    field: 'cursor',
    fix: 'Leave it out to begin at the newest.',
  });
}

/** `%` and `_` in a search mean themselves. */
const like = (text: string): string => `%${text.replace(/[\\%_]/g, '\\$&')}%`;

export function createTaskReads(db: Database, artifacts: ArtifactStore): TaskReads {
  const one = db.prepare<[string], TaskRow>(`SELECT ${columns} ${source} WHERE t.id = ?`);
  const page = db.prepare<Record<string, unknown>, TaskRow>(`SELECT ${columns} ${source}
    WHERE t.n < @before
      AND (@owner IS NULL OR t.client_id = @owner)
      AND (@states IS NULL OR t.state IN (SELECT value FROM json_each(@states)))
      AND (@project IS NULL OR p.name = @project)
      AND (@client IS NULL OR c.name = @client)
      AND (@tag IS NULL OR EXISTS (SELECT 1 FROM task_tags g WHERE g.tag = @tag AND g.task_id = t.id))
      AND (@text IS NULL OR t.title LIKE @text ESCAPE '\\' OR t.contract ->> 'goal' LIKE @text ESCAPE '\\')
    ORDER BY t.n DESC LIMIT @limit`);
  const attemptRows = db.prepare<[string], AttemptRow>('SELECT * FROM attempts WHERE task_id = ? ORDER BY number');
  const dependsOn = db.prepare<[string], { depends_on: string }>('SELECT depends_on FROM dependencies WHERE task_id = ? ORDER BY position');
  const blockers = db.prepare<[string], { kind: TaskDetail['blockers'][number]['kind']; ref: string; state: TaskState | null }>(
    'SELECT b.kind, b.ref, t.state FROM blockers b LEFT JOIN tasks t ON t.id = b.ref WHERE b.task_id = ? ORDER BY b.kind, b.ref',
  );
  const counts = db.prepare<[], { state: TaskState; tasks: number }>('SELECT state, count(*) AS tasks FROM tasks GROUP BY state');

  const row = (by: Principal, taskId: string): TaskRow => {
    const found = one.get(taskId);
    if (found && (by.operator || found.client_id === by.clientId)) return found;
    throw new ApiError('not_found', `There is no task ${taskId}.`, { field: 'id', fix: 'See list_tasks for the ids of your tasks.' });
  };
  const attemptsOf = (taskId: string): AttemptView[] => attemptRows.all(taskId).map((a) => toAttempt(a, artifacts.ofAttempt(a.id)));

  return {
    row,
    summary: (taskId) => toSummary(one.get(taskId) as TaskRow),
    get: (by, taskId) => {
      const found = row(by, taskId);
      return {
        ...toSummary(found),
        contract: toContract(found),
        dependsOn: dependsOn.all(taskId).map((d) => d.depends_on),
        blockers: blockers.all(taskId).map((b) => ({ kind: b.kind, detail: b.state ? `${b.ref} is ${b.state}` : b.ref })),
        failure: toFailure(found),
        branch: found.branch,
        baseCommit: found.base_commit,
        headCommit: found.head_commit,
        milestone: found.milestone,
        latestAttempt: attemptsOf(taskId).at(-1) ?? null,
      };
    },
    list: (by: Principal, filter: TaskFilter, cursor: string | null, limit: number): Page<TaskSummary> => {
      const rows = page.all({
        before: cursor === null ? Number.MAX_SAFE_INTEGER : decodeCursor(cursor),
        owner: by.operator ? null : by.clientId,
        states: filter.states ? JSON.stringify(filter.states) : null,
        project: filter.project ?? null,
        client: filter.client ?? null,
        tag: filter.tag ?? null,
        text: filter.text === undefined ? null : like(filter.text),
        limit: limit + 1,
      });
      const items = rows.slice(0, limit);
      const last = items.at(-1);
      return { items: items.map(toSummary), next: rows.length > limit && last ? encodeCursor(last.n) : null };
    },
    attempts: (by, taskId) => {
      row(by, taskId);
      return attemptsOf(taskId);
    },
    countByState: () => {
      const found = new Map(counts.all().map((c) => [c.state, c.tasks]));
      return Object.fromEntries(taskStates.map((state) => [state, found.get(state) ?? 0])) as Record<TaskState, number>;
    },
  };
}
