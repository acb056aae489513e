/** The gateway: the only way in. It checks a request, writes it to the record, and answers from the record. */
import type { AddressInfo } from 'node:net';
import { setTimeout as pause, setImmediate } from 'node:timers/promises';
import { connectBroker } from '@taskbridge/broker';
import { createDispatcher } from '@taskbridge/dispatch';
import { type Config, type Log, paths, type Running, redisAddress } from '@taskbridge/platform';
import { openRecord } from '@taskbridge/record';
import { createHttp } from './http.ts';
import { createMcpEndpoint } from './mcp.ts';
import { createMetrics } from './metrics.ts';
import { readinessOf } from './readiness.ts';
import { watchTasks } from './task-watch.ts';

/** How long a stop waits for calls to be answered, and then for connections to end, each in milliseconds. */
const answerMs = 3_000;
const connectionsMs = 1_000;

const within = (promise: Promise<unknown>, ms: number): Promise<unknown> => Promise.race([promise, pause(ms, undefined, { ref: false })]);

/** Resolves when it listens. */
export async function startGateway(config: Config, log: Log): Promise<Running> {
  const record = openRecord({ dataDir: paths(config).record });
  const broker = connectBroker({ redis: redisAddress(config), prefix: config.redis_prefix }, log);
  const dispatcher = createDispatcher({ record, broker, lookAhead: config.look_ahead, log });
  const watch = watchTasks(record.events);
  const stopping = new AbortController();
  const metrics = createMetrics();
  const mcp = createMcpEndpoint({
    kit: { record, broker, dispatcher, watch, stopping: stopping.signal },
    metrics,
    log,
    bodyLimit: config.body_limit_bytes,
  });
  const app = createHttp({ config, record, mcp, metrics, log, readiness: () => readinessOf(record, broker, stopping.signal) });
  await app.listen({ host: config.gateway_host, port: config.gateway_port });
  const { port } = app.server.address() as AddressInfo;

  return {
    url: `http://${config.gateway_host.includes(':') ? `[${config.gateway_host}]` : config.gateway_host}:${port}`,
    stop: async () => {
      // No new connection from here on; waiting calls answer what they know.
      const closed = app.close();
      stopping.abort();
      await within(mcp.idle(), answerMs);
      // One turn, so that the last answers are in their streams before those are ended.
      await setImmediate();
      await mcp.handler.close();
      await within(closed, connectionsMs);
      app.server.closeAllConnections();
      await closed;
      watch.close();
      await dispatcher.close();
      await broker.close();
      record.close();
    },
  };
}
