/** Brings spooled reports to the record, again and again, until it has acknowledged them. */
import type { WorkerBroker } from '@taskbridge/broker';
import type { Log } from '@taskbridge/platform';
import type { Spool, Spooled } from './spool.ts';

/** An unacknowledged report is sent again after this, then after twice as long each time: Redis may have been emptied without a disconnect. */
const firstResendMs = 2_000;
const longestResendMs = 60_000;

export interface Courier {
  /** Spools an entry and tries once to deliver it. Resolves when it is safe on disk, delivered or not; rejects when it could be neither spooled nor delivered. */
  send(entry: Spooled): Promise<void>;
  /** Sends nothing more; waits for what is under way. */
  close(): Promise<void>;
}

export interface CourierOptions {
  broker: Pick<WorkerBroker, 'deliver' | 'acknowledged' | 'onAcknowledged'>;
  spool: Spool;
  log: Log;
  resendMs?: { first: number; longest: number };
}

/** Starts with what an earlier process left in the spool. */
export function startCourier({ broker, spool, log, resendMs }: CourierOptions): Courier {
  const { first, longest } = resendMs ?? { first: firstResendMs, longest: longestResendMs };
  const due = new Map<string, { at: number; wait: number }>();
  let timer: NodeJS.Timeout | undefined;
  let closed = false;
  let rounds: Promise<void> = Promise.resolve();

  const deliver = async (entry: Spooled) => {
    const id = entry.report.attemptId;
    const wait = Math.min(longest, (due.get(id)?.wait ?? first / 2) * 2);
    due.set(id, { at: Date.now() + wait, wait });
    try {
      await broker.deliver(entry.report, entry.parcels);
    } catch (err) {
      log.warn({ err, attempt: id, againInMs: wait }, 'a report could not be delivered yet; it is kept');
    }
  };

  const remove = async (attemptId: string) => {
    due.delete(attemptId);
    await spool.remove(attemptId);
  };

  const visit = async (attemptId: string, everything: boolean) => {
    if (!everything && (due.get(attemptId)?.at ?? 0) > Date.now()) return;
    if (await broker.acknowledged(attemptId).catch(() => false)) return remove(attemptId);
    const entry = await spool.read(attemptId);
    if (entry) await deliver(entry);
    else due.delete(attemptId);
  };

  const round = async (everything: boolean) => {
    const waiting = await spool.list();
    for (const id of due.keys()) if (!waiting.includes(id)) due.delete(id);
    for (const id of waiting) {
      if (closed) return;
      await visit(id, everything).catch((err) => log.error({ err, attempt: id }, 'a spooled report could not be handled'));
    }
  };

  const schedule = () => {
    clearTimeout(timer);
    if (closed || due.size === 0) return;
    const next = Math.min(...[...due.values()].map(({ at }) => at));
    timer = setTimeout(() => sweep(false), Math.max(100, next - Date.now()));
  };

  const sweep = (everything: boolean) => {
    rounds = rounds
      .then(() => round(everything))
      .catch((err) => log.error({ err }, 'the spool could not be read'))
      .then(schedule);
  };

  broker.onAcknowledged((attemptId) => {
    if (attemptId === undefined) return sweep(true);
    remove(attemptId).catch((err) => log.error({ err, attempt: attemptId }, 'a spooled report could not be deleted'));
  });
  sweep(false);

  return {
    async send(entry) {
      try {
        await spool.put(entry);
      } catch (err) {
        log.error({ err, attempt: entry.report.attemptId }, 'a report could not be spooled; it is delivered all the same');
        await broker.deliver(entry.report, entry.parcels);
        return;
      }
      await deliver(entry);
      schedule();
    },
    async close() {
      closed = true;
      clearTimeout(timer);
      await rounds;
    },
  };
}
