/** A real worker for a test: its process, Redis, git, OpenCode and a scripted model; the record's side is played by the test. */
import { execFile } from 'node:child_process';
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { type Broker, connectBroker, type Listening, listen, type Parcel, type RedisServer, startRedisServer } from '@taskbridge/broker';
import {
  type AttemptJob,
  attemptId,
  attemptJobSchema,
  type Fact,
  hostQueue,
  newTaskId,
  type Report,
  taskBranch,
} from '@taskbridge/contract';
import { createLog } from '@taskbridge/platform';
import { type ModelServer, startModelServer } from '../model-server/index.ts';
import type { Scenario } from '../model-server/scenario.ts';
import { fingerprint, sampleRepository } from './repo.ts';
import { type Service, startService } from './service.ts';

const run = promisify(execFile);
const host = 'test-host';
const queue = hostQueue(host);
export const modelKey = 'sk-scripted-model-key-0000';

export interface Returned {
  report: Report;
  parcels: Parcel[];
  /** A parcel's content as text; fails when there is none of this name. */
  text(name: string): string;
}

export interface WorkerStage extends AsyncDisposable {
  readonly dir: string;
  readonly repository: string;
  readonly model: ModelServer;
  readonly broker: Broker;
  readonly facts: Fact[];
  redis: RedisServer;
  worker: Service;
  startRedis(): Promise<void>;
  startWorker(): Promise<void>;
  /** Hands an attempt to the worker. */
  submit(goal: string, job?: { contract?: Record<string, unknown>; project?: Record<string, unknown> }): Promise<AttemptJob>;
  cancel(job: AttemptJob): Promise<void>;
  /** Resolves with the first fact that fits. */
  fact(fits: (fact: Fact) => boolean): Promise<Fact>;
  /** Resolves when the report waits with the broker, and leaves it there. */
  waiting(job: AttemptJob): Promise<Returned>;
  /** Resolves with the report, and acknowledges it as the record would. */
  returned(job: AttemptJob): Promise<Returned>;
  /** Names of the files in the worker's spool. */
  spool(): Promise<string[]>;
  /** Resolves when `condition` holds; asked again as things happen, and ten times a second. */
  until(condition: () => boolean | Promise<boolean>): Promise<void>;
  /** What git says in the user's repository, or in the worker's mirror of it. */
  git(...args: string[]): Promise<string>;
  mirrorGit(...args: string[]): Promise<string>;
  /** The user's repository but for what TaskBridge may publish. */
  fingerprint(): Promise<string>;
}

export interface StageOptions {
  scenarios: Scenario[];
  env?: Record<string, string>;
}

export async function startWorkerStage({ scenarios, env }: StageOptions): Promise<WorkerStage> {
  // Short, since a unix socket's path may hold about a hundred characters.
  const dir = await mkdtemp(join(tmpdir(), 'tb-w-'));
  const repository = join(dir, 'repo');
  await sampleRepository(repository);
  const model = await startModelServer({ scenarios });
  const redisDir = join(dir, 'redis');
  const redis = await startRedisServer({ dir: redisDir });
  const options = { redis: redis.address, prefix: 'tb' };
  const log = createLog('test', { log_format: 'json', log_level: 'error' });
  const broker = connectBroker(options, log);
  const facts: Fact[] = [];
  const listeners = new Set<() => void>();
  const happened = () => {
    for (const listener of listeners) listener();
  };
  const listening: Listening = await listen(
    options,
    undefined,
    {
      onFact: (fact) => {
        facts.push(fact);
        happened();
      },
      onReport: happened,
      onStalled: happened,
    },
    () => undefined,
    log,
  );
  const workerEnv = {
    TASKBRIDGE_DATA_DIR: join(dir, 'data'),
    TASKBRIDGE_REDIS_URL: redis.address,
    TASKBRIDGE_HOST_ID: host,
    TASKBRIDGE_MODEL: 'scripted/model',
    TASKBRIDGE_MODEL_BASE_URL: model.baseUrl,
    TASKBRIDGE_MODEL_API_KEY: modelKey,
    TASKBRIDGE_MODEL_INPUT_PRICE: '1',
    TASKBRIDGE_MODEL_OUTPUT_PRICE: '2',
    TASKBRIDGE_LOG_FORMAT: 'json',
    ...env,
  };
  const until: WorkerStage['until'] = async (condition) => {
    for (;;) {
      const { promise, resolve } = Promise.withResolvers<void>();
      listeners.add(resolve);
      const met = await condition();
      if (!met) await Promise.race([promise, sleep(100)]);
      listeners.delete(resolve);
      if (met) return;
    }
  };
  const readWaiting = async (job: AttemptJob): Promise<Returned> => {
    let found: Awaited<ReturnType<Broker['readReport']>>;
    await until(async () => {
      found = await broker.readReport(job.attemptId).catch(() => undefined);
      return found !== undefined;
    });
    const { report, parcels } = found as NonNullable<typeof found>;
    const text = (name: string) => {
      const parcel = parcels.find((p) => p.name === name);
      if (!parcel) throw new Error(`no parcel ${name} among ${parcels.map((p) => p.name).join(', ')}: ${report.detail}`);
      return parcel.content.toString('utf8');
    };
    return { report, parcels, text };
  };
  const git = async (at: string, ...args: string[]) => (await run('git', ['-C', at, ...args])).stdout.trim();
  let projectId = '';

  const stage: WorkerStage = {
    dir,
    repository,
    model,
    broker,
    facts,
    redis,
    worker: undefined as unknown as Service,
    async startRedis() {
      stage.redis = await startRedisServer({ dir: redisDir });
    },
    async startWorker() {
      stage.worker = await startService('worker', workerEnv, join(dir, 'worker.log'));
    },
    async submit(goal, { contract, project } = {}) {
      const taskId = newTaskId();
      const job = attemptJobSchema.parse({
        attemptId: attemptId(taskId, 1),
        taskId,
        number: 1,
        fence: 1,
        title: goal,
        clientId: 'c_test',
        project: { id: 'p_sample', name: 'sample', source: repository, kind: 'path', host, baseBranch: 'main', ...project },
        contract: { goal, ...contract },
        branch: taskBranch(goal, taskId),
        dependencyCommits: [],
      });
      projectId = job.project.id;
      await broker.enqueue(queue, job);
      return job;
    },
    cancel: (job) => broker.cancel(queue, job.attemptId),
    async fact(fits) {
      await until(() => facts.some(fits));
      return facts.find(fits) as Fact;
    },
    waiting: readWaiting,
    async returned(job) {
      const returned = await readWaiting(job);
      await broker.acknowledge(job.attemptId);
      await broker.forget(queue, job.attemptId);
      return returned;
    },
    spool: () => readdir(join(dir, 'data', 'worker', 'spool')),
    until,
    git: (...args) => git(repository, ...args),
    mirrorGit: (...args) => git(join(dir, 'data', 'worker', 'mirrors', `${projectId}.git`), ...args),
    fingerprint: () => fingerprint(repository, { withoutTaskBranches: true }),
    async [Symbol.asyncDispose]() {
      stage.worker.signal('SIGCONT');
      await stage.worker.kill('SIGTERM');
      await listening.close();
      await broker.close();
      await stage.redis.stop();
      await model.close();
      await rm(dir, { recursive: true, force: true, maxRetries: 5 });
    },
  };
  await new Promise<void>((ready) => broker.onReady(ready));
  await stage.startWorker();
  return stage;
}
