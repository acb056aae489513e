/** Tells the record how an attempt is going, as small facts on the job. */
import type { Lease } from '@taskbridge/broker';
import type { Fact, Usage } from '@taskbridge/contract';

/** An agent does many things a second; people and the record need about one. */
export const activityIntervalMs = 1_000;

/** Longest activity, as the contract's fact has it. */
const activityLimit = 200;

export interface Progress extends Disposable {
  started(worker: { workerId: string; host: string }): void;
  phase(phase: string, baseCommit?: string): void;
  /** Throttled; the newest wins. `text` is one clean line. */
  activity(text: string, usage: Usage): void;
}

export function reportProgress({ job, fact }: Pick<Lease, 'job' | 'fact'>): Progress {
  const envelope = () => ({ attemptId: job.attemptId, fence: job.fence, at: Date.now() });
  let next: Fact | undefined;
  let timer: NodeJS.Timeout | undefined;

  const flush = () => {
    timer = undefined;
    if (next === undefined) return;
    fact(next);
    next = undefined;
    timer = setTimeout(flush, activityIntervalMs);
  };

  return {
    started: (worker) => fact({ type: 'attempt.started', ...envelope(), ...worker }),
    phase: (phase, baseCommit) => fact({ type: 'attempt.phase', ...envelope(), phase, ...(baseCommit && { baseCommit }) }),
    activity(text, usage) {
      next = { type: 'attempt.activity', ...envelope(), activity: text.slice(0, activityLimit).toWellFormed(), usage: { ...usage } };
      if (timer === undefined) flush();
    },
    [Symbol.dispose]() {
      clearTimeout(timer);
      next = undefined;
    },
  };
}
