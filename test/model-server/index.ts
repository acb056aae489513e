/** The scripted model: the only part of a test that is not real. Speaks OpenAI's and Anthropic's wire formats on loopback. */
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { type AnthropicRequest, readAnthropic, streamAnthropic, wholeAnthropic } from './anthropic.ts';
import { type OpenAiRequest, readOpenAi, streamOpenAi, wholeOpenAi } from './openai.ts';
import { chooseTurn, type Message, type Scenario, type Turn } from './scenario.ts';

export type { Scenario, Turn } from './scenario.ts';

/** A request for an answer, as it came. */
export interface ModelRequest {
  at: number;
  format: 'openai' | 'anthropic';
  model: string;
  /** The key the client showed. */
  key: string | undefined;
  messages: Message[];
  /** The scenario that answered; null for the fallback and for titles. */
  scenario: string | null;
}

export interface ModelServer {
  readonly url: string;
  /** For OpenAI's format. */
  readonly baseUrl: string;
  /** For Anthropic's format. */
  readonly anthropicUrl: string;
  requests(): ModelRequest[];
  add(scenario: Scenario): void;
  /** The next request from now on that fits. */
  nextRequest(fits?: (request: ModelRequest) => boolean): Promise<ModelRequest>;
  close(): Promise<void>;
}

export async function startModelServer(options: { port?: number; scenarios?: Scenario[] } = {}): Promise<ModelServer> {
  const scenarios = [...(options.scenarios ?? [])];
  const requests: ModelRequest[] = [];
  const waiting = new Set<(request: ModelRequest) => void>();
  let count = 0;

  const answer = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const path = new URL(request.url ?? '/', 'http://localhost').pathname;
    if (request.method === 'GET' && path === '/v1/models')
      return json(response, 200, { object: 'list', data: [{ id: 'model', object: 'model' }] });
    if (request.method === 'POST' && path === '/v1/messages/count_tokens') return json(response, 200, { input_tokens: 100 });
    const format = { '/v1/chat/completions': 'openai', '/v1/messages': 'anthropic' }[path] as ModelRequest['format'] | undefined;
    if (request.method !== 'POST' || !format) return json(response, 404, { error: { message: `no ${path} here` } });

    const body = JSON.parse(await text(request)) as OpenAiRequest & AnthropicRequest;
    const messages = format === 'openai' ? readOpenAi(body) : readAnthropic(body);
    // Agents ask for a title of the conversation on the side; it must not use up a turn.
    const title = !body.tools?.length && messages.some((m) => m.role === 'system' && /title/i.test(m.text));
    const { turn, scenario } = title ? { turn: { text: 'A task' } as Turn, scenario: null } : chooseTurn(scenarios, messages);
    const key = request.headers.authorization?.replace(/^Bearer /, '') ?? (request.headers['x-api-key'] as string | undefined);
    const seen: ModelRequest = { at: Date.now(), format, model: body.model, key, messages, scenario };
    requests.push(seen);
    for (const listener of [...waiting]) listener(seen);

    if (turn.delayMs) await delay(turn.delayMs);
    if (turn.hold) return void (await once(response, 'close'));
    if (turn.hangUp) return void request.socket.destroy();
    if (turn.error)
      return json(response, turn.error.status, turn.error.body ?? { error: { message: 'scripted error' } }, turn.error.headers);
    count += 1;
    const id = `scripted${count}`;
    if (!body.stream)
      return json(response, 200, format === 'openai' ? wholeOpenAi(id, body.model, turn) : wholeAnthropic(id, body.model, turn));
    response.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-cache' });
    for (const event of format === 'openai' ? streamOpenAi(id, body.model, turn) : streamAnthropic(id, body.model, turn))
      response.write(event);
    response.end();
  };

  const server = createServer((request, response) => {
    answer(request, response).catch((error: unknown) => {
      if (response.headersSent) response.destroy();
      else json(response, 500, { error: { message: String(error) } });
    });
  });
  server.listen(options.port ?? 0, '127.0.0.1');
  await once(server, 'listening');
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    url,
    baseUrl: `${url}/v1`,
    anthropicUrl: url,
    requests: () => [...requests],
    add: (scenario) => void scenarios.unshift(scenario),
    nextRequest: (fits = () => true) =>
      new Promise((resolve) => {
        const listener = (request: ModelRequest) => {
          if (!fits(request)) return;
          waiting.delete(listener);
          resolve(request);
        };
        waiting.add(listener);
      }),
    close: async () => {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}

function json(response: ServerResponse, status: number, body: unknown, headers: Record<string, string> = {}): void {
  response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(body));
}

async function text(request: IncomingMessage): Promise<string> {
  const parts: Buffer[] = [];
  for await (const part of request) parts.push(part as Buffer);
  return Buffer.concat(parts).toString();
}
