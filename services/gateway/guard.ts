/** Who may come in: by the names a request uses for this host, by where a browser page came from, and by its token. */
import { hostHeaderValidation, originValidation } from '@modelcontextprotocol/fastify';
import { type AuthInfo, localhostAllowedHostnames, localhostAllowedOrigins } from '@modelcontextprotocol/server';
import { ApiError } from '@taskbridge/contract';
import type { Config } from '@taskbridge/platform';
import type { Principal, Tokens } from '@taskbridge/record';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';

/** Settings may name a host, a host with a port or a whole origin; the checks compare names only. */
function hostnameOf(setting: string): string {
  if (setting.endsWith('://*')) return setting;
  const url = setting.includes('://') ? setting : `http://${setting}`;
  return URL.canParse(url) ? new URL(url).hostname : setting;
}

const listensEverywhere = (host: string): boolean => host === '0.0.0.0' || host === '::';

/** Refuses requests that name this host wrongly (a page that rebinds its DNS name to loopback) or come from a foreign page. */
export function guardNames(app: FastifyInstance, config: Pick<Config, 'gateway_host' | 'allowed_hosts' | 'allowed_origins'>): void {
  const own = listensEverywhere(config.gateway_host) ? [] : [config.gateway_host];
  app.addHook('onRequest', hostHeaderValidation([...localhostAllowedHostnames(), ...[...own, ...config.allowed_hosts].map(hostnameOf)]));
  app.addHook('onRequest', originValidation([...localhostAllowedOrigins(), ...config.allowed_origins.map(hostnameOf)]));
}

/** A hook that lets only known tokens through. They are read from the Authorization header and nowhere else: addresses end up in logs. */
export function requireToken(tokens: Pick<Tokens, 'verify'>): (request: FastifyRequest, reply: FastifyReply) => Promise<void> {
  return async (request, reply) => {
    const given = /^Bearer +(\S+) *$/i.exec(request.headers.authorization ?? '')?.[1];
    const principal = given === undefined ? undefined : tokens.verify(given);
    if (principal) {
      Object.assign(request.raw, { auth: authInfo(principal) });
      return;
    }
    const error = new ApiError(
      'unauthorized',
      given === undefined ? 'A bearer token is missing.' : 'This token is not known or was revoked.',
      {
        field: 'Authorization',
        fix: 'Send "Authorization: Bearer TOKEN" with a token made by: taskbridge token create NAME.',
      },
    );
    const challenge = given === undefined ? 'Bearer realm="taskbridge"' : 'Bearer realm="taskbridge", error="invalid_token"';
    await reply.code(error.status).header('www-authenticate', challenge).send(errorBody(error));
  };
}

/** The token itself goes no further than the check. */
const authInfo = (principal: Principal): AuthInfo => ({ token: '', clientId: principal.clientId, scopes: [], extra: { principal } });

/** An error as JSON, in the same words as a tool's refusal. */
export const errorBody = ({ code, message, field, fix }: ApiError) => ({ error: { code, message, field, fix } });
