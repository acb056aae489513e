/** A submit whose answer was lost is sent again by the client: the same key then leads to the same task. */
import type { Submit } from '@taskbridge/contract';

/** Keeps keys the gateway gives apart from those a planner chooses. */
const prefix = 'tool-use:';

/** Gives each submit without a key of its own one made of the id of the tool use; within a batch also of its place. */
export function keyed(batch: Submit[], toolUseId: string | undefined, inBatch = false): Submit[] {
  if (toolUseId === undefined) return batch;
  return batch.map((submit, place) => ({
    ...submit,
    idempotency_key: submit.idempotency_key ?? `${prefix}${toolUseId}${inBatch ? `#${place}` : ''}`,
  }));
}
