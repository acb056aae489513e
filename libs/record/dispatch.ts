/** Handing out: one query chooses what starts, one transaction makes its attempts, the outbox makes sure that the broker gets them. */
import { type AttemptJob, anyoneQueue, attemptId, queueOf } from '@taskbridge/contract';
import type { Database } from './database.ts';
import type { EventLog } from './event-log.ts';
import { type ProjectRow, toProject } from './projects.ts';
import { toContract } from './task-view.ts';
import type { Transitions } from './transition.ts';
import type { Capacity, Dispatch, OutboxItem } from './types.ts';

interface ReadyRow {
  id: string;
  title: string;
  contract: string;
  branch: string;
  client_id: string;
  attempts: number;
  project_id: string;
}

interface OutboxRow {
  id: number;
  kind: 'enqueue' | 'cancel';
  queue: string;
  attempt_id: string;
  job: string | null;
}

interface OpenRow {
  id: string;
  task_id: string;
  queue: string;
  state: 'queued' | 'running';
  worker_id: string | null;
  dispatched_at: number;
  undelivered: number;
  cancelling_at: number | null;
}

export interface Outbox {
  /** Asks the broker to end an attempt, within the caller's transaction. */
  cancel(queue: string, attemptId: string): void;
  /** The attempt needs no delivery any more, within the caller's transaction. */
  drop(attemptId: string): void;
  /** Its worker has ended it: it needs no cancel either. */
  dropAll(attemptId: string): void;
}

export function createOutbox(db: Database): Outbox {
  const insert = db.prepare("INSERT INTO outbox (kind, queue, attempt_id) VALUES ('cancel', ?, ?)");
  const drop = db.prepare("DELETE FROM outbox WHERE attempt_id = ? AND kind = 'enqueue'");
  const dropAll = db.prepare('DELETE FROM outbox WHERE attempt_id = ?');
  return {
    cancel: (queue, attempt) => void insert.run(queue, attempt),
    drop: (attempt) => void drop.run(attempt),
    dropAll: (attempt) => void dropAll.run(attempt),
  };
}

