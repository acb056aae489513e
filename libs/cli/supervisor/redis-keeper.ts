/**
 * Keeps the private Redis as a service like the others, so that it is restarted and stopped like them.
 * It outlives a supervisor that was killed until the other services have ended, then shuts Redis down.
 */
import { startRedisServer } from '@taskbridge/broker';
import { paths, runService } from '@taskbridge/platform';
import { graceMs } from './grace.ts';
import { untilGone } from './leftovers.ts';

/** Longest time Redis itself takes to end, with room, in milliseconds. */
const redisStopMs = 10_000;

await runService(
  'redis',
  async (config, log) => {
    const server = await startRedisServer({ dir: paths(config).redis, log });
    let stopping = false;
    server.exited.then((how) => {
      if (stopping) return;
      log.error(how, 'redis-server ended');
      process.exit(1);
    });
    return {
      url: server.address,
      stop: async () => {
        // The supervisor stops services in order; without it they all stop at once, and a worker that drains still needs the queue.
        if (!process.connected) await untilGone(config.data_dir, graceMs(config));
        stopping = true;
        await server.stop();
      },
    };
  },
  (config) => graceMs(config) + redisStopMs,
);
