/** The server of one slot: started when needed, kept warm, replaced when it is old, big, broken or bound to another project. */
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { AttemptFailure } from '@taskbridge/contract';
import type { Log } from '@taskbridge/platform';
import type { ModelRelay, RelayKey } from './model-relay.ts';
import { type OpencodeServer, startServer } from './opencode-server.ts';
import { workingBubblewrap } from './sandbox.ts';
import type { AgentPoolOptions } from './types.ts';

export interface Workplace {
  gitDir: string;
  projectId: string;
}

export interface Warm {
  server: OpencodeServer;
  relayKey: RelayKey | undefined;
  projectId: string;
  sandboxed: boolean;
}

export interface SlotServer {
  readonly dir: string;
  /** What stands ready now. */
  warm(): Warm | undefined;
  /** A server for the workplace, the one that stands ready if it fits. @throws AttemptFailure agent_start_failed, sandbox_unavailable, model_not_configured */
  serve(workplace: Workplace): Promise<Warm>;
  /** True when the server may serve another attempt. */
  fit(): Promise<boolean>;
  stop(): Promise<void>;
}

export function createSlotServer(dir: string, options: AgentPoolOptions, relay: ModelRelay | undefined, log: Log): SlotServer {
  let current: Warm | undefined;
  /** Whose sessions stand in the slot's home. */
  let homeOf: string | undefined;
  /** One start or stop at a time: a start ahead may still be under way when the slot is taken. */
  let last: Promise<unknown> = Promise.resolve();
  const inTurn = <T>(work: () => Promise<T>): Promise<T> => {
    const mine = last.then(work);
    last = mine.catch(() => undefined);
    return mine;
  };

  const start = async ({ gitDir, projectId }: Workplace): Promise<Warm> => {
    const { model } = options;
    if (!model) throw new AttemptFailure('model_not_configured', 'No model is configured.');
    const bubblewrap = options.sandbox === 'off' ? undefined : await workingBubblewrap();
    if (options.sandbox === 'required' && !bubblewrap)
      throw new AttemptFailure('sandbox_unavailable', 'bubblewrap is missing or does not work here.');
    // Another project's sessions are nobody's business here.
    if (homeOf !== projectId) await rm(join(dir, 'home'), { recursive: true, force: true });
    homeOf = projectId;
    const relayKey = relay?.issueKey();
    const endpoint = relay && relayKey ? { baseUrl: relay.baseUrl, key: relayKey.key } : { baseUrl: model.baseUrl, key: model.apiKey };
    const began = Date.now();
    const server = await startServer({
      slotDir: dir,
      gitDir,
      model,
      endpoint,
      sandboxed: bubblewrap !== undefined,
      startTimeoutMs: options.startTimeoutMs,
    });
    log.debug({ slot: dir, ms: Date.now() - began }, 'OpenCode server started');
    return { server, relayKey, projectId, sandboxed: bubblewrap !== undefined };
  };
  const stop = async () => {
    const old = current;
    current = undefined;
    old?.relayKey?.revoke();
    await old?.server.stop();
  };
  const fit = async (): Promise<boolean> => {
    const server = current?.server;
    if (!server?.alive || Date.now() - server.startedAt > options.maxAgeMs) return false;
    return (await server.memory()) <= options.maxMemoryBytes;
  };

  return {
    dir,
    warm: () => current,
    fit,
    serve: (workplace) =>
      inTurn(async () => {
        if (current && current.projectId === workplace.projectId && current.server.gitDir === workplace.gitDir && (await fit()))
          return current;
        await stop();
        current = await start(workplace);
        return current;
      }),
    stop: () => inTurn(stop),
  };
}
