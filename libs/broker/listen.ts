/** The reaper's ear: what happens in every queue, one thing at a time and in order, from where it left off. */
import { factSchema } from '@taskbridge/contract';
import type { Log } from '@taskbridge/platform';
import { QueueEvents } from 'bullmq';
import { settledWithin } from './deadline.ts';
import { openLine, patient } from './line.ts';
import type { BrokerEvents, BrokerOptions, Listening } from './types.ts';

/** How long one blocking read of events lasts, in milliseconds. */
const readMs = 5_000;
/** How long closing waits for the handler at work, in milliseconds. */
const closeMs = 2_000;

/**
 * Listens to all queues there are, and to new ones as they appear. Works through Redis being away, and then tells of every report that waits.
 * A handler that throws is logged; the next event comes all the same.
 * @param cursor what `saveCursor` was last given; undefined reads the events that Redis still has
 */
export async function listen(
  options: BrokerOptions,
  cursor: string | undefined,
  events: BrokerEvents,
  saveCursor: (cursor: string) => void,
  log: Log,
): Promise<Listening> {
  // Who listens has a broker too, and that one tells of outages.
  const line = openLine(options, log, { quiet: true });
  const positions = parsePositions(cursor);
  const ears = new Map<string, QueueEvents>();
  let chain = Promise.resolve();
  let pending = 0;
  let closed = false;

  const inTurn = (what: () => Promise<void> | void, queue?: string, id?: string) => {
    pending += 1;
    chain = chain.then(async () => {
      pending -= 1;
      if (closed) return;
      try {
        await what();
      } catch (err) {
        log.error({ err }, 'an event could not be handled');
      }
      if (queue === undefined || id === undefined) return;
      positions[queue] = id;
      // A run of events is remembered once: after a crash between, they are told again.
      if (pending === 0) remember();
    });
  };
  const remember = () => {
    try {
      saveCursor(JSON.stringify(positions));
    } catch (err) {
      log.error({ err }, 'the place in the queue events could not be saved');
    }
  };

  const hear = (queue: string) => {
    if (closed || ears.has(queue)) return;
    const ear = new QueueEvents(queue, {
      connection: patient(options.redis),
      prefix: options.prefix,
      lastEventId: positions[queue] ?? '0',
      blockingTimeout: readMs,
      skipVersionCheck: true,
    });
    ears.set(queue, ear);
    ear.on('error', (err) => log.debug({ err, queue }, 'queue events'));
    ear.on('progress', ({ data }, id) => {
      const fact = factSchema.safeParse(data);
      inTurn(() => (fact.success ? events.onFact(fact.data) : undefined), queue, id);
    });
    ear.on('completed', ({ jobId }, id) => inTurn(() => events.onReport(jobId), queue, id));
    ear.on('stalled', ({ jobId }, id) => inTurn(() => events.onStalled(jobId), queue, id));
    ear.on('failed', ({ jobId, failedReason }, id) => {
      const stalled = failedReason.startsWith('job stalled');
      inTurn(() => (stalled ? events.onStalled(jobId) : events.onReport(jobId)), queue, id);
    });
  };
  const hearAll = async () => {
    try {
      for (const queue of await line.client.smembers(line.keys.queues)) hear(queue);
    } catch (err) {
      log.debug({ err }, 'queues not read');
    }
  };
  const tellWaiting = async () => {
    try {
      for (const id of await line.client.smembers(line.keys.reports)) inTurn(() => events.onReport(id));
    } catch (err) {
      log.debug({ err }, 'waiting reports not read');
    }
  };

  line.onReady(() => {
    void hearAll();
    void tellWaiting();
  });
  line.onNews(({ type, id }) => {
    if (type === 'queues') void hearAll();
    if (type === 'report') inTurn(() => events.onReport(id));
  });

  return {
    async close() {
      closed = true;
      line.close();
      const closing = [...ears.values()].map(async (ear) => {
        // With Redis away the first never settles; the second drops the connection whatever its state.
        void ear.close().catch(() => undefined);
        await ear.getBackend().close(true);
      });
      await settledWithin(Promise.all(closing), 500);
      await settledWithin(chain, closeMs);
      remember();
    },
  };
}

function parsePositions(cursor: string | undefined): Record<string, string> {
  return cursor === undefined ? {} : (JSON.parse(cursor) as Record<string, string>);
}
