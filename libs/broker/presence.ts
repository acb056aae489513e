/** Who is there: a key per worker that expires, and a set of their ids. */
import { type Presence, presenceSchema } from '@taskbridge/contract';
import { type Line, newsText } from './line.ts';
import { all } from './reports.ts';

/** Heartbeats that may be missed before a worker counts as gone. */
const missedBeats = 3;

/** Says that a worker is there, and which queues it reads; `changed` wakes whoever waits for a free slot. */
export async function announce(line: Line, presence: Presence, queues: string[], heartbeatMs: number, changed: boolean): Promise<void> {
  const { keys } = line;
  const transaction = line.client
    .multi()
    .sadd(keys.queues, ...queues)
    .sadd(keys.workers, presence.workerId)
    .set(keys.presence(presence.workerId), JSON.stringify(presence), 'PX', missedBeats * heartbeatMs);
  if (changed) transaction.publish(keys.news, newsText('workers', presence.workerId));
  const [queuesAdded] = await all(transaction);
  if (queuesAdded !== 0) await line.client.publish(keys.news, newsText('queues', presence.workerId));
}

/** Says that a worker has left. */
export async function withdraw(line: Line, workerId: string): Promise<void> {
  const { keys } = line;
  await all(
    line.client.multi().del(keys.presence(workerId)).srem(keys.workers, workerId).publish(keys.news, newsText('workers', workerId)),
  );
}

/** The living workers, and in how many milliseconds the next of them would expire. */
export async function readWorkers(line: Line): Promise<{ workers: Presence[]; nextExpiryMs: number | undefined }> {
  const { client, keys } = line;
  const ids = await client.smembers(keys.workers);
  if (ids.length === 0) return { workers: [], nextExpiryMs: undefined };
  const reads = client.pipeline();
  for (const id of ids) reads.get(keys.presence(id)).pttl(keys.presence(id));
  const values = await all(reads);
  const workers: Presence[] = [];
  const gone: string[] = [];
  let nextExpiryMs: number | undefined;
  for (const [at, id] of ids.entries()) {
    const text = values[2 * at];
    const ttl = Number(values[2 * at + 1]);
    if (typeof text !== 'string') {
      gone.push(id);
      continue;
    }
    if (ttl > 0) nextExpiryMs = Math.min(nextExpiryMs ?? ttl, ttl);
    // A worker of another version that we can't read gets no work counted on it, and stops nobody else's.
    const { data } = presenceSchema.safeParse(JSON.parse(text));
    if (data) workers.push(data);
  }
  if (gone.length > 0) await client.srem(keys.workers, ...gone);
  return { workers, nextExpiryMs };
}

/**
 * Calls back when a worker appears, leaves, changes or falls silent. Redis tells of an expired key only if configured to,
 * so a look is taken when the next presence would have expired.
 */
export function watchWorkers(line: Line, onChange: () => void): { end(): void } {
  let timer: NodeJS.Timeout | undefined;
  let known: string | undefined;
  let ended = false;
  const look = async () => {
    clearTimeout(timer);
    if (ended || !line.ready) return;
    try {
      const { workers, nextExpiryMs } = await readWorkers(line);
      const now = workers
        .map((worker) => worker.workerId)
        .sort()
        .join();
      if (known !== undefined && known !== now) onChange();
      known = now;
      if (ended || nextExpiryMs === undefined) return;
      clearTimeout(timer);
      timer = setTimeout(look, nextExpiryMs + 20);
    } catch {
      // Redis went away; the next look is when it is back.
    }
  };
  line.onReady(() => void look());
  line.onNews(({ type }) => {
    if (type !== 'workers' || ended) return;
    onChange();
    void look();
  });
  return {
    end() {
      ended = true;
      clearTimeout(timer);
    },
  };
}
