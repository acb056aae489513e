/** The worker's side: takes attempts, keeps their leases, says the worker is there, hands reports over. */
import { type AttemptJob, anyoneQueue, attemptJobSchema, hostQueue, type Presence } from '@taskbridge/contract';
import type { Log } from '@taskbridge/platform';
import { settledWithin } from './deadline.ts';
import { type Intake, openIntake, type Taken } from './intake.ts';
import { markerSeconds } from './keys.ts';
import { type Hold, holdLease } from './lease.ts';
import { type Line, openLine } from './line.ts';
import { logAppender } from './log-stream.ts';
import { announce, withdraw } from './presence.ts';
import { all, sendReport } from './reports.ts';
import type { BrokerOptions, Lease, WorkerBroker, WorkerIdentity } from './types.ts';

/** How long attempts whose lease was ended by a shutdown may take to stop and spool their report, in milliseconds. */
const stopMs = 15_000;
/** How long a closing worker tries to complete its last jobs and to say goodbye, in milliseconds. */
const farewellMs = 1_000;

interface Held {
  attemptId: string;
  hold: Hold;
}

/**
 * Connects in the background. Nothing is taken, and the worker is not announced, before `start`.
 * @param timing heartbeatMs: how often presence is renewed (it lasts three times that); leaseMs: lifetime of a job's lock
 */
export function connectWorker(
  options: BrokerOptions,
  identity: WorkerIdentity,
  timing: { heartbeatMs: number; leaseMs: number },
  log: Log,
): WorkerBroker {
  const line = openLine(options, log);
  const { client, keys } = line;
  const queues = [anyoneQueue, hostQueue(identity.host)];
  const startedAt = Date.now();
  /** By delivery token. */
  const leases = new Map<string, Held>();
  /** Attempts that run, and those whose report is not with the record's side yet. */
  const atWork = new Set<string>();
  const undelivered = new Set<string>();
  /** Attempts this process has begun: Redis may have lost that with the last second before a crash. */
  const begun = new Set<string>();
  const runs = new Set<Promise<void>>();
  const completions = new Set<Promise<void>>();
  const acknowledgedListeners = new Set<(attemptId: string | undefined) => void>();
  let intake: Intake | undefined;
  let heartbeat: NodeJS.Timeout | undefined;
  let draining = false;
  let drained: Promise<void> | undefined;

  const presence = (): Presence => ({
    ...identity,
    pid: process.pid,
    busy: atWork.size,
    attempts: [...new Set([...atWork, ...undelivered])],
    draining,
    startedAt,
    heartbeatAt: Date.now(),
  });
  const sayHere = async (changed: boolean) => {
    if (intake === undefined || !line.ready) return;
    try {
      await announce(line, presence(), queues, timing.heartbeatMs, changed);
    } catch (err) {
      log.debug({ err }, 'heartbeat not sent');
    }
  };
  const endCancelled = async () => {
    try {
      for (const { attemptId, hold } of leases.values()) if (await client.exists(keys.cancelled(attemptId))) hold.end('cancelled');
    } catch (err) {
      log.debug({ err }, 'cancels not read');
    }
  };
  line.onReady(() => {
    void sayHere(true);
    void endCancelled();
    for (const listener of acknowledgedListeners) listener(undefined);
  });
  line.onNews(({ type, id }) => {
    if (type === 'cancel') for (const held of leases.values()) if (held.attemptId === id) held.hold.end('cancelled');
    if (type === 'acknowledged') for (const listener of acknowledgedListeners) listener(id);
  });

  /** Runs one delivery: decides whether it may begin, and completes its job. Resolves when the slot is free again. */
  const handle = async (taken: Taken, run: (lease: Lease) => Promise<void>) => {
    const { job, token } = taken;
    const parsed = attemptJobSchema.safeParse(job.data);
    if (!parsed.success) {
      log.error({ job: job.id, problem: parsed.error.message }, 'refused a job that is not an attempt');
      return conclude(taken, undefined, new Error('not an attempt'));
    }
    const attempt = parsed.data;
    const extend = async () => (await job.extendLock(token, timing.leaseMs)) === 1;
    const hold = holdLease(line, timing.leaseMs, taken.takenAt, extend);
    // Known before the marker is read, so that no cancel falls between.
    leases.set(token, { attemptId: attempt.attemptId, hold });
    let verdict: Verdict;
    try {
      verdict = begun.has(attempt.attemptId) ? 'begun before' : await mayBegin(line, attempt.attemptId, token, hold, extend);
    } catch (err) {
      log.warn({ err, attempt: attempt.attemptId }, 'an attempt could not begin');
      return conclude(taken, hold, new Error('could not begin'));
    }
    if (verdict !== 'yes') {
      log.warn({ attempt: attempt.attemptId, verdict }, 'refused an attempt');
      return conclude(taken, hold, verdict === 'lost' ? new Error('lost before it began') : undefined, verdict !== 'lost');
    }
    begun.add(attempt.attemptId);
    atWork.add(attempt.attemptId);
    undelivered.add(attempt.attemptId);
    void sayHere(true);
    let failure: Error | undefined;
    try {
      await run(leaseOf(attempt, hold, taken));
    } catch (err) {
      log.error({ err, attempt: attempt.attemptId }, 'an attempt ended without a report');
      failure = err instanceof Error ? err : new Error(String(err));
      undelivered.delete(attempt.attemptId);
    }
    atWork.delete(attempt.attemptId);
    void sayHere(true);
    conclude(taken, hold, failure);
  };

  const leaseOf = (job: AttemptJob, hold: Hold, taken: Taken): Lease => ({
    job,
    signal: hold.signal,
    fact: (fact) => {
      // Facts are news of a moment: one that Redis was not there for is overtaken by the next, or by the report.
      taken.job.updateProgress(fact).catch((err) => log.debug({ err, attempt: job.attemptId, fact: fact.type }, 'fact not sent'));
    },
    log: logAppender(line, job.attemptId),
  });

  /** Completes (or fails) the job in the background, and renews its lock until that is done. */
  const conclude = (taken: Taken, hold: Hold | undefined, failure?: Error, refused = false) => {
    const completion = complete(line, taken, hold, failure, refused, () => drained !== undefined)
      .catch((err) => log.debug({ err, job: taken.job.id }, 'job not completed; it will be found stalled'))
      .finally(() => {
        hold?.release();
        leases.delete(taken.token);
        completions.delete(completion);
      });
    completions.add(completion);
  };

  const drain = async (graceMs: number) => {
    draining = true;
    intake?.stop();
    void sayHere(true);
    if (await settledWithin(Promise.all(runs), graceMs)) return;
    for (const { hold } of leases.values()) hold.end('shutdown');
    if (!(await settledWithin(Promise.all(runs), stopMs))) log.error({ attempts: [...atWork] }, 'attempts did not stop in time');
  };

  return {
    get ready() {
      return line.ready;
    },
    async start(run) {
      if (intake !== undefined || draining) throw new Error('a worker starts once');
      intake = openIntake(
        { line, broker: options, workerId: identity.workerId, queues, slots: identity.slots, leaseMs: timing.leaseMs, log },
        (taken) => {
          const running = handle(taken, run).finally(() => runs.delete(running));
          runs.add(running);
          return running;
        },
      );
      heartbeat = setInterval(() => void sayHere(false), timing.heartbeatMs);
      await sayHere(true);
    },
    async deliver(report, parcels) {
      await sendReport(line, report, parcels);
      if (undelivered.delete(report.attemptId)) void sayHere(false);
    },
    acknowledged: async (attemptId) => (await client.exists(keys.acknowledged(attemptId))) === 1,
    onAcknowledged: (listener) => void acknowledgedListeners.add(listener),
    drain(graceMs) {
      drained ??= drain(graceMs);
      return drained;
    },
    async close() {
      await (drained ??= drain(0));
      await settledWithin(Promise.all(completions), line.ready ? farewellMs : 0);
      clearInterval(heartbeat);
      for (const { hold } of leases.values()) hold.release();
      if (intake !== undefined && line.ready) await settledWithin(withdraw(line, identity.workerId), farewellMs);
      await intake?.close();
      line.close();
    },
  };
}

