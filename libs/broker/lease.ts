/** A worker's hold on a job: renewed in time, or lost. Measured on this process's own clock, so that one that slept knows it at once. */
import type { Line } from './line.ts';
import type { LeaseEnd } from './types.ts';

export interface Hold {
  /** Aborted with a LeaseEnd as reason. */
  readonly signal: AbortSignal;
  /** False once the lock may be someone else's to judge. */
  readonly held: boolean;
  /** Ends the lease for a reason of ours; the lock is still renewed while the run stops. */
  end(reason: LeaseEnd): void;
  /** Renews no more. */
  release(): void;
}

/**
 * Holds a lock that was taken at `takenAt` (performance.now) for `leaseMs`.
 * @param extend renews the lock; false when it is no longer ours; rejects while Redis is away
 */
export function holdLease(line: Line, leaseMs: number, takenAt: number, extend: () => Promise<boolean>): Hold {
  const controller = new AbortController();
  let expiresAt = takenAt + leaseMs;
  let deadline: NodeJS.Timeout | undefined;
  let asking = false;
  let held = true;

  const end = (reason: LeaseEnd) => {
    if (!controller.signal.aborted) controller.abort(reason);
  };
  const release = () => {
    clearTimeout(deadline);
    clearInterval(beat);
    forgetReady();
  };
  const lose = () => {
    held = false;
    release();
    end('lease_lost');
  };
  const arm = () => {
    clearTimeout(deadline);
    deadline = setTimeout(lose, Math.max(0, expiresAt - performance.now()));
  };
  const renew = async () => {
    if (asking || !held || !line.ready) return;
    if (performance.now() >= expiresAt) return lose();
    asking = true;
    const sentAt = performance.now();
    try {
      if (!(await extend())) return lose();
      expiresAt = sentAt + leaseMs;
      if (held) arm();
    } catch {
      // Redis is away: the deadline decides.
    } finally {
      asking = false;
    }
  };
  const beat = setInterval(renew, leaseMs / 3);
  const forgetReady = line.onReady(() => void renew());
  arm();

  return {
    signal: controller.signal,
    get held() {
      return held;
    },
    end,
    release,
  };
}
