/** Takes jobs from a worker's queues, never more than it has free slots for. */
import type { Log } from '@taskbridge/platform';
import { type Job, UnrecoverableError, Worker } from 'bullmq';
import { settledWithin } from './deadline.ts';
import { type Line, openClient } from './line.ts';
import type { BrokerOptions } from './types.ts';

/** Without data for this long, in milliseconds, a connection with a question open is dead; longer than any blocking read. */
const silenceMs = 15_000;

export interface Taken {
  job: Job;
  /** Of this delivery: the lock is held with it. */
  token: string;
  /** When the lock was asked for, on performance.now. */
  takenAt: number;
}

export interface IntakeSettings {
  line: Line;
  broker: BrokerOptions;
  workerId: string;
  queues: string[];
  slots: number;
  leaseMs: number;
  log: Log;
}

export interface Intake {
  /** Takes no more; a job that arrives meanwhile goes back. */
  stop(): void;
  /** In bounded time, also with Redis away. */
  close(): Promise<void>;
}

/** Begins to take jobs. `work` holds a slot until it resolves; it must not reject. */
export function openIntake(settings: IntakeSettings, work: (taken: Taken) => Promise<void>): Intake {
  const { line, broker, workerId, leaseMs, log } = settings;
  const client = openClient(broker.redis, { socketTimeout: silenceMs });
  client.on('error', (err) => log.debug({ err }, 'taking jobs'));
  let free = settings.slots;
  let slotFreed = Promise.withResolvers<void>();
  let stopped = false;
  let lastComplaint = '';

  /** Once for each problem, however often it is met. */
  const complain = (queue: string, err: unknown) => {
    if (String(err) !== lastComplaint) log.warn({ err, queue }, 'jobs can not be taken; trying again');
    lastComplaint = String(err);
  };
  const occupy = (taken: Taken) => {
    free -= 1;
    void work(taken).finally(() => {
      free += 1;
      slotFreed.resolve();
      slotFreed = Promise.withResolvers<void>();
    });
  };

  const takeFrom = async (worker: Worker) => {
    for (let n = 1; !stopped; n++) {
      if (free <= 0) {
        await slotFreed.promise;
        continue;
      }
      try {
        await line.whenReady();
        const token = `${workerId}:${worker.name}:${n}`;
        const job = await worker.getNextJob(token, { block: true });
        const takenAt = performance.now();
        lastComplaint = '';
        if (job === undefined) continue;
        // BullMQ leaves it to whoever meets a stalled job next to fail it.
        if (job.deferredFailure) await job.moveToFailed(new UnrecoverableError(job.deferredFailure), token, false);
        // Both queues may have had a job for the last slot: this one goes back, for whoever is free first.
        else if (stopped || free <= 0) await job.moveToWait(token);
        else occupy({ job, token, takenAt });
      } catch (err) {
        if (!stopped && client.status === 'ready') complain(worker.name, err);
        // The line may not have noticed yet; never spin.
        await Promise.race([slotFreed.promise, pause()]);
      }
    }
  };
  let wake: (() => void) | undefined;
  const pause = () =>
    new Promise<void>((resolve) => {
      wake = resolve;
      setTimeout(resolve, 250);
    });

  const workers = settings.queues.map((name) => {
    const worker = new Worker(name, null, {
      connection: client,
      prefix: broker.prefix,
      name: workerId,
      autorun: false,
      lockDuration: leaseMs,
      // A dead worker's job is found within its lease and two looks.
      stalledInterval: Math.ceil(leaseMs / 3),
      maxStalledCount: 0,
      skipVersionCheck: true,
    });
    worker.on('error', (err) => {
      // Redis said no; everything else is the outage that the line tells of.
      if (err.name === 'ReplyError') complain(name, err);
    });
    return worker;
  });
  const loops = workers.map(async (worker) => {
    void worker.startStalledCheckTimer();
    await takeFrom(worker);
  });

  const stop = () => {
    if (stopped) return;
    stopped = true;
    slotFreed.resolve();
    wake?.();
    // Wakes a loop that waits for a job. A connection that never was up has nothing to wake.
    for (const worker of workers)
      void worker
        .getBackend()
        .disconnectBlocking(false)
        .catch(() => undefined);
  };
  return {
    stop,
    async close() {
      stop();
      // A connection closed while it is being made complains where nobody listens any more.
      if (line.ready) await settledWithin(Promise.all([...loops, ...workers.map((worker) => worker.waitUntilReady())]), 1_000);
      await settledWithin(Promise.all(workers.map((worker) => worker.close(true))), 500);
      client.disconnect();
    },
  };
}
