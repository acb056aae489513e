/** The pool of slots: gives out the one that is warm for the project, keeps some servers started ahead, ends them all at the end. */
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Log } from '@taskbridge/platform';
import { createAgent } from './agent.ts';
import { type ModelRelay, startModelRelay } from './model-relay.ts';
import { opencodeVersion } from './opencode-config.ts';
import { workingBubblewrap } from './sandbox.ts';
import { createSlotServer, type SlotServer, type Workplace } from './slot-server.ts';
import type { AgentPool, AgentPoolOptions, ModelSettings, Slot } from './types.ts';

interface Place {
  server: SlotServer;
  busy: boolean;
  lastUsed: number;
}

/** Starts the pool. Servers for the project that was served last are started ahead. */
export async function createAgentPool(options: AgentPoolOptions, log: Log): Promise<AgentPool> {
  const { model } = options;
  const relay: ModelRelay | undefined = model?.baseUrl
    ? await startModelRelay({ baseUrl: model.baseUrl, apiKey: model.apiKey })
    : undefined;
  const lastFile = join(options.slotsDir, 'last-workplace.json');
  const places: Place[] = [];
  for (let n = 0; n < options.slots; n += 1) {
    const dir = join(options.slotsDir, String(n));
    await mkdir(dir, { recursive: true, mode: 0o700 });
    places.push({ server: createSlotServer(dir, options, relay, log), busy: false, lastUsed: 0 });
  }
  const waiting: (() => void)[] = [];
  let closed = false;

  /** Fills up to `warm` idle servers for the workplace. Its failure is no attempt's: the next start tells. */
  const startAhead = (workplace: Workplace): void => {
    if (closed || !model) return;
    const idle = places.filter((place) => !place.busy);
    const missing = options.warm - idle.filter((place) => place.server.warm()?.server.alive).length;
    for (const place of idle.filter((p) => !p.server.warm()?.server.alive).slice(0, Math.max(0, missing))) {
      place.server.serve(workplace).catch((err: unknown) => log.warn({ err }, 'no server could be started ahead'));
    }
  };

  /** Warm for this project, else empty, else the one that was used longest ago. */
  const best = (projectId: string): Place | undefined => {
    const rank = ({ server }: Place): number => {
      const warm = server.warm();
      if (warm?.projectId === projectId && warm.server.alive) return 0;
      return warm ? 2 : 1;
    };
    return places.filter((place) => !place.busy).toSorted((a, b) => rank(a) - rank(b) || a.lastUsed - b.lastUsed)[0];
  };

  const release = async (place: Place, workplace: Workplace | undefined, sound: boolean): Promise<void> => {
    try {
      if (sound) await place.server.warm()?.server.endLeftovers();
      const idleWarm = places.filter((p) => !p.busy && p.server.warm()?.server.alive).length;
      if (!sound || idleWarm >= options.warm || !(await place.server.fit())) await place.server.stop();
    } finally {
      place.busy = false;
      place.lastUsed = Date.now();
      waiting.shift()?.();
      if (workplace) startAhead(workplace);
    }
  };

  const take = async (projectId: string): Promise<Slot> => {
    for (let place = best(projectId); ; place = best(projectId)) {
      if (!place) {
        await new Promise<void>((resolve) => void waiting.push(resolve));
        continue;
      }
      const taken = place;
      taken.busy = true;
      let workplace: Workplace | undefined;
      let sound = true;
      return {
        treePath: join(taken.server.dir, 'tree'),
        agent: async (wanted) => {
          workplace = wanted;
          const warm = await taken.server.serve(wanted);
          await writeFile(lastFile, JSON.stringify(wanted));
          const agent = createAgent(warm, model as ModelSettings);
          return {
            ...agent,
            work: async (request) => {
              // Until it is known to have come to rest, the server may still be at work: then only its end is the end of it.
              sound = false;
              const work = await agent.work(request);
              sound = true;
              return work;
            },
          };
        },
        [Symbol.asyncDispose]: () => release(taken, workplace, sound),
      };
    }
  };

  const last = await readLast(lastFile);
  if (last) startAhead(last);
  return {
    take,
    versions: async () => {
      const bubblewrap = await workingBubblewrap();
      return { opencode: opencodeVersion(), ...(bubblewrap ? { bubblewrap } : {}) };
    },
    close: async () => {
      closed = true;
      await Promise.all(places.map((place) => place.server.stop()));
      await relay?.close();
    },
  };
}

async function readLast(file: string): Promise<Workplace | undefined> {
  try {
    return JSON.parse(await readFile(file, 'utf8')) as Workplace;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT' || error instanceof SyntaxError) return undefined;
    throw error;
  }
}
