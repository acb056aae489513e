/** Who may talk to the board: by the name a request uses for this host, and by the page it comes from. */
import type { Config } from '@taskbridge/platform';
import type { FastifyInstance } from 'fastify';

const loopback = ['localhost', '127.0.0.1', '[::1]'];

const hostnameOf = (value: string): string | undefined => {
  const url = value.includes('://') ? value : `http://${value}`;
  return URL.canParse(url) ? new URL(url).hostname : undefined;
};

/** Refuses a page that rebinds its DNS name to this host, and requests that another site's page makes. */
export function guardNames(app: FastifyInstance, config: Pick<Config, 'board_host' | 'allowed_hosts'>): void {
  const everywhere = config.board_host === '0.0.0.0' || config.board_host === '::';
  const own = everywhere ? [] : [config.board_host];
  const allowed = new Set([...loopback, ...[...own, ...config.allowed_hosts].map(hostnameOf)]);
  app.addHook('onRequest', async (request, reply) => {
    const { host, origin } = request.headers;
    if (!allowed.has(hostnameOf(host ?? '')))
      return reply.code(403).send('This name of the host is not allowed. See TASKBRIDGE_ALLOWED_HOSTS.\n');
    // A page of the board itself has the very origin that the request goes to.
    if (origin !== undefined && origin !== `http://${host}` && origin !== `https://${host}`)
      return reply.code(403).send('This page may not do that.\n');
  });
}
