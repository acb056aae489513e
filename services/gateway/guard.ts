/** Who may come in: by the names a request uses for this host, by where a browser page came from, and by its token. */
import { hostHeaderValidation, originValidation } from '@modelcontextprotocol/fastify';
import { type AuthInfo, localhostAllowedOrigins } from '@modelcontextprotocol/server';
import { ApiError } from '@taskbridge/contract';
import { allowedHostnames, type Config, hostnameOf } from '@taskbridge/platform';
import type { Principal, Tokens } from '@taskbridge/record';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';

/** Settings may name a whole origin, or all origins of a scheme; the check compares names only. */
const originNameOf = (setting: string): string => (setting.endsWith('://*') ? setting : (hostnameOf(setting) ?? setting));

/** Refuses requests that name this host wrongly (a page that rebinds its DNS name to loopback) or come from a foreign page. */
export function guardNames(app: FastifyInstance, config: Pick<Config, 'gateway_host' | 'allowed_hosts' | 'allowed_origins'>): void {
  app.addHook('onRequest', hostHeaderValidation(allowedHostnames(config.gateway_host, config.allowed_hosts)));
  app.addHook('onRequest', originValidation([...localhostAllowedOrigins(), ...config.allowed_origins.map(originNameOf)]));
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
