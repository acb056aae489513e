/** Handing out: one query chooses what starts, one transaction makes its attempts, the outbox makes sure that the broker gets them. */
import { type AttemptJob, attemptId, type ProjectInput, queueOf } from '@taskbridge/contract';
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
  kind: ProjectInput['kind'];
  host: string | null;
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
}

export function createOutbox(db: Database): Outbox {
  const insert = db.prepare("INSERT INTO outbox (kind, queue, attempt_id) VALUES ('cancel', ?, ?)");
  const drop = db.prepare("DELETE FROM outbox WHERE attempt_id = ? AND kind = 'enqueue'");
  return {
    cancel: (queue, attempt) => void insert.run(queue, attempt),
    drop: (attempt) => void drop.run(attempt),
  };
}

export function createDispatch(db: Database, events: EventLog, transitions: Transitions): Dispatch {
  // Fair share first: a task's place counts its client's open attempts and those of its client's ready tasks that go before it.
  // So a client's first task comes before another client's second one, however many there are. Then priority, then age.
  const ready = db.prepare<[], ReadyRow>(`
    WITH open AS (
      SELECT t.client_id, count(*) AS attempts FROM attempts a JOIN tasks t ON t.id = a.task_id WHERE a.ended_at IS NULL GROUP BY t.client_id
    ), placed AS (
      SELECT t.*, coalesce(o.attempts, 0) + row_number() OVER (PARTITION BY t.client_id ORDER BY t.priority DESC, t.n) AS place
        FROM tasks t LEFT JOIN open o ON o.client_id = t.client_id
       WHERE t.state = 'ready'
    )
    SELECT t.id, t.title, t.contract, t.branch, t.client_id, t.attempts, t.project_id, p.kind, p.host
      FROM placed t JOIN projects p ON p.id = t.project_id
     ORDER BY t.place, t.priority DESC, t.n`);
  const projectById = db.prepare<[string], ProjectRow>(
    'SELECT id, name, source, kind, host, base_branch, setup, checks FROM projects WHERE id = ?',
  );
  const dependencyCommits = db.prepare<[string], { head_commit: string }>(`
    SELECT d.head_commit FROM dependencies x JOIN tasks d ON d.id = x.depends_on JOIN tasks t ON t.id = x.task_id
     WHERE x.task_id = ? AND d.project_id = t.project_id AND d.head_commit IS NOT NULL ORDER BY x.position`);
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
      FROM attempts a JOIN tasks t ON t.id = a.task_id WHERE a.ended_at IS NULL ORDER BY a.fence`);
  const queue = db.prepare<[string], { queue: string }>('SELECT queue FROM attempts WHERE id = ?');
  const openByHost = db.prepare<[], { host: string | null; attempts: number }>(`
    SELECT CASE WHEN a.queue = 'anyone' THEN a.host ELSE p.host END AS host, count(*) AS attempts
      FROM attempts a JOIN tasks t ON t.id = a.task_id JOIN projects p ON p.id = t.project_id
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
      dependencyCommits: dependencyCommits.all(task.id).map((d) => d.head_commit),
    };
    countAttempt.run(number, task.id);
    insertOutbox.run(queue, id, JSON.stringify(job));
    transitions.move(task.id, 'attempt.dispatched', { by: 'dispatcher', actor: 'record', attemptId: id, data: { fence, queue } }, at);
  };

  const handOut = (capacity: Capacity): number => {
    const slots = Object.values(capacity.slotsByHost).reduce((sum, n) => sum + n, 0);
    // With nobody there to take it, nothing is handed out: the order is chosen when somebody is.
    if (slots === 0) return 0;
    const used = openByHost.all();
    let free = slots + capacity.lookAhead - used.reduce((sum, u) => sum + u.attempts, 0);
    const freeByHost = new Map(
      Object.entries(capacity.slotsByHost).map(([host, n]) => [
        host,
        n + capacity.lookAhead - (used.find((u) => u.host === host)?.attempts ?? 0),
      ]),
    );
    if (free <= 0) return 0;
    const at = Date.now();
    const chosen: ReadyRow[] = [];
    for (const task of ready.iterate()) {
      const pinned = task.kind === 'path' ? task.host : null;
      if (pinned !== null) {
        const left = freeByHost.get(pinned) ?? 0;
        if (left <= 0) continue;
        freeByHost.set(pinned, left - 1);
      }
      chosen.push(task);
      free -= 1;
      if (free === 0) break;
    }
    for (const task of chosen) handOutOne(task, at);
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
