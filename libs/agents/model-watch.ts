/** Decides when a model's failures end an attempt. Pure: OpenCode would repeat them for a long time and say little. */
import { AttemptFailure, type FailureReason } from '@taskbridge/contract';

/** One answer of the model's endpoint, as the relay saw it. */
export interface ModelAnswer {
  at: number;
  status: number | 'unreachable';
  message: string;
  retryAfterMs: number | undefined;
}

/** A wait longer than this is not spent holding a slot, in milliseconds. */
const longestWaitMs = 60_000;
/** So many failures in a row end the attempt; OpenCode backs off between them. */
const mostFailures = 5;
/** An endpoint that refuses connections is given less patience. */
const mostUnreachable = 3;

const reasonOf = ({ status, message }: ModelAnswer): FailureReason => {
  if (status === 'unreachable') return 'model_unreachable';
  if (status === 401 || status === 403) return 'model_unauthorized';
  if (status === 402 || /insufficient_quota|credit balance/i.test(message)) return 'model_quota_exhausted';
  if (status === 429) return 'model_rate_limited';
  if (/context.{0,20}(length|window)|maximum context|too many tokens/i.test(message)) return 'model_context_exceeded';
  return 'model_error';
};

/** What the endpoint itself said of an error, in short. */
function said(message: string): string {
  try {
    const { error } = JSON.parse(message) as { error?: { message?: string } | string };
    return (typeof error === 'string' ? error : error?.message) ?? message;
  } catch {
    return message;
  }
}

export interface ModelWatch {
  /** @returns why the attempt must end now, or undefined while it may go on */
  see(answer: ModelAnswer): AttemptFailure | undefined;
  /** The newest failure, when the last answer was one. */
  failing(): AttemptFailure | undefined;
}

export function createModelWatch(): ModelWatch {
  let inARow = 0;
  let newest: AttemptFailure | undefined;
  return {
    failing: () => newest,
    see: (answer) => {
      if (typeof answer.status === 'number' && answer.status < 400) {
        inARow = 0;
        newest = undefined;
        return undefined;
      }
      inARow += 1;
      const reason = reasonOf(answer);
      const detail = `The model endpoint ${answer.status === 'unreachable' ? 'could not be reached' : `answered ${answer.status}`}: ${said(answer.message).slice(0, 500)}`;
      newest = new AttemptFailure(reason, detail, answer.retryAfterMs === undefined ? {} : { retryAfterMs: answer.retryAfterMs });
      const final = reason === 'model_unauthorized' || reason === 'model_quota_exhausted';
      const tooLong = (answer.retryAfterMs ?? 0) > longestWaitMs;
      const tooOften = inARow >= (reason === 'model_unreachable' ? mostUnreachable : mostFailures);
      return final || tooLong || tooOften ? newest : undefined;
    },
  };
}
