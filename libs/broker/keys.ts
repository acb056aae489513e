/** The names of everything the broker keeps in Redis beside BullMQ's own keys, and how long it stays. */

/** One week in seconds: markers outlive any attempt and any worker that was away. */
export const markerSeconds = 7 * 24 * 3600;
/** One day in seconds: a log stream nobody acknowledged. */
export const logSeconds = 24 * 3600;

export interface Keys {
  /** Channel of wake-ups. */
  news: string;
  /** Set of the queues that exist. */
  queues: string;
  /** Set of worker ids; each has a presence key that expires. */
  workers: string;
  presence(workerId: string): string;
  /** Set once, when an attempt begins: holds the token of the delivery that began it. */
  started(attemptId: string): string;
  cancelled(attemptId: string): string;
  /** Set of attempts whose report waits; each has a hash. */
  reports: string;
  report(attemptId: string): string;
  acknowledged(attemptId: string): string;
  /** Stream of an attempt's log, and the channel of its new lines. */
  log(attemptId: string): string;
}

export function keysOf(prefix: string): Keys {
  const at = (...parts: string[]) => [prefix, 'broker', ...parts].join(':');
  return {
    news: at('news'),
    queues: at('queues'),
    workers: at('workers'),
    presence: (id) => at('worker', id),
    started: (id) => at('started', id),
    cancelled: (id) => at('cancelled', id),
    reports: at('reports'),
    report: (id) => at('report', id),
    acknowledged: (id) => at('acknowledged', id),
    log: (id) => at('log', id),
  };
}
