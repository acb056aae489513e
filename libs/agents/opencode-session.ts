/** One task in one OpenCode session: prompt, events, the clocks, and what came of it. */
import type { Event, OpencodeClient, PermissionRuleset } from '@opencode-ai/sdk/v2/client';
import { AttemptFailure, noUsage } from '@taskbridge/contract';
import { createEventReader } from './agent-events.ts';
import type { RelayKey } from './model-relay.ts';
import { createModelWatch, type ModelWatch } from './model-watch.ts';
import { splitModel } from './opencode-config.ts';
import type { OpencodeServer } from './opencode-server.ts';
import { openQuestionsIn, promptOf } from './prompt.ts';
import { commandsOf, lastAnswer, lastWordsOf, type SessionMessage, usageOf } from './session-facts.ts';
import type { ModelSettings, PartialWork, Work, WorkRequest } from './types.ts';
import { createWatchdog } from './watchdog.ts';

/** The event stream may lose its end: so often the session itself is asked whether it has come to rest, in milliseconds. */
const lookMs = 5_000;

export interface SessionKit {
  server: OpencodeServer;
  model: ModelSettings;
  sandboxed: boolean;
  /** Absent when the agent talks to the provider itself. */
  relayKey: RelayKey | undefined;
}

/** Where the operating system holds the walls, a path outside is no reason to refuse a command; elsewhere the agent's own rule is all there is. */
const rules = (writes: boolean, sandboxed: boolean): PermissionRuleset => {
  const rule = (permission: string, action: 'allow' | 'deny') => ({ permission, pattern: '*', action });
  return [
    ...(writes ? [] : [rule('edit', 'deny')]),
    rule('external_directory', sandboxed ? 'allow' : 'deny'),
    rule('question', 'deny'),
    rule('doom_loop', 'deny'),
  ];
};

/** @throws AttemptFailure with what is known of the work as `partial` */
export async function workInSession(kit: SessionKit, request: WorkRequest): Promise<Work> {
  const { server, model, relayKey } = kit;
  const client = server.client(request.directory);
  const watch = createModelWatch();
  const seen: Seen = { sessionId: '', calls: 0, firstCallAt: null };
  const dog = createWatchdog({ stallMs: request.stallMs, runMs: request.runMs, signal: request.signal });
  relayKey?.observe({
    onCall: (at) => {
      seen.calls += 1;
      seen.firstCallAt ??= at;
      request.onEvent({ type: 'model_call', at });
    },
    onAnswer: (answer) => {
      const verdict = watch.see(answer);
      if (verdict) dog.end(verdict);
      else if (!watch.failing()) dog.progress();
    },
  });
  void server.ended.then((how) => dog.end(new AttemptFailure('agent_crashed', how)));
  try {
    await dog.race(converse(client, kit, request, seen, dog, watch));
    const messages = await readMessages(client, seen.sessionId);
    const work = { ...describe(messages, seen, model), transcript: transcriptOf(messages) };
    const failure = failureOf(messages, work.summary, watch);
    if (failure) throw Object.assign(failure, { partial: work });
    return work;
  } catch (error) {
    if ('partial' in (error as object)) throw error;
    throw Object.assign(error as Error, { partial: await partialWork(client, seen, model, server) });
  } finally {
    dog.stop();
    relayKey?.observe(undefined);
  }
}

interface Seen {
  sessionId: string;
  /** Calls of the model that the relay saw. */
  calls: number;
  firstCallAt: number | null;
}

type Dog = ReturnType<typeof createWatchdog>;

/** Starts the session and returns once it has come to rest. */
async function converse(
  client: OpencodeClient,
  kit: SessionKit,
  request: WorkRequest,
  seen: Seen,
  dog: Dog,
  watch: ModelWatch,
): Promise<void> {
  const created = await client.session.create({ title: request.title.slice(0, 100), permission: rules(request.writes, kit.sandboxed) });
  if (!created.data)
    throw new AttemptFailure('agent_start_failed', `OpenCode made no session: ${JSON.stringify(created.error).slice(0, 500)}`);
  seen.sessionId = created.data.id;
  const priced = kit.model.inputPrice !== undefined;
  const reader = createEventReader(seen.sessionId, priced, request.onEvent);
  const events = await client.event.subscribe({}, { signal: dog.signal });
  const resting = new Promise<void>((resolve) => {
    const look = setInterval(() => void isResting(client, seen.sessionId).then((yes) => yes && resolve()), lookMs);
    dog.signal.addEventListener('abort', () => clearInterval(look));
    void follow(events.stream as AsyncIterable<Event>, (event) => {
      if (reader.read(event)) dog.progress();
      const refused = reader.refused();
      if (refused) dog.end(new AttemptFailure('agent_blocked', refused));
      // Without a relay OpenCode's own word on its retries is all there is.
      if (!kit.relayKey) judgeRetry(event, seen.sessionId, watch, dog);
      if (reader.ended()) resolve();
    });
  });
  const prompted = await client.session.promptAsync({
    sessionID: seen.sessionId,
    model: splitModel(kit.model.model),
    parts: [{ type: 'text', text: promptOf(request.contract, request.title) }],
  });
  if (prompted.error)
    throw new AttemptFailure('agent_start_failed', `OpenCode refused the prompt: ${JSON.stringify(prompted.error).slice(0, 500)}`);
  await resting;
}

