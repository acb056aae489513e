/** Applies the reports that wait, each once and each for itself. */
import type { Broker } from '@taskbridge/broker';
import type { Log } from '@taskbridge/platform';
import type { TaskRecord } from '@taskbridge/record';

export interface Reports {
  /** Applies the report of one attempt, if one waits. @returns true when it settled the attempt */
  apply(attemptId: string): Promise<boolean>;
  /** Applies all that wait. @returns how many settled an attempt */
  applyWaiting(): Promise<number>;
}

export function createReports(record: TaskRecord, broker: Broker, log: Log): Reports {
  const settle = async (attemptId: string): Promise<boolean> => {
    const found = await read(attemptId);
    if (found === undefined) return false;
    const applied =
      found === 'unreadable'
        ? record.settle.lost(attemptId, 'Its report could not be read.', 'reaper', 'internal_error')
        : record.settle.report(found.report, found.parcels);
    // Whatever the record made of it, there is nothing more to come of this report.
    await broker.acknowledge(attemptId);
    const outcome = found === 'unreadable' ? undefined : found.report.outcome;
    log.info({ attempt: attemptId, outcome, applied }, applied === 'applied' ? 'report applied' : 'report refused');
    return applied === 'applied';
  };

  /** A report that breaks the contract can't be applied now or later; one that Redis does not give can be read again. */
  const read = async (attemptId: string) => {
    try {
      return await broker.readReport(attemptId);
    } catch (err) {
      if (!isMalformed(err)) throw err;
      log.error({ err, attempt: attemptId }, 'a report could not be read');
      return 'unreadable' as const;
    }
  };

  const apply = async (attemptId: string): Promise<boolean> => {
    try {
      return await settle(attemptId);
    } catch (err) {
      // One report that can't be applied now must not keep the others back: it waits, and the next sweep tries again.
      log.warn({ err, attempt: attemptId }, 'a report could not be applied yet');
      return false;
    }
  };

  return {
    apply,
    applyWaiting: async () => {
      let settled = 0;
      for (const attemptId of await broker.waitingReports()) if (await apply(attemptId)) settled += 1;
      return settled;
    },
  };
}

/** JSON, schema and decompression errors: the bytes are wrong, not the moment. */
const isMalformed = (error: unknown): boolean =>
  error instanceof SyntaxError ||
  (error as { name?: string }).name === 'ZodError' ||
  String((error as { code?: string }).code).startsWith('Z_');
