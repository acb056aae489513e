/** Brings the whole stack up on one machine, keeps it up, and takes it down in order. */
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type Config, paths } from '@taskbridge/platform';
import { acquireInstanceLock } from '@taskbridge/record';
import { CliError } from '../errors.ts';
import { useRecord } from '../local-record.ts';
import { ensureOperatorToken } from '../operator-token.ts';
import { bubblewrapPackage, ensureSystemPackage, gitPackage, redisPackage } from '../system-packages.ts';
import { removeAddresses, writeAddresses } from './address-file.ts';
import { type Child, type ChildHost, createChild } from './child.ts';
import { graceMs } from './grace.ts';
import { endLeftovers, stackMark } from './leftovers.ts';
import { claimPorts, freePort } from './ports.ts';

const root = fileURLToPath(new URL('../../../', import.meta.url));

const redisName = 'redis';

export interface SupervisorOptions {
  config: Config;
  /** The environment the configuration came from; the services get it too. */
  env: NodeJS.ProcessEnv;
  host: ChildHost;
  /** Starts the practice model and points the worker at it. */
  practiceModel: boolean;
  /** One line for a person about something that takes a while or is missing. */
  say(line: string): void;
}

export interface Stack {
  mcpUrl: string;
  boardUrl: string;
  /** The operator's. */
  token: string;
}

export interface Supervisor {
  /** Resolves when everything serves. @throws CliError, ConfigError, ChildFailed; what had been started is stopped then */
  start(): Promise<Stack>;
  /** Services first (the worker drains), then what they lean on. Safe to call at any time. */
  stop(): Promise<void>;
  /** Ends every process at once. */
  kill(): void;
}

export function createSupervisor(options: SupervisorOptions): Supervisor {
  const { config, host, say } = options;
  /** In the order they are started; they are stopped the other way round, a group at a time. */
  const groups: Child[][] = [];
  let release: (() => void) | undefined;
  let stopped: Promise<void> | undefined;

  /** Every process gets the settings, but the model's key only the worker and the token none. */
  const environment = (extra: NodeJS.ProcessEnv = {}): NodeJS.ProcessEnv => {
    const { TASKBRIDGE_MODEL_API_KEY: _key, TASKBRIDGE_TOKEN: _token, ...env } = options.env;
    return { ...env, TASKBRIDGE_DATA_DIR: config.data_dir, ...extra };
  };

  const child = (name: string, script: string, env: NodeJS.ProcessEnv, args: string[] = []) =>
    createChild({ name, script: join(root, script), args: [...args, stackMark(config.data_dir)], env, stopMs: graceMs(config) }, host);

  const practiceModel = async () => child('model', 'test/model-server/main.ts', environment(), [`--port=${await freePort('127.0.0.1')}`]);

  const startGroup = async (...children: (Child | undefined)[]) => {
    if (stopped) throw new CliError('The start was given up.');
    const group = children.filter((one) => one !== undefined);
    groups.push(group);
    await Promise.all(group.map((one) => one.start()));
  };

  const prepare = async () => {
    const lock = acquireInstanceLock(paths(config).instanceLock);
    if ('heldByPid' in lock) {
      throw new CliError(
        `A TaskBridge stack runs on ${config.data_dir} already (process ${lock.heldByPid}). Stop that one, or set TASKBRIDGE_DATA_DIR to another folder.`,
      );
    }
    release = lock.release;
    const missingGit = await ensureSystemPackage(gitPackage, say);
    if (missingGit) throw new CliError(`${missingGit}.`);
    const missingRedis = config.redis_url ? undefined : await ensureSystemPackage(redisPackage, say);
    if (missingRedis) throw new CliError(`${missingRedis}. Or set REDIS_URL to one that runs.`);
    if (process.platform === 'linux' && config.sandbox !== 'off') {
      const missing = await ensureSystemPackage(bubblewrapPackage, say);
      if (missing) say(`${missing}. Agents run without it.`);
    }
    await endLeftovers(config.data_dir, graceMs(config), say);
    const ports = await claimPorts(config);
    return { ports, token: await useRecord(config, (record) => ensureOperatorToken(config, record)) };
  };

  const stop = async () => {
    for (const group of groups.reverse()) await Promise.all(group.map((one) => one.stop()));
    // Without the lock they are another stack's.
    if (!release) return;
    removeAddresses(config);
    release();
  };

  const supervisor: Supervisor = {
    start: async () => {
      try {
        const { token, ports } = await prepare();
        const redis = config.redis_url ? undefined : child(redisName, 'libs/cli/supervisor/redis-keeper.ts', environment());
        const model = options.practiceModel ? await practiceModel() : undefined;
        await startGroup(redis, model);
        // Its socket stands elsewhere when the path of the data folder is too long for one.
        const shared = environment(redis ? { TASKBRIDGE_REDIS_URL: redis.url } : {});
        const modelSettings = model?.url
          ? practiceSettings(model.url)
          : { TASKBRIDGE_MODEL_API_KEY: options.env['TASKBRIDGE_MODEL_API_KEY'] };
        await startGroup(child('reaper', 'services/reaper/main.ts', shared));
        const gateway = child('gateway', 'services/gateway/main.ts', { ...shared, TASKBRIDGE_GATEWAY_PORT: String(ports.gateway) });
        const board = child('board', 'services/board/main.ts', { ...shared, TASKBRIDGE_BOARD_PORT: String(ports.board) });
        await startGroup(gateway, board, child('worker', 'services/worker/main.ts', { ...shared, ...modelSettings }));
        const stack = { mcpUrl: `${gateway.url}/mcp`, boardUrl: `${board.url}`, token };
        writeAddresses(config, { pid: process.pid, mcpUrl: stack.mcpUrl, boardUrl: stack.boardUrl });
        return stack;
      } catch (error) {
        await supervisor.stop();
        throw error;
      }
    },
    stop: () => (stopped ??= stop()),
    kill: () => {
      // Redis is ended cleanly by its keeper, which misses this process at once.
      for (const one of groups.flat()) if (one.name !== redisName) one.kill();
      release?.();
    },
  };
  return supervisor;
}

/** What the worker is told to use the practice model. */
const practiceSettings = (url: string): NodeJS.ProcessEnv => ({
  TASKBRIDGE_MODEL: 'practice/scripted',
  TASKBRIDGE_MODEL_BASE_URL: url,
  // It asks for none; a word of the agent's own text would be redacted as a secret.
  TASKBRIDGE_MODEL_API_KEY: 'tbk-no-key-is-needed',
  TASKBRIDGE_MODEL_INPUT_PRICE: '0',
  TASKBRIDGE_MODEL_OUTPUT_PRICE: '0',
});
