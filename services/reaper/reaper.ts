/** The reaper: collects what workers leave, the living and the dead, and settles it in the record. */
import { connectBroker, listen } from '@taskbridge/broker';
import { createDispatcher } from '@taskbridge/dispatch';
import { type Config, type Log, paths, type Running, redisAddress } from '@taskbridge/platform';
import { openRecord } from '@taskbridge/record';
import { createReports } from './reports.ts';
import { createLostAttempts } from './sweeps/lost-attempts.ts';
import { startRounds } from './sweeps/rounds.ts';
import type { Sweep } from './sweeps/sweep.ts';

/** Where the place in the queue events is kept. */
const cursorName = 'queue-events';

/** Resolves when it listens; Redis need not be there yet. */
export async function startReaper(config: Config, log: Log): Promise<Running> {
  const record = openRecord({ dataDir: paths(config).record });
  const options = { redis: redisAddress(config), prefix: config.redis_prefix };
  const broker = connectBroker(options, log);
  const dispatcher = createDispatcher({ record, broker, lookAhead: config.look_ahead, log });
  const reports = createReports(record, broker, log);
  const lostAttempts = createLostAttempts({
    record,
    broker,
    heartbeatMs: config.heartbeat_ms,
    leaseMs: config.lease_ms,
    log,
    onLost: dispatcher.wake,
  });
  const missedReports: Sweep = {
    name: 'missed reports',
    run: async () => {
      if (!broker.ready) return undefined;
      if ((await reports.applyWaiting()) > 0) dispatcher.wake();
      return undefined;
    },
  };
  /** What a commit left to do and nobody was woken for, as after a crash right behind it. */
  const missedDispatch: Sweep = {
    name: 'missed dispatch',
    run: async () => {
      dispatcher.wake();
      return undefined;
    },
  };
  const rounds = startRounds([missedReports, lostAttempts, missedDispatch], config.sweep_ms, log);
  broker.onReady(rounds.soon);
  broker.onWorkers(rounds.soon);

  const queueOf = (attemptId: string) => record.dispatch.queueOf(attemptId);
  const ear = await listen(
    options,
    record.cursors.get(cursorName),
    {
      onFact: (fact) => {
        const applied = record.settle.fact(fact);
        if (applied === 'stale')
          log.warn({ attempt: fact.attemptId, fence: fact.fence, fact: fact.type }, 'a fact with an old fence was refused');
      },
      onReport: async (attemptId) => {
        if (await reports.apply(attemptId)) dispatcher.wake();
        const queue = queueOf(attemptId);
        if (queue) await broker.forget(queue, attemptId);
      },
      onStalled: () => rounds.soon(),
    },
    (cursor) => record.cursors.set(cursorName, cursor),
    log,
  );

  return {
    stop: async () => {
      await ear.close();
      await rounds.close();
      await dispatcher.close();
      await broker.close();
      record.close();
    },
  };
}
