/** What clients, the CLI and the board read: the record's rows in the words of the design. */
import type { Contract, Mode } from './contract.ts';
import type { FailureReason } from './failures.ts';
import type { ArtifactRef, Report, Usage } from './report.ts';
import type { Milestone, Party, TaskState } from './states.ts';

export interface TaskSummary {
  id: string;
  title: string;
  project: string;
  client: string;
  mode: Mode;
  state: TaskState;
  /** One plain sentence: why it is in this state. */
  because: string;
  priority: number;
  tags: string[];
  attempts: number;
  cancelling: boolean;
  activity: string | null;
  usage: Usage;
  submittedAt: number;
  stateSince: number;
  endedAt: number | null;
}

export interface Failure {
  reason: FailureReason;
  sentence: string;
  detail: string;
  next: string;
  retryable: boolean;
}

export interface AttemptView {
  id: string;
  number: number;
  fence: number;
  state: 'queued' | 'running' | 'succeeded' | 'failed' | 'cancelled' | 'returned';
  worker: string | null;
  host: string | null;
  phase: string | null;
  dispatchedAt: number;
  startedAt: number | null;
  endedAt: number | null;
  report: Report | null;
  artifacts: ArtifactRef[];
}

export interface BlockerView {
  kind: 'dependency' | 'branch_lock' | 'decision' | 'budget' | 'quota' | 'not_before';
  detail: string;
}

export interface TaskDetail extends TaskSummary {
  contract: Contract;
  dependsOn: string[];
  blockers: BlockerView[];
  failure: Failure | null;
  branch: string;
  baseCommit: string | null;
  headCommit: string | null;
  milestone: Milestone;
  latestAttempt: AttemptView | null;
}

/** One row of the append-only event log: the audit trail and the source of every live view. */
export interface RecordEvent {
  seq: number;
  at: number;
  type: string;
  taskId: string | null;
  attemptId: string | null;
  by: Party | 'system';
  /** Client or worker id of who caused it, or a service's name. */
  actor: string;
  data: Record<string, unknown>;
}
