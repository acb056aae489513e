/** The line to Redis: one client for commands, which fails at once while Redis is away, and one that listens for wake-ups. */
import type { Log } from '@taskbridge/platform';
import { Redis, type RedisOptions } from 'ioredis';
import { type Keys, keysOf } from './keys.ts';
import { checkPolicy } from './policy.ts';
import type { BrokerOptions } from './types.ts';

/** A wake-up between processes. Losing one costs time, never data. */
export interface News {
  type: 'cancel' | 'acknowledged' | 'report' | 'workers' | 'queues';
  id: string;
}

/** Longest wait for one answer, in milliseconds: a frozen Redis or a half-open connection ends here. */
const answerMs = 5_000;
/** How often an idle connection is tried, in milliseconds. */
const pingMs = 5_000;

/** A wake-up as it travels: two words. */
export const newsText = (type: News['type'], id: string): string => `${type} ${id}`;

const reconnect = (times: number) => Math.min(50 * 2 ** Math.min(times, 5), 1_000);

const isSocket = (address: string) => address.startsWith('/');

/** A connection whose commands fail at once while Redis is away; `limit` bounds the wait for one answer. */
export function openClient(address: string, limit: Pick<RedisOptions, 'commandTimeout' | 'socketTimeout'>): Redis {
  const options: RedisOptions = {
    ...limit,
    retryStrategy: reconnect,
    connectTimeout: answerMs,
    enableOfflineQueue: false,
    autoResendUnfulfilledCommands: false,
    autoResubscribe: false,
    maxRetriesPerRequest: 0,
  };
  return new Redis({ ...options, ...placeOf(address) });
}

/** Where an address leads, in ioredis's terms. Only what it names is set: an empty password would be sent as one. */
export function placeOf(address: string): RedisOptions {
  if (isSocket(address)) return { path: address };
  const url = new URL(address);
  const db = Number(url.pathname.slice(1));
  return {
    host: url.hostname.replace(/^\[|\]$/g, ''),
    port: Number(url.port || 6379),
    ...(url.username ? { username: decodeURIComponent(url.username) } : {}),
    ...(url.password ? { password: decodeURIComponent(url.password) } : {}),
    ...(db > 0 ? { db } : {}),
    ...(url.protocol === 'rediss:' ? { tls: { servername: url.hostname } } : {}),
  };
}

/** Options of a connection whose reads wait for Redis to come back, as BullMQ's event reader needs. */
export function patient(address: string) {
  return { ...placeOf(address), retryStrategy: reconnect, connectTimeout: answerMs, maxRetriesPerRequest: null };
}

export interface Line {
  /** For commands and for BullMQ's queues. Rejects at once while Redis is away. */
  readonly client: Redis;
  readonly keys: Keys;
  /** True while Redis answers and wake-ups arrive. */
  readonly ready: boolean;
  /** Called each time the line is up, so that what was missed can be looked for; also soon, when it is up already. Returns an end to it. */
  onReady(listener: () => void): () => void;
  /** Resolves once the line is up; rejects when it is closed. */
  whenReady(): Promise<void>;
  onNews(listener: (news: News) => void): void;
  /** Calls back on each message of a further channel. Returns an end to it. */
  subscribe(channel: string, listener: (message: string) => void): () => void;
  /** At once, whether or not Redis answers. Commands under way reject. */
  close(): void;
}

/**
 * Opens the line and keeps it open: reconnects within a second, and finds a dead connection by itself.
 * Says once when Redis goes away and once when it is back, unless `quiet` because another line of the process does.
 */
