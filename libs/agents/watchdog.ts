/** The clocks of a run: total time, time without progress, and every other reason to end it at once. */
import { AttemptFailure } from '@taskbridge/contract';

export interface Watchdog {
  /** Aborted when the run must end, and when it has. */
  readonly signal: AbortSignal;
  /** The agent got somewhere: the stall clock starts anew. */
  progress(): void;
  /** Ends the run with this failure; the first one counts. */
  end(failure: Error): void;
  /** The outcome of `work`, or the failure that came before it. */
  race<T>(work: Promise<T>): Promise<T>;
  stop(): void;
}

export function createWatchdog(options: { stallMs: number; runMs: number; signal: AbortSignal }): Watchdog {
  const over = new AbortController();
  let fail: (failure: Error) => void = () => undefined;
  const failed = new Promise<never>((_, reject) => {
    fail = reject;
  });
  // Whoever races hears of it; if nobody does any more, it is no unhandled rejection.
  failed.catch(() => undefined);
  const end = (failure: Error) => {
    fail(failure);
    over.abort(failure);
  };
  const minutes = (ms: number) => `${Math.round(ms / 600) / 100} minutes`;
  const run = setTimeout(() => end(new AttemptFailure('run_timeout', `The attempt ran for ${minutes(options.runMs)}.`)), options.runMs);
  const stalled = () => end(new AttemptFailure('stall_timeout', `The agent made no progress for ${minutes(options.stallMs)}.`));
  let stall = setTimeout(stalled, options.stallMs);
  const aborted = () => end(asError(options.signal.reason));
  options.signal.addEventListener('abort', aborted);
  if (options.signal.aborted) aborted();

  return {
    signal: over.signal,
    progress: () => {
      clearTimeout(stall);
      if (!over.signal.aborted) stall = setTimeout(stalled, options.stallMs);
    },
    end,
    race: (work) => Promise.race([work, failed]),
    stop: () => {
      clearTimeout(run);
      clearTimeout(stall);
      options.signal.removeEventListener('abort', aborted);
      over.abort();
    },
  };
}

const asError = (reason: unknown): Error => (reason instanceof Error ? reason : new Error(String(reason)));
