/** A relay on loopback between agents and the model's endpoint. Agents know only the relay; it adds the real key, streams through, and tells what it saw. */
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { ModelAnswer } from './model-watch.ts';

export interface RelayObserver {
  onCall(at: number): void;
  onAnswer(answer: ModelAnswer): void;
}

export interface RelayKey {
  /** Worth something at this relay alone. */
  readonly key: string;
  /** Who is told of the calls made with it from now on. */
  observe(observer: RelayObserver | undefined): void;
  revoke(): void;
}

export interface ModelRelay {
  readonly baseUrl: string;
  issueKey(): RelayKey;
  close(): Promise<void>;
}

/** Headers that belong to one connection, or that the relay sets itself. */
const hopHeaders = new Set([
  'host',
  'connection',
  'keep-alive',
  'transfer-encoding',
  'content-length',
  'authorization',
  'x-api-key',
  'accept-encoding',
]);

export async function startModelRelay(upstream: { baseUrl: string; apiKey: string | undefined }): Promise<ModelRelay> {
  const observers = new Map<string, RelayObserver | undefined>();

  const relay = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const key = request.headers.authorization?.replace(/^Bearer /, '') ?? '';
    if (!observers.has(key)) return void response.writeHead(401).end();
    const observer = observers.get(key);
    const left = new AbortController();
    response.on('close', () => left.abort());
    observer?.onCall(Date.now());
    let answer: Response;
    try {
      answer = await fetch(upstream.baseUrl.replace(/\/$/, '') + (request.url ?? ''), {
        method: request.method ?? 'GET',
        headers: forwarded(request, upstream.apiKey),
        signal: left.signal,
        ...(request.method === 'GET' ? {} : { body: Readable.toWeb(request) as ReadableStream, duplex: 'half' }),
      } as RequestInit);
    } catch (error) {
      if (left.signal.aborted) return;
      const cause = (error as Error).cause as Error | undefined;
      observer?.onAnswer({
        at: Date.now(),
        status: 'unreachable',
        message: cause?.message || (error as Error).message,
        retryAfterMs: undefined,
      });
      return void response
        .writeHead(502, { 'content-type': 'application/json' })
        .end('{"error":{"message":"the model endpoint could not be reached"}}');
    }
    const headers = Object.fromEntries([...answer.headers].filter(([name]) => !hopHeaders.has(name) && name !== 'content-encoding'));
    response.writeHead(answer.status, headers);
    if (!answer.ok) {
      const message = await answer.text();
      observer?.onAnswer({
        at: Date.now(),
        status: answer.status,
        message: message.slice(0, 2_000),
        retryAfterMs: retryAfter(answer.headers),
      });
      return void response.end(message);
    }
    observer?.onAnswer({ at: Date.now(), status: answer.status, message: '', retryAfterMs: undefined });
    if (answer.body) await pipeline(Readable.fromWeb(answer.body as never), response);
    else response.end();
  };

  const server = createServer((request, response) => {
    // A client that leaves in the middle of an answer is no failure of the relay's.
    relay(request, response).catch(() => response.destroy());
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    baseUrl: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    issueKey: () => {
      const key = `relay-${randomBytes(18).toString('hex')}`;
      observers.set(key, undefined);
      return { key, observe: (observer) => void observers.set(key, observer), revoke: () => void observers.delete(key) };
    },
    close: async () => {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}

function forwarded(request: IncomingMessage, apiKey: string | undefined): Headers {
  const headers = new Headers();
  for (const [name, value] of Object.entries(request.headers)) {
    if (typeof value === 'string' && !hopHeaders.has(name)) headers.set(name, value);
  }
  if (apiKey) headers.set('authorization', `Bearer ${apiKey}`);
  return headers;
}

/** How long the provider asks to wait, in milliseconds. `retry-after-ms`, or `retry-after` in seconds or as a date (RFC 9110, 10.2.3). */
export function retryAfter(headers: Headers, now: number = Date.now()): number | undefined {
  const exact = Number(headers.get('retry-after-ms') ?? Number.NaN);
  if (exact >= 0) return exact;
  const text = headers.get('retry-after');
  if (text === null) return undefined;
  const seconds = Number(text);
  if (seconds >= 0) return seconds * 1000;
  const date = Date.parse(text);
  return Number.isNaN(date) ? undefined : Math.max(0, date - now);
}
