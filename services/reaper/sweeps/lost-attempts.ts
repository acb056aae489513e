/** Finds attempts that nothing stands for: their worker died, or Redis lost their job. */
import type { Broker } from '@taskbridge/broker';
import type { Log } from '@taskbridge/platform';
import type { TaskRecord } from '@taskbridge/record';
import { judgeAttempt, patienceOf } from './judge.ts';
import type { Sweep } from './sweep.ts';

export interface LostAttemptsOptions {
  record: TaskRecord;
  broker: Broker;
  heartbeatMs: number;
  leaseMs: number;
  log: Log;
  /** Called after an attempt was settled as lost. */
  onLost(): void;
}

export function createLostAttempts({ record, broker, heartbeatMs, leaseMs, log, onLost }: LostAttemptsOptions): Sweep {
  const patience = patienceOf({ heartbeatMs, leaseMs });
  const orphanedSince = new Map<string, number>();
  /** When Redis was found reachable: just after that a missing worker may only not have spoken yet. */
  let readySince: number | undefined;
  broker.onReady(() => {
    readySince = Date.now();
    orphanedSince.clear();
  });

  return {
    name: 'lost attempts',
    run: async (now) => {
      // Redis away is no sign of anything about workers.
      if (!broker.ready || readySince === undefined || now - readySince < 3 * heartbeatMs) return undefined;
      const open = record.dispatch.openAttempts();
      const claimed = new Set((await broker.workers()).flatMap((worker) => worker.attempts));
      const jobs = await Promise.all(open.map((attempt) => broker.jobState(attempt.queue, attempt.attemptId)));
      // Last, since a worker stops to claim an attempt only after its report is delivered.
      const reported = new Set(await broker.waitingReports());
      let again: number | undefined;
      for (const [index, attempt] of open.entries()) {
        const id = attempt.attemptId;
        const facts = {
          state: attempt.state,
          delivered: attempt.delivered,
          job: jobs[index] ?? 'absent',
          claimed: claimed.has(id),
          reported: reported.has(id),
          orphanedSince: orphanedSince.get(id),
        } as const;
        const verdict = judgeAttempt(facts, now, patience);
        if (verdict.verdict === 'keep') orphanedSince.delete(id);
        if (verdict.verdict === 'watch') {
          if (!orphanedSince.has(id)) orphanedSince.set(id, now);
          again = Math.min(again ?? verdict.againMs, verdict.againMs);
        }
        if (verdict.verdict !== 'lost') continue;
        orphanedSince.delete(id);
        const applied = record.settle.lost(id, verdict.detail, 'reaper');
        log.warn({ attempt: id, applied, detail: verdict.detail }, 'attempt lost');
        // A worker that was only asleep is told to stop, and a job that is left over goes.
        await broker.cancel(attempt.queue, id);
        await broker.forget(attempt.queue, id);
        onLost();
      }
      return again;
    },
  };
}
