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

export type Verdict = { verdict: 'keep' } | { verdict: 'watch' } | { verdict: 'lost'; detail: string };

const keep: Verdict = { verdict: 'keep' };

/** @param graceMs how long nothing may stand for an attempt before it counts as lost, in milliseconds */
export function judgeAttempt(facts: AttemptFacts, now: number, graceMs: number): Verdict {
  if (facts.reported || facts.claimed) return keep;
  if (facts.state === 'queued' && (!facts.delivered || facts.job === 'waiting')) return keep;
  // One look can fall between two steps of a healthy attempt, such as a job just taken whose worker has not yet said so.
  if (facts.orphanedSince === undefined || now - facts.orphanedSince < graceMs) return { verdict: 'watch' };
  const seen = facts.job === 'absent' ? 'its job is gone from the broker' : `its job is ${facts.job}`;
  return { verdict: 'lost', detail: `No living worker is at work on it, and ${seen}.` };
}
