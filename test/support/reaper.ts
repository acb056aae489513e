/** A reaper's surroundings for a test: a real record, a real Redis, and workers that the test plays on the real worker's side of the broker. */
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Broker, BrokerOptions, Lease, WorkerBroker } from '@taskbridge/broker';
import { createDispatcher } from '@taskbridge/dispatch';
import { type Config, configSchema, type Running } from '@taskbridge/platform';
import type { TaskRecord } from '@taskbridge/record';
import { Redis } from 'ioredis';
import { afterEach } from 'vitest';
import { startReaper } from '../../services/reaper/reaper.ts';
import type { WorkerSettings } from './broker-worker.ts';
import { quiet, timing, withDelivery } from './delivery.ts';
import { type TestRecord, withRecord } from './record.ts';
import type { TestRedis } from './redis.ts';
import { type Service, startService } from './service.ts';

const workerProgram = fileURLToPath(new URL('./broker-worker.ts', import.meta.url));
const lookAhead = 2;

export interface ReaperStage extends TestRecord {
  options: BrokerOptions;
  broker(): Promise<Broker>;
  /** A reaper in this process. */
  reaper(log?: typeof quiet): Promise<Running>;
  /** A reaper in a process of its own. */
  reaperProcess(): Promise<Service>;
  /** A worker that gives each attempt to `run`. */
  worker(
    run: (lease: Lease, worker: WorkerBroker) => Promise<void>,
    settings?: { workerId?: string; slots?: number; leaseMs?: number },
  ): Promise<WorkerBroker>;
  /** A worker in a process of its own that begins an attempt and never ends it by itself. */
  stuckWorker(workerId: string, leaseMs?: number): Promise<ChildProcess>;
  /** What a gateway would do: sends what is ready to the workers there are. */
  dispatch(): Promise<void>;
  /** Empties Redis, as an operator's FLUSHALL would. */
  flush(): Promise<void>;
  /** Resolves once `condition` holds, asked after every commit of any process. */
  until(condition: (record: TaskRecord) => boolean): Promise<void>;
  /** Types of a task's events, in order. */
  story(taskId: string): string[];
}

export function withReaper(redis: TestRedis) {
  const closers: (() => Promise<unknown>)[] = [];
  // Runs last: hooks run in reverse order, and records are removed after everyone who uses them is gone.
  const records = withRecord();
  const delivery = withDelivery(redis);
  afterEach(async () => {
    for (const close of closers.splice(0).reverse()) await close();
  });

  return (settings: Partial<Config> = {}): ReaperStage => {
    const options = delivery.newOptions();
    const opened = records.open();
    const { record, folder } = opened;
    const config = configSchema.parse({
      data_dir: folder,
      redis_url: options.redis,
      redis_prefix: options.prefix,
      heartbeat_ms: timing.heartbeatMs,
      lease_ms: timing.leaseMs,
      sweep_ms: 500,
      look_ahead: lookAhead,
      log_level: 'warn',
      ...settings,
    });
    return {
      ...opened,
      options,
      broker: () => delivery.broker(options),
      async reaper(log = quiet) {
        const running = await startReaper(config, log);
        closers.push(running.stop);
        return running;
      },
      async reaperProcess() {
        const env = Object.fromEntries(Object.entries(config).map(([key, value]) => [`TASKBRIDGE_${key.toUpperCase()}`, String(value)]));
        const service = await startService('reaper', env, join(folder, 'reaper.log'));
        closers.push(() => service.kill('SIGKILL'));
        return service;
      },
      worker: (run, given = {}) => delivery.worker(options, run, given),
      async stuckWorker(workerId, leaseMs = timing.leaseMs) {
        const identity = { workerId, host: 'here', slots: 1, versions: {} };
        const worker: WorkerSettings = { options, identity, timing: { ...timing, leaseMs } };
        const child = fork(workerProgram, [JSON.stringify(worker)]);
        closers.push(async () => {
          if (child.exitCode !== null || child.signalCode !== null) return;
          const gone = once(child, 'exit');
          child.kill('SIGKILL');
          await gone;
        });
        await once(child, 'message'); // The first says that it is ready.
        return child;
      },
      async dispatch() {
        const broker = await delivery.broker(options);
        const dispatcher = createDispatcher({ record, broker, lookAhead, log: quiet });
        closers.push(() => dispatcher.close());
        dispatcher.wake();
      },
      async flush() {
        const client = new Redis({ path: redis.address });
        await client.flushall();
        client.disconnect();
      },
      until: (condition) => {
        const { promise, resolve } = Promise.withResolvers<void>();
        const look = () => {
          if (!condition(record)) return;
          end();
          resolve();
        };
        const end = record.events.watch(look);
        look();
        return promise;
      },
      story: (taskId) => record.events.ofTask(taskId, 0, 1_000).map((event) => event.type),
    };
  };
}
