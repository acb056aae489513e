/** One attempt at work: its job, its voice, and what is known of it so far. Each step adds to it; the report is made of it. */
import type { PartialWork } from '@taskbridge/agents';
import type { Lease, Parcel, WorkerIdentity } from '@taskbridge/broker';
import type { AttemptJob, GateResult, LimitEvidence, Milestone, Report } from '@taskbridge/contract';
import type { Patch } from '@taskbridge/workspace';
import { type AttemptLog, createAttemptLog } from './attempt-log.ts';
import { type Ending, judgeFailure } from './ending.ts';
import { type Phases, timePhases } from './phases.ts';
import { type Progress, reportProgress } from './progress.ts';
import type { Clean } from './safe-text.ts';

/** What the steps have found out. Nothing here is the agent's word but `work`. */
export interface Known {
  base: Report['base'];
  work: PartialWork | undefined;
  patch: Patch | undefined;
  gates: GateResult[];
  milestone: Milestone;
  /** Set once the branch is published. */
  head: Report['head'];
  salvageRef: string | null;
  limits: LimitEvidence[];
  /** Logs of the project's commands. */
  parcels: Parcel[];
}

export interface Attempt extends Disposable {
  readonly job: AttemptJob;
  /** Aborted with a LeaseEnd: stop at once. */
  readonly signal: AbortSignal;
  readonly log: AttemptLog;
  readonly progress: Progress;
  readonly phases: Phases;
  readonly startedAt: number;
  readonly known: Known;
  /** Undefined while at work. */
  readonly ending: Ending | undefined;
  /** Begins a phase: timed, logged, told to the record. */
  enter(phase: string, baseCommit?: string): void;
  /** Ends the attempt. The first ending stays: what goes wrong while cleaning up does not change it. */
  end(ending: Ending): void;
  /** Ends the attempt as `error` means; the error itself goes to the log. */
  fail(error: unknown): void;
}

export function beginAttempt(lease: Lease, worker: WorkerIdentity, options: { clean: Clean; logLimitBytes: number }): Attempt {
  const log = createAttemptLog({ stream: (line) => lease.log(line), clean: options.clean, limitBytes: options.logLimitBytes });
  const progress = reportProgress(lease);
  const phases = timePhases();
  let ending: Ending | undefined;
  progress.started({ workerId: worker.workerId, host: worker.host });

  const attempt: Attempt = {
    job: lease.job,
    signal: lease.signal,
    log,
    progress,
    phases,
    startedAt: Date.now(),
    known: {
      base: null,
      work: undefined,
      patch: undefined,
      gates: [],
      milestone: 'none',
      head: null,
      salvageRef: null,
      limits: [],
      parcels: [],
    },
    get ending() {
      return ending;
    },
    enter(phase, baseCommit) {
      phases.enter(phase);
      progress.phase(phase, baseCommit);
      log.write('phase', baseCommit ? `${phase}, base ${baseCommit}` : phase);
    },
    end(how) {
      ending ??= how;
    },
    fail(error) {
      const judged = judgeFailure(error, lease.signal);
      const own = judged.reason === 'internal_error' || ending !== undefined;
      log.write('error', own && error instanceof Error ? (error.stack ?? error.message) : judged.detail);
      attempt.end(judged);
    },
    [Symbol.dispose]: () => progress[Symbol.dispose](),
  };
  return attempt;
}
