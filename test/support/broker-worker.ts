/** A worker in a process of its own, for tests that stop or kill one. Tells its parent when an attempt begins and when its lease ends. */
import { type BrokerOptions, connectWorker, type WorkerIdentity } from '@taskbridge/broker';
import { pino } from 'pino';

export interface WorkerSettings {
  options: BrokerOptions;
  identity: WorkerIdentity;
  timing: { heartbeatMs: number; leaseMs: number };
}
export type WorkerMessage = { type: 'ready' } | { type: 'begun'; attemptId: string } | { type: 'ended'; attemptId: string; reason: string };

const { options, identity, timing } = JSON.parse(process.argv[2] ?? '') as WorkerSettings;
const tell = (message: WorkerMessage) => process.send?.(message);
const worker = connectWorker(options, identity, timing, pino({ level: 'silent' }));
process.on('disconnect', () => process.exit(0));
await worker.start(async ({ job, signal, fact }) => {
  const { workerId, host } = identity;
  fact({ type: 'attempt.started', attemptId: job.attemptId, fence: job.fence, at: Date.now(), workerId, host });
  tell({ type: 'begun', attemptId: job.attemptId });
  const reason = await new Promise<string>((resolve) => signal.addEventListener('abort', () => resolve(String(signal.reason))));
  tell({ type: 'ended', attemptId: job.attemptId, reason });
});
tell({ type: 'ready' });