export function openLine(options: BrokerOptions, log: Log, { quiet = false } = {}): Line {
  const keys = keysOf(options.prefix);
  const client = openClient(options.redis, { commandTimeout: answerMs });
  const ear = openClient(options.redis, { commandTimeout: answerMs });
  const channels = new Map<string, Set<(message: string) => void>>();
  const readyListeners = new Set<() => void>();
  const closers = new Set<() => void>();
  let checked = false;
  let hearing = false;
  let closed = false;
  let away = false;

  const isReady = () => !closed && hearing && client.status === 'ready';
  const up = () => {
    if (!isReady()) return;
    if (away && !quiet) log.info('Redis is back');
    away = false;
    for (const listener of [...readyListeners]) listener();
  };
  const down = (why: string) => {
    if (closed || away) return;
    away = true;
    if (!quiet) log.warn({ redis: withoutPassword(options.redis), why }, 'Redis is away; trying again until it answers');
  };

  client.on('ready', () => {
    up();
    if (!checked && !quiet) void checkPolicy(client, log);
    checked = true;
  });
  client.on('error', (error) => down(error.message));
  client.on('close', () => down('the connection closed'));
  // The command client tells of an outage; the ear's errors say the same.
  ear.on('error', (error) => log.debug({ err: error }, 'listening to Redis'));
  ear.on('close', () => {
    hearing = false;
  });
  ear.on('ready', () => {
    ear.subscribe(...channels.keys()).then(
      () => {
        hearing = true;
        up();
      },
      // The connection is gone again: the next one subscribes.
      () => ear.disconnect(true),
    );
  });
  ear.on('message', (channel, message) => {
    for (const listener of [...(channels.get(channel) ?? [])]) listener(message);
  });
  for (const connection of [client, ear]) {
    // ioredis gives up for good when a disconnect meets a connect under way.
    connection.on('end', () => {
      if (!closed) setTimeout(() => !closed && connection.status === 'end' && connection.connect().catch(() => undefined), 1_000).unref();
    });
  }
  const pulse = setInterval(() => {
    for (const connection of [client, ear]) {
      // A half-open connection looks well until it is asked; without an answer it is opened anew.
      if (connection.status === 'ready') connection.ping().catch(() => !closed && connection.disconnect(true));
    }
  }, pingMs);

  const subscribe = (channel: string, listener: (message: string) => void) => {
    const listeners = channels.get(channel) ?? new Set();
    channels.set(channel, listeners.add(listener));
    // While the ear is away, its next connection subscribes.
    if (listeners.size === 1 && ear.status === 'ready') ear.subscribe(channel).catch(() => undefined);
    return () => {
      listeners.delete(listener);
      if (listeners.size > 0 || channels.get(channel) !== listeners) return;
      channels.delete(channel);
      if (ear.status === 'ready') ear.unsubscribe(channel).catch(() => undefined);
    };
  };
  const onReady = (listener: () => void) => {
    readyListeners.add(listener);
    if (isReady()) queueMicrotask(() => readyListeners.has(listener) && isReady() && listener());
    return () => void readyListeners.delete(listener);
  };
  // Keeps the channel of wake-ups in every subscription, also before anyone listens.
  subscribe(keys.news, () => undefined);

  return {
    client,
    keys,
    get ready() {
      return isReady();
    },
    onReady,
    whenReady() {
      const { promise, resolve, reject } = Promise.withResolvers<void>();
      const settle = (then: () => void) => {
        end();
        closers.delete(refuse);
        then();
      };
      const refuse = () => settle(() => reject(new Error('the line to Redis is closed')));
      closers.add(refuse);
      const end = onReady(() => settle(resolve));
      if (closed) refuse();
      return promise;
    },
    onNews(listener) {
      subscribe(keys.news, (message) => {
        const [type = '', id = ''] = message.split(' ');
        // A type of another version means nothing to any listener.
        listener({ type: type as News['type'], id });
      });
    },
    subscribe,
    close() {
      closed = true;
      clearInterval(pulse);
      readyListeners.clear();
      for (const closer of [...closers]) closer();
      client.disconnect();
      ear.disconnect();
    },
  };
}

const withoutPassword = (address: string) => address.replace(/\/\/[^@/]*@/, '//');
