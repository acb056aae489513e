/** The record's side: puts attempts into their queues, and reads what workers left. */
import type { Log } from '@taskbridge/platform';
import { Queue } from 'bullmq';
import { markerSeconds } from './keys.ts';
import { newsText, openLine } from './line.ts';
import { readLog } from './log-stream.ts';
import { readWorkers, watchWorkers } from './presence.ts';
import { acknowledge, readReport } from './reports.ts';
import type { Broker, BrokerOptions, JobState } from './types.ts';

const jobStates: Record<string, JobState> = { active: 'active', completed: 'completed', failed: 'failed', unknown: 'absent' };

/** Connects in the background: the broker is usable at once, and rejects until Redis answers. */
export function connectBroker(options: BrokerOptions, log: Log): Broker {
  const line = openLine(options, log);
  const { client, keys } = line;
  const queues = new Map<string, Queue>();
  const workersListeners = new Set<() => void>();
  let watch: ReturnType<typeof watchWorkers> | undefined;

  const queueNamed = (name: string): Queue => {
    let queue = queues.get(name);
    if (queue === undefined) {
      queue = new Queue(name, {
        connection: client,
        prefix: options.prefix,
        // Each would wait for Redis; the line already knows whether it is there.
        skipWaitingForReady: true,
        skipVersionCheck: true,
        skipMetasUpdate: true,
      });
      // Every call's own promise rejects as well.
      queue.on('error', (err) => log.debug({ err, queue: name }, 'queue'));
      queues.set(name, queue);
    }
    return queue;
  };

  return {
    get ready() {
      return line.ready;
    },
    onReady: (listener) => void line.onReady(listener),
    async enqueue(name, job) {
      const added = await client.sadd(keys.queues, name);
      if (added !== 0) await client.publish(keys.news, newsText('queues', name));
      // The record's side forgets ended jobs; one that was left behind goes when its markers do.
      const kept = { age: markerSeconds };
      await queueNamed(name).add('attempt', job, { jobId: job.attemptId, attempts: 1, removeOnComplete: kept, removeOnFail: kept });
    },
    async cancel(name, attemptId) {
      // The marker first: whoever begins the job from here on refuses it.
      await client.set(keys.cancelled(attemptId), '1', 'EX', markerSeconds);
      await queueNamed(name).remove(attemptId);
      await client.publish(keys.news, newsText('cancel', attemptId));
    },
    async jobState(name, attemptId) {
      return jobStates[await queueNamed(name).getJobState(attemptId)] ?? 'waiting';
    },
    async forget(name, attemptId) {
      await queueNamed(name).remove(attemptId);
    },
    workers: async () => (await readWorkers(line)).workers,
    onWorkers(listener) {
      workersListeners.add(listener);
      watch ??= watchWorkers(line, () => {
        for (const each of workersListeners) each();
      });
    },
    waitingReports: () => client.smembers(keys.reports),
    readReport: (attemptId) => readReport(line, attemptId),
    acknowledge: (attemptId) => acknowledge(line, attemptId),
    readLog: (attemptId, after, limit) => readLog(line, attemptId, after, limit),
    watchLog: (attemptId, onLines) => line.subscribe(keys.log(attemptId), onLines),
    async close() {
      watch?.end();
      line.close();
    },
  };
}
