/** Jobs and reports for tests of the delivery: whole, small, and new each time. */
import { randomUUID } from 'node:crypto';
import { type AttemptJob, attemptId, noUsage, type Report } from '@taskbridge/contract';

/** The `number`th attempt of a new task, or of the one given. */
export function anAttempt(options: { taskId?: string; number?: number; host?: string } = {}): AttemptJob {
  const taskId = options.taskId ?? `t_${randomUUID().slice(0, 8)}`;
  const number = options.number ?? 1;
  return {
    attemptId: attemptId(taskId, number),
    taskId,
    number,
    fence: number,
    title: 'a task',
    clientId: 'c_test',
    project: {
      id: 'p_test',
      name: 'sample',
      source: '/nowhere',
      kind: 'path',
      host: options.host ?? 'here',
      baseBranch: 'main',
      checks: [],
    },
    contract: { goal: 'do it', mode: 'propose_patch', scope: [], acceptance: [], constraints: [], deliverables: [], limits: {} },
    branch: `taskbridge/a-task-${taskId}`,
    dependencyCommits: [],
  };
}

/** The report of an attempt that succeeded, or ended as given. */
export function aReport(job: AttemptJob, end: Partial<Report> = {}): Report {
  return {
    attemptId: job.attemptId,
    taskId: job.taskId,
    fence: job.fence,
    workerId: 'w_test',
    outcome: 'succeeded',
    reason: null,
    detail: 'It is done.',
    retryAfterMs: null,
    summary: 'Did it.',
    openQuestions: [],
    base: null,
    head: null,
    salvageRef: null,
    files: [],
    filesTotal: 0,
    commands: [],
    commandsTotal: 0,
    gates: [],
    milestone: 'checks_passed',
    usage: noUsage,
    model: null,
    sessionId: null,
    phases: [],
    versions: {},
    limits: [],
    artifacts: [],
    startedAt: 1,
    endedAt: 2,
    ...end,
  };
}