export function createDispatch(db: Database, events: EventLog, transitions: Transitions): Dispatch {
  // Fair share first: a task's place counts its client's open attempts and those of its client's ready tasks that go before it.
  // So a client's first task comes before another client's second one, however many there are. Then priority, then age.
  // What no host has room for takes nobody's place. No more than the first few of each client and project can be chosen, and only indexes are
  // read for it: the cost does not grow with the backlog.
  const choose = db.prepare<{ hosts: string; free: number }, { n: number }>(`
    WITH room AS MATERIALIZED (
      SELECT key AS host, value AS free FROM json_each(@hosts) WHERE value > 0
    ), target AS MATERIALIZED (
      SELECT p.id AS project_id, r.host, r.free
        FROM projects p LEFT JOIN room r ON r.host = p.host AND p.kind = 'path'
       WHERE p.kind = 'url' OR p.host IS NULL OR r.host IS NOT NULL
    ), open AS MATERIALIZED (
      SELECT t.client_id, count(*) AS attempts FROM attempts a CROSS JOIN tasks t ON t.id = a.task_id WHERE a.ended_at IS NULL GROUP BY t.client_id
    ), first AS (
      SELECT c.id AS client_id, g.host, g.free, t.value ->> 0 AS n, t.value ->> 1 AS priority
        FROM clients c CROSS JOIN target g CROSS JOIN json_each((
          SELECT json_group_array(json_array(n, priority)) FROM (
            SELECT n, priority FROM tasks INDEXED BY ready_tasks
             WHERE state = 'ready' AND client_id = c.id AND project_id = g.project_id ORDER BY priority DESC, n LIMIT @free))) t
    ), placed AS (
      SELECT f.n, f.priority, f.host, f.free,
             coalesce(o.attempts, 0) + row_number() OVER (PARTITION BY f.client_id ORDER BY f.priority DESC, f.n) AS place
        FROM first f LEFT JOIN open o ON o.client_id = f.client_id
    ), fitted AS (
      SELECT *, row_number() OVER (PARTITION BY host ORDER BY place, priority DESC, n) AS nth FROM placed
    )
    SELECT n FROM fitted WHERE host IS NULL OR nth <= free ORDER BY place, priority DESC, n LIMIT @free`);
  const readyTask = db.prepare<[number], ReadyRow>(
    'SELECT id, title, contract, branch, client_id, attempts, project_id FROM tasks WHERE n = ?',
  );
  const projectById = db.prepare<[string], ProjectRow>(
    'SELECT id, name, source, kind, host, base_branch, setup, checks FROM projects WHERE id = ?',
  );
  // CROSS JOIN keeps the order of a join: begun from the tasks, these would read their whole history.
  const dependencyCommits = db.prepare<[string, string], { head_commit: string }>(`
    SELECT d.head_commit FROM dependencies x CROSS JOIN tasks d ON d.id = x.depends_on
     WHERE x.task_id = ? AND d.project_id = ? AND d.head_commit IS NOT NULL ORDER BY x.position`);
  const insertAttempt = db.prepare(
    "INSERT INTO attempts (id, task_id, number, state, queue, dispatched_at) VALUES (?, ?, ?, 'queued', ?, ?)",
  );
  const countAttempt = db.prepare('UPDATE tasks SET attempts = ? WHERE id = ?');
  const insertOutbox = db.prepare("INSERT INTO outbox (kind, queue, attempt_id, job) VALUES ('enqueue', ?, ?, ?)");
  const pending = db.prepare<[number], OutboxRow>('SELECT * FROM outbox ORDER BY id LIMIT ?');
  const remove = db.prepare('DELETE FROM outbox WHERE id = ?');
  const open = db.prepare<[], OpenRow>(`
    SELECT a.id, a.task_id, a.queue, a.state, a.worker_id, a.dispatched_at, t.cancelling_at,
           EXISTS (SELECT 1 FROM outbox o WHERE o.attempt_id = a.id AND o.kind = 'enqueue') AS undelivered
      FROM attempts a CROSS JOIN tasks t ON t.id = a.task_id WHERE a.ended_at IS NULL ORDER BY a.fence`);
  const queue = db.prepare<[string], { queue: string }>('SELECT queue FROM attempts WHERE id = ?');
  const openByHost = db.prepare<[string], { host: string | null; attempts: number }>(`
    SELECT CASE WHEN a.queue = ? THEN a.host ELSE p.host END AS host, count(*) AS attempts
      FROM attempts a CROSS JOIN tasks t ON t.id = a.task_id CROSS JOIN projects p ON p.id = t.project_id
     WHERE a.ended_at IS NULL GROUP BY 1`);

  const handOutOne = (task: ReadyRow, at: number): void => {
    const project = toProject(projectById.get(task.project_id) as ProjectRow);
    const number = task.attempts + 1;
    const id = attemptId(task.id, number);
    const queue = queueOf(project);
    const fence = Number(insertAttempt.run(id, task.id, number, queue, at).lastInsertRowid);
    const job: AttemptJob = {
      attemptId: id,
      taskId: task.id,
      number,
      fence,
      title: task.title,
      clientId: task.client_id,
      project,
      contract: toContract(task),
      branch: task.branch,
      dependencyCommits: dependencyCommits.all(task.id, task.project_id).map((d) => d.head_commit),
    };
    countAttempt.run(number, task.id);
    insertOutbox.run(queue, id, JSON.stringify(job));
    transitions.move(task.id, 'attempt.dispatched', { by: 'dispatcher', actor: 'record', attemptId: id, data: { fence, queue } }, at);
  };

  const handOut = (capacity: Capacity): number => {
    const slots = Object.values(capacity.slotsByHost).reduce((sum, n) => sum + n, 0);
    // With nobody there to take it, nothing is handed out: the order is chosen when somebody is.
    if (slots === 0) return 0;
    const used = openByHost.all(anyoneQueue);
    // What waits for a host that is gone takes no slot of those that are there.
    const counted = used.filter((u) => u.host === null || capacity.slotsByHost[u.host] !== undefined);
    const free = slots + capacity.lookAhead - counted.reduce((sum, u) => sum + u.attempts, 0);
    if (free <= 0) return 0;
    const freeByHost = Object.entries(capacity.slotsByHost).map(([host, n]) => [
      host,
      n + capacity.lookAhead - (used.find((u) => u.host === host)?.attempts ?? 0),
    ]);
    const at = Date.now();
    const chosen = choose.all({ hosts: JSON.stringify(Object.fromEntries(freeByHost)), free });
    for (const { n } of chosen) handOutOne(readyTask.get(n) as ReadyRow, at);
    return chosen.length;
  };
  const inTransaction = db.transaction(handOut);

  return {
    handOut: (capacity) => {
      const handed = inTransaction.immediate(capacity);
      if (handed > 0) events.committed();
      return handed;
    },
    pending: (limit) =>
      pending.all(limit).map((row): OutboxItem => {
        const common = { id: row.id, queue: row.queue };
        if (row.kind === 'cancel') return { ...common, kind: 'cancel', attemptId: row.attempt_id };
        return { ...common, kind: 'enqueue', job: JSON.parse(row.job ?? '') as AttemptJob };
      }),
    delivered: (outboxId) => void remove.run(outboxId),
    queueOf: (attempt) => queue.get(attempt)?.queue,
    openAttempts: () =>
      open.all().map((row) => ({
        attemptId: row.id,
        taskId: row.task_id,
        queue: row.queue,
        state: row.state,
        workerId: row.worker_id,
        dispatchedAt: row.dispatched_at,
        delivered: row.undelivered === 0,
        cancelling: row.cancelling_at !== null,
      })),
  };
}
