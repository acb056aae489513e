/** How an attempt ended, judged from what was thrown and from the lease. */
import type { LeaseEnd } from '@taskbridge/broker';
import { AttemptFailure, failureKinds, type Report } from '@taskbridge/contract';

export type Ending = Pick<Report, 'outcome' | 'reason' | 'detail' | 'retryAfterMs'>;

export const succeeded = (detail: string): Ending => ({ outcome: 'succeeded', reason: null, detail, retryAfterMs: null });

const leaseEndings: Record<LeaseEnd, Ending> = {
  cancelled: { outcome: 'cancelled', reason: null, detail: 'The task was cancelled while the attempt was at work.', retryAfterMs: null },
  shutdown: { outcome: 'returned', reason: 'worker_shutdown', detail: failureKinds.worker_shutdown.sentence, retryAfterMs: null },
  lease_lost: {
    outcome: 'returned',
    reason: 'worker_lost',
    detail: 'The worker could not renew its lease on the attempt, and stopped it.',
    retryAfterMs: null,
  },
};

/**
 * The ending that an error means. The lease goes first: when it ended, whatever the steps threw is only its echo.
 * What is not an AttemptFailure is TaskBridge's own fault.
 */
export function judgeFailure(error: unknown, signal: AbortSignal): Ending {
  if (signal.aborted) return leaseEndings[signal.reason as LeaseEnd];
  if (error instanceof AttemptFailure) {
    return { outcome: 'failed', reason: error.reason, detail: error.message, retryAfterMs: error.retryAfterMs ?? null };
  }
  const detail = error instanceof Error ? error.message : String(error);
  if (isDiskFull(error)) return { outcome: 'failed', reason: 'disk_full', detail, retryAfterMs: null };
  return { outcome: 'failed', reason: 'internal_error', detail: `${failureKinds.internal_error.sentence} ${detail}`, retryAfterMs: null };
}

function isDiskFull(error: unknown): boolean {
  for (let e = error; e instanceof Error; e = e.cause) if ((e as NodeJS.ErrnoException).code === 'ENOSPC') return true;
  return false;
}
