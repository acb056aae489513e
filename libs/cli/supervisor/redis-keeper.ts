/**
 * Keeps the private Redis as a service like the others, so that it is restarted and stopped like them.
 * It outlives a supervisor that was killed just long enough to shut Redis down.
 */
import { startRedisServer } from '@taskbridge/broker';
import { paths, runService } from '@taskbridge/platform';

await runService('redis', async (config, log) => {
  const server = await startRedisServer({ dir: paths(config).redis, log });
  let stopping = false;
  server.exited.then((how) => {
    if (stopping) return;
    log.error(how, 'redis-server ended');
    process.exit(1);
  });
  return {
    url: server.address,
    stop: () => {
      stopping = true;
      return server.stop();
    },
  };
});
