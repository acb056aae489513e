/** Rows of tasks and attempts in the words of the contract. */
import {
  type ArtifactRef,
  type AttemptView,
  type Contract,
  type Failure,
  type FailureReason,
  failureKinds,
  type Milestone,
  type Mode,
  noUsage,
  type Report,
  type TaskState,
  type TaskSummary,
  type Usage,
} from '@taskbridge/contract';

export interface TaskRow {
  n: number;
  id: string;
  client_id: string;
  client_name: string;
  project_id: string;
  project_name: string;
  title: string;
  contract: string;
  mode: Mode;
  priority: number;
  branch: string;
  state: TaskState;
  state_since: number;
  input_hash: string;
  attempts: number;
  cancelling_at: number | null;
  activity: string | null;
  failure_reason: FailureReason | null;
  failure_detail: string | null;
  base_commit: string | null;
  head_commit: string | null;
  milestone: Milestone;
  usage: string;
  submitted_at: number;
  ended_at: number | null;
  /** JSON array */
  tags: string;
  /** JSON: of the open attempt, so far */
  open_usage: string | null;
  open_phase: string | null;
  /** JSON array of the task ids it is held by */
  held_by: string;
}

export interface AttemptRow {
  fence: number;
  id: string;
  task_id: string;
  number: number;
  state: AttemptView['state'];
  queue: string;
  worker_id: string | null;
  host: string | null;
  phase: string | null;
  /** JSON: as far as it told */
  usage: string | null;
  dispatched_at: number;
  started_at: number | null;
  ended_at: number | null;
  report: string | null;
}

/** Two usages together. The cost is known only when each part that called a model knows it. */
export function addUsage(a: Usage, b: Usage): Usage {
  const known = (u: Usage) => u.costKnown || u.modelCalls === 0;
  return {
    inputTokens: a.inputTokens + b.inputTokens,
    outputTokens: a.outputTokens + b.outputTokens,
    reasoningTokens: a.reasoningTokens + b.reasoningTokens,
    cacheReadTokens: a.cacheReadTokens + b.cacheReadTokens,
    cacheWriteTokens: a.cacheWriteTokens + b.cacheWriteTokens,
    costUsd: a.costUsd + b.costUsd,
    costKnown: known(a) && known(b) && (a.costKnown || b.costKnown),
    modelCalls: a.modelCalls + b.modelCalls,
  };
}

const parseUsage = (json: string | null): Usage => (json ? (JSON.parse(json) as Usage) : noUsage);

export const toContract = (row: Pick<TaskRow, 'contract'>): Contract => JSON.parse(row.contract) as Contract;

export function toFailure(row: Pick<TaskRow, 'failure_reason' | 'failure_detail'>): Failure | null {
  if (!row.failure_reason) return null;
  const kind = failureKinds[row.failure_reason];
  return {
    reason: row.failure_reason,
    sentence: kind.sentence,
    detail: row.failure_detail ?? '',
    next: kind.next,
    retryable: kind.retryable,
  };
}

/** One plain sentence: why the task is in its state. */
function because(row: TaskRow): string {
  switch (row.state) {
    case 'held':
      return `Waits for ${(JSON.parse(row.held_by) as string[]).join(', ')}.`;
    case 'ready':
      return 'Could start now; waits for a free slot of a worker.';
    case 'queued':
      return 'Handed out; a worker takes it next.';
    case 'running':
      if (row.cancelling_at !== null) return `Attempt ${row.attempts} is being stopped.`;
      return `Attempt ${row.attempts} is at work${row.open_phase ? ` (${row.open_phase})` : ''}.`;
    case 'waiting':
      return 'The agent asked a question; the planner must answer.';
    case 'blocked':
      return 'A human must decide.';
    case 'done':
      return row.head_commit && row.head_commit !== row.base_commit ? `Done: the work is on ${row.branch}.` : 'Done.';
    case 'failed':
      return toFailure(row)?.sentence ?? 'Failed.';
    case 'cancelled':
      return 'Cancelled.';
  }
}

export const toSummary = (row: TaskRow): TaskSummary => ({
  id: row.id,
  title: row.title,
  project: row.project_name,
  client: row.client_name,
  mode: row.mode,
  state: row.state,
  because: because(row),
  priority: row.priority,
  tags: JSON.parse(row.tags) as string[],
  attempts: row.attempts,
  cancelling: row.cancelling_at !== null && row.ended_at === null,
  activity: row.activity,
  usage: addUsage(parseUsage(row.usage), parseUsage(row.open_usage)),
  submittedAt: row.submitted_at,
  stateSince: row.state_since,
  endedAt: row.ended_at,
});

export const toAttempt = (row: AttemptRow, artifacts: ArtifactRef[]): AttemptView => ({
  id: row.id,
  number: row.number,
  fence: row.fence,
  state: row.state,
  worker: row.worker_id,
  host: row.host,
  phase: row.phase,
  dispatchedAt: row.dispatched_at,
  startedAt: row.started_at,
  endedAt: row.ended_at,
  report: row.report ? (JSON.parse(row.report) as Report) : null,
  artifacts,
});
