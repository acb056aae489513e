/** Puts the record together. */
import { join } from 'node:path';
import { createArtifactStore } from './artifacts.ts';
import { createCancel } from './cancel.ts';
import { createCursors } from './cursors.ts';
import { openDatabase } from './database.ts';
import { createDependents } from './dependents.ts';
import { createDispatch, createOutbox } from './dispatch.ts';
import { createEventLog } from './event-log.ts';
import { createGroupCommit } from './group-commit.ts';
import { createProjects } from './projects.ts';
import { createSettle } from './settle.ts';
import { createSubmit } from './submit.ts';
import { createTaskReads } from './task-reads.ts';
import { createTokens } from './tokens.ts';
import { createTransitions } from './transition.ts';
import type { TaskRecord } from './types.ts';

/**
 * Opens the record in a folder, making it when new.
 * @throws Error when it was made by a newer version, or can't be opened
 */
export function openRecord(options: { dataDir: string }): TaskRecord {
  const dir = options.dataDir;
  const db = openDatabase(dir);
  const events = createEventLog(db, dir);
  const artifacts = createArtifactStore(db, join(dir, 'artifacts'));
  const transitions = createTransitions(db, events);
  const outbox = createOutbox(db);
  const dependents = createDependents(db, transitions);
  const reads = createTaskReads(db, artifacts);
  const projects = createProjects(db, events);
  const submit = createSubmit(db, events, reads, projects, dependents);
  const group = createGroupCommit(db, events.committed);
  const alive = db.prepare('SELECT 1');

  return {
    tasks: {
      submit: (by, batch) => group.run(() => submit(by, batch)),
      get: reads.get,
      list: reads.list,
      attempts: reads.attempts,
      countByState: reads.countByState,
      cancel: createCancel(db, events, reads, transitions, outbox, dependents),
    },
    events,
    projects,
    tokens: createTokens(db, events),
    dispatch: createDispatch(db, events, transitions),
    settle: createSettle(db, events, artifacts, transitions, outbox, dependents),
    artifacts: {
      list: (by, taskId) => {
        reads.row(by, taskId);
        return artifacts.ofTask(taskId);
      },
      read: (by, taskId, name, attemptId) => {
        reads.row(by, taskId);
        return artifacts.newest(taskId, name, attemptId);
      },
    },
    cursors: createCursors(db),
    healthy: () => {
      try {
        return alive.get() !== undefined;
      } catch {
        return false;
      }
    },
    close: () => {
      events.close();
      db.close();
    },
  };
}
