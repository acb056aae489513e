/** A process that dispatches once and is killed at a chosen point: `before` the broker has the attempt, or `after`, before the record knows. */
import { type BrokerOptions, connectBroker } from '@taskbridge/broker';
import { createDispatcher } from '@taskbridge/dispatch';
import { openRecord } from '@taskbridge/record';
import { pino } from 'pino';

export interface CrashSettings {
  options: BrokerOptions;
  dataDir: string;
  when: 'before' | 'after';
}

const { options, dataDir, when } = JSON.parse(process.argv[2] ?? '') as CrashSettings;
const log = pino({ level: 'silent' });
const broker = connectBroker(options, log);
createDispatcher({
  record: openRecord({ dataDir }),
  broker: {
    ...broker,
    get ready() {
      return broker.ready;
    },
    async enqueue(queue, job) {
      if (when === 'after') await broker.enqueue(queue, job);
      process.kill(process.pid, 'SIGKILL');
    },
  },
  lookAhead: 1,
  log,
});
