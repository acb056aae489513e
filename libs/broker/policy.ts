/** What a Redis must be for the broker to be safe in it. */
import type { Log } from '@taskbridge/platform';
import type { Redis } from 'ioredis';

/** Warns, one line each, when this Redis may throw data away or is older than BullMQ wants. */
export async function checkPolicy(client: Redis, log: Log): Promise<void> {
  let info: string;
  try {
    info = await client.info();
  } catch (err) {
    log.debug({ err }, 'Redis did not tell its settings');
    return;
  }
  const policy = /^maxmemory_policy:(\S+)/m.exec(info)?.[1];
  const version = /^redis_version:(\S+)/m.exec(info)?.[1];
  if (policy !== undefined && policy !== 'noeviction') {
    log.warn({ policy }, 'Redis may evict jobs and reports: set its maxmemory-policy to noeviction');
  }
  const [major = 0, minor = 0] = (version ?? '').split('.').map(Number);
  if (version !== undefined && (major < 6 || (major === 6 && minor < 2))) {
    log.warn({ version }, 'Redis is older than 6.2, which is the least the queue is tested with');
  }
}
