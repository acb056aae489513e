/** Reading tasks. A client sees its own; an operator all. */
import { ApiError, type AttemptView, type TaskDetail, type TaskState, type TaskSummary, taskStates } from '@taskbridge/contract';
import type { ArtifactStore } from './artifacts.ts';
import type { Database, Statement } from './database.ts';
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

/** What each filter of a list means. */
const conditions = {
  owner: 't.client_id = @owner',
  state: 't.state = @state',
  states: 't.state IN (SELECT value FROM json_each(@states))',
  project: 'p.name = @project',
  client: 'c.name = @client',
  tag: 't.id IN (SELECT task_id FROM task_tags WHERE tag = @tag)',
  text: "(t.title LIKE @text ESCAPE '\\' OR t.contract ->> 'goal' LIKE @text ESCAPE '\\')",
};
type Condition = keyof typeof conditions;

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
  // One statement for each combination of filters: a condition that is not asked for would keep SQLite from the index of one that is.
  const pages = new Map<string, Statement<[Record<string, unknown>], TaskRow>>();
  const page = (asked: Condition[]): Statement<[Record<string, unknown>], TaskRow> => {
    const key = asked.join();
    const prepared =
      pages.get(key) ??
      db.prepare<[Record<string, unknown>], TaskRow>(
        `SELECT ${columns} ${source} WHERE ${['t.n < @before', ...asked.map((name) => conditions[name])].join(' AND ')}
          ORDER BY t.n DESC LIMIT @limit`,
      );
    pages.set(key, prepared);
    return prepared;
  };
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
      const { states, text, ...rest } = filter;
      const [only, ...more] = states ?? [];
      const values: Partial<Record<Condition, unknown>> = {
        ...rest,
        owner: by.operator ? undefined : by.clientId,
        state: more.length === 0 ? only : undefined,
        states: states && (more.length > 0 || only === undefined) ? JSON.stringify(states) : undefined,
        text: text === undefined ? undefined : like(text),
      };
      const asked = (Object.keys(conditions) as Condition[]).filter((name) => values[name] !== undefined);
      const rows = page(asked).all({
        ...Object.fromEntries(asked.map((name) => [name, values[name]])),
        before: cursor === null ? Number.MAX_SAFE_INTEGER : decodeCursor(cursor),
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
