/** The whole of TaskBridge for one test: real Redis, real services as processes, a scripted model, a repository of its own. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type RedisServer, startRedisServer } from '@taskbridge/broker';
import { isTerminal } from '@taskbridge/contract';
import { openRecord, type Principal, type TaskRecord } from '@taskbridge/record';
import { type ModelServer, startModelServer } from '../model-server/index.ts';
import type { Scenario } from '../model-server/scenario.ts';
import { connectPlanner, type Planner } from './client.ts';
import { fingerprint, git, sampleRepository } from './repo.ts';
import { type Service, type ServiceName, startService } from './service.ts';

export interface StackOptions {
  workers?: number;
  slots?: number;
  scenarios?: Scenario[];
  env?: Record<string, string>;
  /** Leaves Redis unstarted: the test starts it with `startRedis`. */
  redis?: boolean;
}

export interface Stack extends AsyncDisposable {
  readonly dir: string;
  readonly repository: string;
  readonly model: ModelServer;
  readonly mcpUrl: string;
  readonly token: string;
  readonly planner: Planner;
  /** The record, opened by the test itself, to look at what is really there. */
  readonly record: TaskRecord;
  readonly services: Map<string, Service>;
  redis: RedisServer | undefined;
  startRedis(): Promise<RedisServer>;
  /** Starts a service (again) under a name such as `worker-2`. */
  start(name: ServiceName, as?: string): Promise<Service>;
  /** Resolves once the task has ended, woken by the record itself. */
  settled(taskId: string): Promise<void>;
  /** A file as it stands on a ref of the project's mirror. */
  mirrorFile(ref: string, file: string): Promise<string>;
  /** Everything of the user's repository but what TaskBridge may publish. */
  fingerprint(): Promise<string>;
}

export const operator: Principal = { clientId: 'c_test', clientName: 'test', operator: true };

/** A free-standing stack in a temp folder. Disposing it stops every process and removes the folder. */
export async function startStack(options: StackOptions = {}): Promise<Stack> {
  // Short, since a unix socket's path may hold about a hundred characters.
  const dir = await mkdtemp(join(tmpdir(), 'tb-'));
  const data = join(dir, 'data');
  const repository = join(dir, 'repo');
  await sampleRepository(repository);
  const model = await startModelServer({ scenarios: options.scenarios ?? [] });
  const record = openRecord({ dataDir: join(data, 'record') });
  record.projects.add({ name: 'sample', source: repository, kind: 'path', host: 'test-host', baseBranch: 'main', checks: [] }, 'test');
  const { token } = record.tokens.create('planner', { operator: false }, 'test');

  const redisDir = join(data, 'redis');
  const env: Record<string, string> = {
    TASKBRIDGE_DATA_DIR: data,
    TASKBRIDGE_REDIS_URL: join(redisDir, 'redis.sock'),
    TASKBRIDGE_HOST_ID: 'test-host',
    TASKBRIDGE_GATEWAY_PORT: '0',
    TASKBRIDGE_BOARD_PORT: '0',
    TASKBRIDGE_WORKER_SLOTS: String(options.slots ?? 2),
    TASKBRIDGE_MODEL: 'scripted/model',
    TASKBRIDGE_MODEL_BASE_URL: model.baseUrl,
    TASKBRIDGE_MODEL_API_KEY: 'sk-scripted-model-key-0000',
    TASKBRIDGE_MODEL_INPUT_PRICE: '1',
    TASKBRIDGE_MODEL_OUTPUT_PRICE: '2',
    TASKBRIDGE_LOG_FORMAT: 'json',
    ...options.env,
  };
  const services = new Map<string, Service>();
  const servers: RedisServer[] = [];
  const startRedis = async () => {
    const server = await startRedisServer({ dir: redisDir });
    servers.push(server);
    stack.redis = server;
    return server;
  };
  const start = async (name: ServiceName, as: string = name) => {
    const service = await startService(name, env, join(dir, `${as}.log`));
    services.set(as, service);
    return service;
  };
  const stack = { dir, repository, model, token, record, services, startRedis, start, redis: undefined } as unknown as {
    -readonly [K in keyof Stack]: Stack[K];
  };

  if (options.redis !== false) await startRedis();
  const workers = Array.from({ length: options.workers ?? 1 }, (_, i) => start('worker', `worker-${i + 1}`));
  const [gateway] = await Promise.all([start('gateway'), start('reaper'), ...workers]);
  stack.mcpUrl = `${gateway.url}/mcp`;
  stack.planner = await connectPlanner(stack.mcpUrl, token);
  stack.settled = (taskId) =>
    new Promise<void>((resolve) => {
      const look = () => {
        if (!isTerminal(record.tasks.get(operator, taskId).state)) return;
        unwatch();
        resolve();
      };
      const unwatch = record.events.watch(look);
      look();
    });
  stack.mirrorFile = async (ref, file) => {
    const [project] = record.projects.list();
    return (await git(join(data, 'worker', 'mirrors', `${project?.id}.git`), 'show', `${ref}:${file}`)).stdout;
  };
  stack.fingerprint = () => fingerprint(repository, { withoutTaskBranches: true });
  stack[Symbol.asyncDispose] = async () => {
    await stack.planner[Symbol.asyncDispose]();
    await Promise.all(
      [...services.values()].map(async (service) => {
        service.signal('SIGCONT');
        await service.kill('SIGTERM');
      }),
    );
    for (const server of servers) await server.stop();
    await model.close();
    record.close();
    await rm(dir, { recursive: true, force: true, maxRetries: 5 });
  };
  return stack;
}
