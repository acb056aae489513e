/**
 * The broker: the only BullMQ and the only Redis. It delivers; the record decides.
 * The record's side (`connectBroker`, `listen`) is for dispatch, gateway, reaper and board; the worker's (`connectWorker`) for the worker;
 * `startRedisServer` for the supervisor and tests.
 */
export { connectBroker } from './broker.ts';
export { listen } from './listen.ts';
export { RedisMissing, type RedisServer, startRedisServer } from './redis-server.ts';
export type * from './types.ts';
export { connectWorker } from './worker-broker.ts';