/** Reads the stream to its end. A broken stream is no failure: the session is asked from time to time, too. */
async function follow(stream: AsyncIterable<Event>, onEvent: (event: Event) => void): Promise<void> {
  try {
    for await (const event of stream) onEvent(event);
  } catch {
    return;
  }
}

function judgeRetry(event: Event, sessionId: string, watch: ModelWatch, dog: Dog): void {
  if (event.type !== 'session.status' || event.properties.sessionID !== sessionId || event.properties.status.type !== 'retry') return;
  const { message, next } = event.properties.status;
  const limited = /rate.?limit|too many requests|429|overloaded/i.test(message);
  const verdict = watch.see({ at: Date.now(), status: limited ? 429 : 500, message, retryAfterMs: Math.max(0, next - Date.now()) });
  if (verdict) dog.end(verdict);
}

async function isResting(client: OpencodeClient, sessionId: string): Promise<boolean> {
  const { data } = await client.session.status().catch(() => ({ data: undefined }));
  if (!data || (data[sessionId] && data[sessionId].type !== 'idle')) return false;
  const messages = await readMessages(client, sessionId).catch(() => []);
  return lastAnswer(messages)?.time.completed !== undefined;
}

async function readMessages(client: OpencodeClient, sessionID: string): Promise<SessionMessage[]> {
  const { data, error } = await client.session.messages({ sessionID });
  if (!data) throw new AttemptFailure('agent_crashed', `OpenCode did not give the session back: ${JSON.stringify(error).slice(0, 500)}`);
  return data;
}

const transcriptOf = (messages: SessionMessage[]): Buffer => Buffer.from(JSON.stringify(messages));

function describe(messages: SessionMessage[], seen: Seen, model: ModelSettings): Omit<Work, 'transcript'> {
  const summary = lastWordsOf(messages);
  const usage = usageOf(messages, model.inputPrice !== undefined);
  return {
    sessionId: seen.sessionId,
    summary,
    openQuestions: openQuestionsIn(summary),
    commands: commandsOf(messages),
    // The relay counts calls that failed or were on the side, too.
    usage: { ...usage, modelCalls: Math.max(usage.modelCalls, seen.calls) },
    model: model.model,
    firstModelCallAt: seen.firstCallAt,
  };
}

/** What a failed attempt leaves; reading it must not hide why it failed, nor take long. */
async function partialWork(client: OpencodeClient, seen: Seen, model: ModelSettings, server: OpencodeServer): Promise<PartialWork> {
  const nothing = { ...describe([], seen, model), usage: { ...noUsage, modelCalls: seen.calls }, transcript: null };
  if (!server.alive || seen.sessionId === '') return nothing;
  const soon = AbortSignal.timeout(2_000);
  try {
    await client.session.abort({ sessionID: seen.sessionId }, { signal: soon });
    const { data } = await client.session.messages({ sessionID: seen.sessionId }, { signal: soon });
    return data ? { ...describe(data, seen, model), transcript: transcriptOf(data) } : nothing;
  } catch {
    return nothing;
  }
}

/** Why a session that came to rest is no success all the same. */
function failureOf(messages: SessionMessage[], summary: string, watch: ModelWatch): AttemptFailure | undefined {
  const error = lastAnswer(messages)?.error;
  if (error) {
    const failing = watch.failing();
    if (failing) return failing;
    const said = 'message' in error.data ? String(error.data.message) : error.name;
    if (error.name === 'ContextOverflowError') return new AttemptFailure('model_context_exceeded', said);
    if (error.name === 'ProviderAuthError') return new AttemptFailure('model_unauthorized', said);
    const status = error.name === 'APIError' ? error.data.statusCode : undefined;
    return (
      (status && createModelWatch().see({ at: 0, status, message: said, retryAfterMs: Number.MAX_SAFE_INTEGER })) ||
      new AttemptFailure('model_error', said)
    );
  }
  return summary === '' ? new AttemptFailure('agent_gave_up', 'The agent ended its turn and said nothing.') : undefined;
}
