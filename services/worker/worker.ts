/** A worker process: joins broker, workspace and agents, and runs attempts until it is stopped. */
import { setTimeout as sleep } from 'node:timers/promises';
import { createAgentPool } from '@taskbridge/agents';
import { connectWorker, type WorkerIdentity } from '@taskbridge/broker';
import { newWorkerId } from '@taskbridge/contract';
import { type Config, hostId, type Log, paths, type Running, redisAddress, version } from '@taskbridge/platform';
import { createWorkspace } from '@taskbridge/workspace';
import { startCourier } from './courier.ts';
import { saveLeftovers } from './leftovers.ts';
import { runAttempt, type WorkerKit } from './run-attempt.ts';
import { cleaner } from './safe-text.ts';
import { takeSeat } from './seat.ts';
import { openSpool } from './spool.ts';

/** How long the broker gives attempts whose lease it ended to save their work and their report, in milliseconds. */
const rescueMs = 15_000;
/** How long a stopping worker waits for Redis and for its agents to be gone, in milliseconds. */
const goodbyeMs = 3_000;

/** The longest a clean stop takes, in milliseconds. */
export const stopMs = (config: Config): number => config.drain_ms + rescueMs + 2 * goodbyeMs;

export async function startWorker(config: Config, log: Log): Promise<Running> {
  const at = paths(config);
  const seat = await takeSeat(at.slots);
  const workspace = createWorkspace({ mirrorsDir: at.mirrors, identity: { name: 'TaskBridge', email: 'taskbridge@localhost' } }, log);
  await saveLeftovers(at.slots, seat, workspace, log);
  const pool = await createAgentPool(
    {
      slotsDir: seat.dir,
      slots: config.worker_slots,
      warm: Math.min(config.worker_warm, config.worker_slots),
      model: modelSettings(config),
      sandbox: config.sandbox,
      maxAgeMs: config.agent_max_age_minutes * 60_000,
      maxMemoryBytes: config.agent_max_memory_mb * 1024 * 1024,
      startTimeoutMs: config.agent_start_ms,
    },
    log,
  );
  const worker: WorkerIdentity = {
    // New for each process, so that nothing said about a dead worker is taken for the living one.
    workerId: newWorkerId(),
    host: hostId(config),
    slots: config.worker_slots,
    versions: { taskbridge: version, node: process.versions.node, git: await workspace.gitVersion(), ...(await pool.versions()) },
  };
  const broker = connectWorker(
    { redis: redisAddress(config), prefix: config.redis_prefix },
    worker,
    { heartbeatMs: config.heartbeat_ms, leaseMs: config.lease_ms },
    log,
  );
  const courier = startCourier({ broker, spool: await openSpool(at.spool, log), log });
  const kit: WorkerKit = { config, log, worker, workspace, pool, courier, clean: cleaner([config.model_api_key ?? '']) };

  await broker.start((lease) => runAttempt(lease, kit));
  log.info({ worker: worker.workerId, host: worker.host, slots: worker.slots, seat: seat.dir }, 'takes attempts');

  return {
    async stop() {
      await broker.drain(config.drain_ms);
      await within(goodbyeMs, Promise.all([courier.close(), pool.close()]));
      await within(goodbyeMs, broker.close());
      seat[Symbol.dispose]();
    },
  };
}

function modelSettings(config: Config) {
  if (config.model === undefined) return undefined;
  return {
    model: config.model,
    baseUrl: config.model_base_url,
    apiKey: config.model_api_key,
    contextTokens: config.model_context_tokens,
    outputTokens: config.model_output_tokens,
    inputPrice: config.model_input_price,
    outputPrice: config.model_output_price,
  };
}

/** Waits for `work`, but no longer than `ms`: a stop must end also when Redis or an agent does not answer. */
const within = (ms: number, work: Promise<unknown>) => Promise.race([work, sleep(ms, undefined, { ref: false })]);
