/** Recording tasks: idempotency, dependencies, first state. Runs within the caller's transaction. */
import { createHash } from 'node:crypto';
import {
  ApiError,
  contractSchema,
  isTerminal,
  newTaskId,
  noUsage,
  type Submit,
  type TaskState,
  taskBranch,
  titleOf,
} from '@taskbridge/contract';
import type { Database } from './database.ts';
import type { Dependents } from './dependents.ts';
import type { EventLog } from './event-log.ts';
import type { TaskReads } from './task-reads.ts';
import type { Principal, Projects, Submitted } from './types.ts';

/** What makes two submits the same: everything but the key. `#n` stands for the task it means, which differs from batch to batch. */
function inputHash(submit: Submit, dependsOn: { id: string }[]): string {
  const { idempotency_key: _, ...input } = submit;
  return createHash('sha256')
    .update(JSON.stringify({ ...input, depends_on: dependsOn.map((d) => d.id) }))
    .digest('hex');
}

const place = (index: number, size: number, field: string): string => (size === 1 ? field : `tasks[${index}].${field}`);

/** The order in which a batch can be recorded: what is depended on comes first. @throws ApiError invalid_input for a cycle or a number outside the batch */
function batchOrder(batch: Submit[]): number[] {
  const order: number[] = [];
  const visit = (index: number, path: number[]): void => {
    if (order.includes(index)) return;
    if (path.includes(index)) {
      const cycle = [...path.slice(path.indexOf(index)), index].map((i) => `#${i}`).join(' → ');
      throw new ApiError('invalid_input', `These tasks wait for each other: ${cycle}.`, {
        field: place(index, batch.length, 'depends_on'),
        fix: 'Remove one of these dependencies.',
      });
    }
    for (const ref of batch[index]?.depends_on ?? []) {
      if (!ref.startsWith('#')) continue;
      const target = Number(ref.slice(1));
      if (!batch[target]) {
        throw new ApiError('invalid_input', `${ref} is not in this batch of ${batch.length}.`, {
          field: place(index, batch.length, 'depends_on'),
          fix: `Use #0 to #${batch.length - 1}, or the id of a task.`,
        });
      }
      visit(target, [...path, index]);
    }
    order.push(index);
  };
  batch.forEach((_, index) => {
    visit(index, []);
  });
  return order;
}

export function createSubmit(db: Database, events: EventLog, reads: TaskReads, projects: Projects, dependents: Dependents) {
  const byKey = db.prepare<[string, string], { id: string; input_hash: string }>(
    'SELECT id, input_hash FROM tasks WHERE client_id = ? AND idempotency_key = ?',
  );
  const insert = db.prepare(`INSERT INTO tasks
    (id, client_id, project_id, title, contract, mode, priority, branch, state, state_since, idempotency_key, input_hash, usage, submitted_at)
    VALUES (@id, @client_id, @project_id, @title, @contract, @mode, @priority, @branch, @state, @at, @idempotency_key, @input_hash, @usage, @at)`);
  const insertTag = db.prepare('INSERT INTO task_tags (task_id, tag) VALUES (?, ?) ON CONFLICT DO NOTHING');
  const insertDependency = db.prepare('INSERT INTO dependencies (task_id, depends_on, position) VALUES (?, ?, ?)');
  const insertBlocker = db.prepare("INSERT INTO blockers (task_id, kind, ref) VALUES (?, 'dependency', ?)");

  const record = (
    by: Principal,
    submit: Submit,
    dependsOn: { id: string; state: TaskState }[],
    field: (name: string) => string,
  ): Submitted => {
    const hash = inputHash(submit, dependsOn);
    const earlier = submit.idempotency_key === undefined ? undefined : byKey.get(by.clientId, submit.idempotency_key);
    if (earlier && earlier.input_hash !== hash) {
      throw new ApiError('idempotency_conflict', `This key belongs to task ${earlier.id}, which was submitted with a different input.`, {
        field: field('idempotency_key'),
        fix: 'Use a new key for a new task.',
      });
    }
    if (earlier) return { task: reads.summary(earlier.id), created: false };

    const project = projects.get(submit.project);
    const id = newTaskId();
    const title = titleOf(submit);
    const at = Date.now();
    const open = dependsOn.filter((d) => d.state !== 'done');
    const state = open.length > 0 ? 'held' : 'ready';
    const { project: _p, title: _t, priority, tags, depends_on: _d, idempotency_key, ...contract } = submit;
    insert.run({
      id,
      client_id: by.clientId,
      project_id: project.id,
      title,
      contract: JSON.stringify(contractSchema.parse(contract)),
      mode: submit.mode,
      priority,
      branch: taskBranch(title, id),
      state,
      at,
      idempotency_key: idempotency_key ?? null,
      input_hash: hash,
      usage: JSON.stringify(noUsage),
    });
    for (const tag of tags) insertTag.run(id, tag);
    for (const [position, dependency] of dependsOn.entries()) insertDependency.run(id, dependency.id, position);
    for (const dependency of open) insertBlocker.run(id, dependency.id);
    events.append(
      {
        type: 'task.submitted',
        taskId: id,
        by: 'planner',
        actor: by.clientId,
        data: { to: state, title, project: project.name, dependsOn: dependsOn.map((d) => d.id) },
      },
      at,
    );
    const lost = open.find((d) => isTerminal(d.state));
    if (lost) dependents.failHeld(id, lost.id, at);
    return { task: reads.summary(id), created: true };
  };

  /** Records a batch, all or none. @returns in the batch's order */
  return (by: Principal, batch: Submit[]): Submitted[] => {
    const results = new Map<number, Submitted>();
    for (const index of batchOrder(batch)) {
      const submit = batch[index] as Submit;
      const field = (name: string) => place(index, batch.length, name);
      const named = submit.depends_on.map((ref): { id: string; state: TaskState } => {
        if (ref.startsWith('#')) return (results.get(Number(ref.slice(1))) as Submitted).task;
        try {
          return reads.row(by, ref);
        } catch (cause) {
          throw new ApiError('not_found', `There is no task ${ref} to depend on.`, {
            field: field('depends_on'),
            fix: 'Use the id of one of your tasks.',
            cause,
          });
        }
      });
      // Two names may mean one task: an id, and the place of a submit whose key led to it.
      const dependsOn = [...new Map(named.map((d) => [d.id, d])).values()];
      results.set(index, record(by, submit, dependsOn, field));
    }
    return batch.map((_, index) => results.get(index) as Submitted);
  };
}
