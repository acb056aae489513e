/** The face of the broker: it delivers, the record decides. Two sides: the record's (gateway, reaper) and the worker's. */
import type { AttemptJob, Fact, LogLine, Presence, Report } from '@taskbridge/contract';

export interface BrokerOptions {
  /** redis:// or rediss:// URL, or the path of a unix socket. */
  redis: string;
  /** Prefix of every key, so that several stacks (and tests) can share one Redis. */
  prefix: string;
}

/** A piece of an attempt's output on its way to the record. */
export interface Parcel {
  name: string;
  mediaType: string;
  truncated: boolean;
  content: Buffer;
}

export type JobState = 'waiting' | 'active' | 'failed' | 'completed' | 'absent';

/** The record's side. */
export interface Broker {
  /** True while Redis answers. */
  readonly ready: boolean;
  /** Called each time Redis becomes reachable, also the first time. */
  onReady(listener: () => void): void;
  /** Idempotent by attempt id. Rejects at once when Redis is away: the outbox sends again. */
  enqueue(queue: string, job: AttemptJob): Promise<void>;
  /** Takes a job that no worker has begun out of its queue; tells the worker of one that has begun to stop, and one that begins later to refuse. */
  cancel(queue: string, attemptId: string): Promise<void>;
  jobState(queue: string, attemptId: string): Promise<JobState>;
  /** Removes an ended job. The reaper calls it after the record has the report. Does nothing while a worker holds the job: that worker removes an acknowledged one. */
  forget(queue: string, attemptId: string): Promise<void>;
  /**
   * Living workers: those whose heartbeat is younger than the presence lifetime (three heartbeats). A worker lists an attempt until its report
   * is delivered. Just after Redis came back the list may be empty: each worker says at its next connect, within a second, that it is there.
   */
  workers(): Promise<Presence[]>;
  /** Called when a worker appears, leaves or frees a slot. A wake-up only. */
  onWorkers(listener: () => void): void;
  /** Ids of attempts whose report waits for the record. */
  waitingReports(): Promise<string[]>;
  /** @returns undefined when it was acknowledged meanwhile */
  readReport(attemptId: string): Promise<{ report: Report; parcels: Parcel[] } | undefined>;
  /** The record has applied or refused it: the worker may delete its spool, the parcels and the log stream go. */
  acknowledge(attemptId: string): Promise<void>;
  /** Lines of a living attempt's log with `n` above `after`. */
  readLog(attemptId: string, after: number, limit: number): Promise<LogLine[]>;
  /** Calls back when an attempt's log has new lines (read them with readLog); some may be missed while Redis is away. @returns an end to it */
  watchLog(attemptId: string, onLines: () => void): () => void;
  close(): Promise<void>;
}

export interface BrokerEvents {
  /** A fact, in order within an attempt. */
  onFact(fact: Fact): Promise<void> | void;
  /** A report waits for the record, also a re-sent one; or a job ended, perhaps without a report (refused, or it could not begin): look. */
  onReport(attemptId: string): Promise<void> | void;
  /** BullMQ found the attempt's job stalled: nobody renewed its lock. It is never run again. May come twice, and after the attempt's report. */
  onStalled(attemptId: string): Promise<void> | void;
}

/** The reaper's ear: queue events from where it left off. */
export interface Listening {
  close(): Promise<void>;
}

export interface WorkerIdentity {
  workerId: string;
  host: string;
  slots: number;
  versions: Record<string, string>;
}

/** What a running attempt is given by the broker. */
export interface Lease {
  job: AttemptJob;
  /** Aborted with a LeaseEnd as reason: the run must stop at once. */
  signal: AbortSignal;
  fact(fact: Fact): void;
  /** Appends to the attempt's capped log stream. Never blocks, never throws; lines are dropped while Redis is away (the whole log goes with the report). */
  log(line: LogLine): void;
}

/** `lease_lost`: the lock was not renewed for its lifetime, or Redis no longer knows it. Whatever the run does from then on may be refused. */
export type LeaseEnd = 'cancelled' | 'lease_lost' | 'shutdown';

/** The worker's side. */
export interface WorkerBroker {
  readonly ready: boolean;
  /**
   * Begins to take jobs from the anyone queue and the host's, never more than the free slots. `run` must spool its report before it resolves.
   * A job delivered twice is refused here: an attempt starts once.
   */
  start(run: (lease: Lease) => Promise<void>): Promise<void>;
  /** Hands a spooled report over; safe to repeat. Resolves when Redis has it, rejects when Redis is away. */
  deliver(report: Report, parcels: Parcel[]): Promise<void>;
  /** True once the record has acknowledged the report. */
  acknowledged(attemptId: string): Promise<boolean>;
  /** Called with the attempt id as acknowledgements arrive, and with undefined when Redis is back (check all). */
  onAcknowledged(listener: (attemptId: string | undefined) => void): void;
  /**
   * Stops taking; waits for attempts at work at most `graceMs`, then ends their leases with `shutdown` and waits for them to stop and spool,
   * 15 seconds at most. The same with Redis away.
   */
  drain(graceMs: number): Promise<void>;
  close(): Promise<void>;
}