type Verdict = 'yes' | 'begun before' | 'cancelled' | 'lost';

/** Whether this delivery may begin the attempt. Asks again when Redis goes away meanwhile, as long as the lease lasts. */
async function mayBegin(line: Line, attemptId: string, token: string, hold: Hold, extend: () => Promise<boolean>): Promise<Verdict> {
  const { client, keys } = line;
  while (hold.held) {
    try {
      if (!(await extend())) return 'lost';
      const [, cancelled, beganBy] = await all(
        client
          .multi()
          .set(keys.started(attemptId), token, 'EX', markerSeconds, 'NX')
          .exists(keys.cancelled(attemptId))
          .get(keys.started(attemptId)),
      );
      if (beganBy !== token) return 'begun before';
      if (cancelled === 1 || hold.signal.aborted) return 'cancelled';
      return 'yes';
    } catch (err) {
      if (line.ready) throw err;
      await Promise.race([line.whenReady(), aborted(hold.signal)]);
    }
  }
  return 'lost';
}

/** Completes or fails a job; asks again when Redis goes away meanwhile, as long as its lock is ours. */
async function complete(
  line: Line,
  taken: Taken,
  hold: Hold | undefined,
  failure: Error | undefined,
  refused: boolean,
  closing: () => boolean,
) {
  const { job, token } = taken;
  const { client, keys } = line;
  for (;;) {
    try {
      if (failure) await job.moveToFailed(failure, token, false);
      else await job.moveToCompleted(null, token, false);
      // Nobody asks for the job of a delivery that was refused, or whose report the record already has.
      if (refused || (await client.exists(keys.acknowledged(String(job.id))))) await job.remove();
      return;
    } catch (err) {
      if (line.ready || closing() || hold?.held === false) throw err;
      await line.whenReady();
    }
  }
}

const aborted = (signal: AbortSignal) =>
  new Promise<void>((resolve) => {
    if (signal.aborted) resolve();
    signal.addEventListener('abort', () => resolve(), { once: true });
  });
