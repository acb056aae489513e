/** Who may talk to the board: by the name a request uses for this host, and by the page it comes from. */
import { allowedHostnames, type Config, hostnameOf } from '@taskbridge/platform';
import type { FastifyInstance } from 'fastify';

/** Refuses a page that rebinds its DNS name to this host, and requests that another site's page makes. */
export function guardNames(app: FastifyInstance, config: Pick<Config, 'board_host' | 'allowed_hosts'>): void {
  const allowed: (string | undefined)[] = allowedHostnames(config.board_host, config.allowed_hosts);
  app.addHook('onRequest', async (request, reply) => {
    const { host, origin } = request.headers;
    if (!allowed.includes(hostnameOf(host ?? '')))
      return reply.code(403).send('This name of the host is not allowed. See TASKBRIDGE_ALLOWED_HOSTS.\n');
    // A page of the board itself has the very origin that the request goes to.
    if (origin !== undefined && origin !== `http://${host}` && origin !== `https://${host}`)
      return reply.code(403).send('This page may not do that.\n');
  });
}
