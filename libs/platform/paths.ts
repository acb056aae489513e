/** Where everything stands below the data folder. */

import { randomBytes } from 'node:crypto';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Config } from './config.ts';

export function paths(config: Pick<Config, 'data_dir'>) {
  const at = (...parts: string[]) => join(config.data_dir, ...parts);
  return {
    record: at('record'),
    redis: at('redis'),
    redisSocket: at('redis', 'redis.sock'),
    credentials: at('credentials'),
    operatorToken: at('credentials', 'operator.token'),
    mirrors: at('worker', 'mirrors'),
    slots: at('worker', 'slots'),
    spool: at('worker', 'spool'),
    demo: at('demo'),
    /** Held by the one stack that runs on this folder. */
    instanceLock: at('instance.lock'),
    /** Where a running stack listens. */
    addresses: at('stack.json'),
    /** Output of the services when the terminal shows something else. */
    serviceLog: at('services.log'),
  };
}

/** Where Redis answers: the given URL, or the private one's socket. */
export const redisAddress = (config: Config): string => config.redis_url ?? paths(config).redisSocket;

/** This host's name for local-path projects: the setting, or a random one kept in the data folder. */
export function hostId(config: Config): string {
  if (config.host_id) return config.host_id;
  const file = join(config.data_dir, 'host-id');
  mkdirSync(config.data_dir, { recursive: true, mode: 0o700 });
  try {
    // Exclusive, so that two services that start together agree on one name.
    writeFileSync(file, `host-${randomBytes(4).toString('hex')}`, { flag: 'wx' });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  }
  return readFileSync(file, 'utf8').trim();
}
