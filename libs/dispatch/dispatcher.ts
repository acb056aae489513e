/** Hands out: asks the record what may start, and delivers what the record has decided. */
import type { Broker } from '@taskbridge/broker';
import type { Log } from '@taskbridge/platform';
import type { Capacity, OutboxItem, TaskRecord } from '@taskbridge/record';

/** Outbox rows delivered per look. */
const rowsPerLook = 200;
/** How long until rows that Redis refused, though it is there, are tried again, in milliseconds. */
const againMs = 1_000;

export interface Dispatcher {
  /** Something may have changed: a submit, a cancel, a settled attempt. Returns at once; wakes that come together are answered together. */
  wake(): void;
  /** Waits for the pass at work. */
  close(): Promise<void>;
}

/**
 * Wakes itself when Redis becomes ready and when workers appear, leave or free a slot. Several may run at once, also in several processes:
 * handing out is a transaction, and delivering a row twice changes nothing.
 * @param lookAhead attempts handed out beyond the free slots
 */
export function createDispatcher(parts: { record: Pick<TaskRecord, 'dispatch'>; broker: Broker; lookAhead: number; log: Log }): Dispatcher {
  const { broker, lookAhead, log } = parts;
  const { dispatch } = parts.record;
  let working: Promise<void> | undefined;
  let again = false;
  let closed = false;
  let retry: NodeJS.Timeout | undefined;

  const deliver = async (item: OutboxItem): Promise<boolean> => {
    try {
      if (item.kind === 'enqueue') await broker.enqueue(item.queue, item.job);
      else await broker.cancel(item.queue, item.attemptId);
      dispatch.delivered(item.id);
      return true;
    } catch (err) {
      // One row that can't be delivered must not keep the others back.
      if (broker.ready) log.warn({ err, row: item.id }, 'not delivered; trying again');
      return false;
    }
  };

  const pass = async () => {
    if (!broker.ready) return;
    const slotsByHost = await freeSlots(broker);
    if (Object.keys(slotsByHost).length > 0) dispatch.handOut({ slotsByHost, lookAhead });
    const tried = new Set<number>();
    for (;;) {
      const items = dispatch.pending(rowsPerLook).filter((item) => !tried.has(item.id));
      if (items.length === 0) return;
      for (const item of items) {
        if (closed || !broker.ready) return;
        tried.add(item.id);
        if (!(await deliver(item))) tryAgainSoon();
      }
    }
  };
  const tryAgainSoon = () => {
    if (closed || !broker.ready) return; // Its return wakes us.
    clearTimeout(retry);
    retry = setTimeout(wake, againMs);
  };

  const work = async () => {
    do {
      again = false;
      try {
        await pass();
      } catch (err) {
        if (broker.ready) log.warn({ err }, 'a dispatch pass failed; trying again');
        tryAgainSoon();
      }
    } while (again && !closed);
    working = undefined;
  };
  const wake = () => {
    if (closed) return;
    again = true;
    working ??= work();
  };

  broker.onReady(wake);
  broker.onWorkers(wake);

  return {
    wake,
    async close() {
      closed = true;
      clearTimeout(retry);
      await working;
    },
  };
}

/** Slots of the living workers that take work, by host. */
async function freeSlots(broker: Broker): Promise<Capacity['slotsByHost']> {
  const slotsByHost: Capacity['slotsByHost'] = {};
  for (const worker of await broker.workers()) {
    if (!worker.draining) slotsByHost[worker.host] = (slotsByHost[worker.host] ?? 0) + worker.slots;
  }
  return slotsByHost;
}
