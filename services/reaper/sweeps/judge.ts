/** Whether an attempt that the record believes open is lost. Pure: the time and all facts are given. */
import type { JobState } from '@taskbridge/broker';

export interface AttemptFacts {
  state: 'queued' | 'running';
  /** The broker was given its job. */
  delivered: boolean;
  job: JobState;
  /** A living worker says it is at work on it. */
  claimed: boolean;
  /** Its report waits for the record. */
  reported: boolean;
  /** Since when nothing has stood for it, in the eyes of the sweeps before; undefined when this is the first. */
  orphanedSince: number | undefined;
}

/** How long nothing may stand for an attempt before it counts as lost, in milliseconds. */
export interface Patience {
  /** Longer than a heartbeat: a Redis that was emptied knows of no worker until each has spoken again. */
  silenceMs: number;
  /** With an active job: what may be left of its lock. Until that ends, its worker rightly goes on. */
  lockMs: number;
}

export type Verdict = { verdict: 'keep' } | { verdict: 'watch'; againMs: number } | { verdict: 'lost'; detail: string };

/** A heartbeat may be this late on a busy machine, in milliseconds. */
const lateMs = 1_000;

export const patienceOf = ({ heartbeatMs, leaseMs }: { heartbeatMs: number; leaseMs: number }): Patience => ({
  silenceMs: heartbeatMs + lateMs,
  // Silence is seen three heartbeats after the last one, and the lock may have been renewed just before the next was due.
  lockMs: leaseMs - 2 * heartbeatMs,
});

const keep: Verdict = { verdict: 'keep' };

export function judgeAttempt(facts: AttemptFacts, now: number, { silenceMs, lockMs }: Patience): Verdict {
  if (facts.reported || facts.claimed) return keep;
  if (facts.state === 'queued' && (!facts.delivered || facts.job === 'waiting')) return keep;
  const patience = facts.job === 'active' ? Math.max(silenceMs, lockMs) : silenceMs;
  const left = (facts.orphanedSince ?? now) + patience - now;
  if (left > 0) return { verdict: 'watch', againMs: left };
  const seen = facts.job === 'absent' ? 'its job is gone from the broker' : `its job is ${facts.job}`;
  return { verdict: 'lost', detail: `No living worker is at work on it, and ${seen}.` };
}
