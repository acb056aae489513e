/** Runs the sweeps in rounds, one round at a time, and sooner when one asks for it. */
import type { Log } from '@taskbridge/platform';
import type { Sweep } from './sweep.ts';

export interface Rounds {
  /** A round as soon as none is at work. */
  soon(): void;
  close(): Promise<void>;
}

export function startRounds(sweeps: readonly Sweep[], everyMs: number, log: Log): Rounds {
  let closed = false;
  let timer: NodeJS.Timeout | undefined;
  let working: Promise<void> | undefined;
  let wanted = false;

  const round = async (): Promise<void> => {
    let next = everyMs;
    for (const sweep of sweeps) {
      try {
        next = Math.min(next, (await sweep.run(Date.now())) ?? everyMs);
      } catch (err) {
        // One sweep that fails must not keep the others from looking.
        log.warn({ err, sweep: sweep.name }, 'a sweep failed; it runs again in the next round');
      }
    }
    working = undefined;
    if (!closed) schedule(wanted ? 0 : next);
    wanted = false;
  };
  const schedule = (ms: number): void => {
    clearTimeout(timer);
    timer = setTimeout(() => {
      working = round();
    }, ms);
  };
  schedule(everyMs);
  return {
    soon: () => {
      if (working) wanted = true;
      else if (!closed) schedule(0);
    },
    close: async () => {
      closed = true;
      clearTimeout(timer);
      await working;
    },
  };
}
