/** The board: shows the record live. */
import type { AddressInfo } from 'node:net';
import { type Config, type Log, paths, type Running } from '@taskbridge/platform';
import { openRecord } from '@taskbridge/record';
import Fastify from 'fastify';
import { guardNames } from './guard.ts';
import { addRoutes } from './routes.ts';
import { createSessions } from './sessions.ts';

/** Nothing but the board's own files is loaded or run, and no page may frame it. */
const policy =
  "default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'";

/** Resolves when it listens. */
export async function startBoard(config: Config, log: Log): Promise<Running> {
  const record = openRecord({ dataDir: paths(config).record });
  const stopping = new AbortController();
  const app = Fastify({ forceCloseConnections: true, bodyLimit: 16_384 });
  app.removeAllContentTypeParsers();
  app.addContentTypeParser('application/x-www-form-urlencoded', { parseAs: 'string' }, (_request, body, done) => {
    done(null, Object.fromEntries(new URLSearchParams(String(body))));
  });
  app.addHook('onRequest', async (_request, reply) => {
    reply.headers({
      'content-security-policy': policy,
      'x-content-type-options': 'nosniff',
      // With no-referrer a browser hides the page's own origin as well, and its forms would be refused as foreign.
      'referrer-policy': 'same-origin',
      'cache-control': 'no-store',
    });
  });
  guardNames(app, config);
  addRoutes(
    app,
    record,
    createSessions((token) => record.tokens.verify(token)?.operator === true),
    stopping.signal,
  );
  app.addHook('onError', async (request, _reply, err) => {
    log.debug({ err, url: request.url }, 'a request failed');
  });
  await app.listen({ host: config.board_host, port: config.board_port });
  const { port } = app.server.address() as AddressInfo;
  const host = config.board_host.includes(':') ? `[${config.board_host}]` : config.board_host;
  return {
    url: `http://${host}:${port}`,
    stop: async () => {
      stopping.abort();
      await app.close();
      record.close();
    },
  };
}
