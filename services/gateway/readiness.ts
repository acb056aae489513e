/** Whether the gateway can take work, and what is the matter when not. */
import type { Broker } from '@taskbridge/broker';
import type { TaskRecord } from '@taskbridge/record';

interface PartState {
  ok: boolean;
  reason?: string;
}

export interface Readiness {
  ready: boolean;
  record: PartState;
  redis: PartState;
  stopping: boolean;
}

/** Ready while the record answers. Redis may be away: a submit needs none, and is handed out when it is back. */
export function readinessOf(record: Pick<TaskRecord, 'healthy'>, broker: Pick<Broker, 'ready'>, stopping: AbortSignal): Readiness {
  const healthy = record.healthy();
  return {
    ready: healthy && !stopping.aborted,
    record: healthy ? { ok: true } : { ok: false, reason: 'The record does not answer.' },
    redis: broker.ready ? { ok: true } : { ok: false, reason: 'Redis does not answer. Tasks are accepted and start when it is back.' },
    stopping: stopping.aborted,
  };
}
