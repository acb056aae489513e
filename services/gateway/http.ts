/** The gateway's HTTP side: /mcp for clients; /health, /ready and /metrics for whoever runs it. */
import { toNodeHandler } from '@modelcontextprotocol/node';
import { ApiError } from '@taskbridge/contract';
import type { Config, Log } from '@taskbridge/platform';
import type { TaskRecord } from '@taskbridge/record';
import Fastify, { type FastifyError, type FastifyInstance } from 'fastify';
import { errorBody, guardNames, requireToken } from './guard.ts';
import type { McpEndpoint } from './mcp.ts';
import type { Metrics } from './metrics.ts';
import type { Readiness } from './readiness.ts';

/** How long a client may take to send a request, in milliseconds. */
const requestMs = 60_000;

interface Parts {
  config: Config;
  record: Pick<TaskRecord, 'tokens'>;
  mcp: McpEndpoint;
  metrics: Metrics;
  readiness: () => Readiness;
  log: Log;
}

export function createHttp({ config, record, mcp, metrics, readiness, log }: Parts): FastifyInstance {
  const app = Fastify({ forceCloseConnections: 'idle', requestTimeout: requestMs, bodyLimit: config.body_limit_bytes });
  guardNames(app, config);
  app.addHook('onRequest', async (_request, reply) => {
    reply.header('cache-control', 'no-store');
  });
  app.addHook('onResponse', async (request, reply) => {
    metrics.http(request.method, request.routeOptions.url, reply.raw.statusCode);
  });
  app.setNotFoundHandler((_request, reply) => {
    reply.code(404).send(errorBody(new ApiError('not_found', 'There is nothing here.', { fix: 'MCP is at /mcp.' })));
  });
  app.setErrorHandler((err: FastifyError, _request, reply) => {
    const status = err.statusCode ?? 500;
    if (status >= 500) log.error({ err }, 'a request failed');
    const known =
      status >= 500 ? new ApiError('internal', 'TaskBridge met an error of its own.') : new ApiError('invalid_input', err.message);
    reply.code(status).send(errorBody(known));
  });

  app.get('/health', async () => ({ status: 'live' }));
  app.get('/ready', async (_request, reply) => {
    const { ready, ...parts } = readiness();
    return reply.code(ready ? 200 : 503).send({ ready, ...parts });
  });
  app.get('/metrics', async (_request, reply) => reply.type(metrics.contentType).send(await metrics.text()));
  app.register(async (scope) => mountMcp(scope, { config, record, mcp, log }));
  return app;
}

/** The SDK reads the body itself, up to the same limit, and after the token was checked. */
function mountMcp(scope: FastifyInstance, { config, record, mcp, log }: Pick<Parts, 'config' | 'record' | 'mcp' | 'log'>): void {
  scope.removeAllContentTypeParsers();
  scope.addContentTypeParser('*', (_request, _payload, done) => done(null));
  const answer = toNodeHandler(
    {
      fetch: async (request, options) => {
        const response = await mcp.handler.fetch(request, options);
        response.headers.set('cache-control', 'no-store');
        return response;
      },
    },
    { maxRequestBodySize: config.body_limit_bytes, onerror: (err) => log.debug({ err }, 'request not served') },
  );
  scope.route({
    method: ['GET', 'POST', 'DELETE'],
    url: '/mcp',
    onRequest: requireToken(record.tokens),
    handler: async (request, reply) => {
      reply.hijack();
      await answer(request.raw, reply.raw);
    },
  });
}
