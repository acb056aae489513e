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
  /** Word of one report comes from several sides at once; it is read once. */
  const underWay = new Map<string, Promise<boolean>>();

  const settle = async (attemptId: string): Promise<boolean> => {
    const found = await readAndApply(attemptId);
    if (found === undefined) return false;
    // Whatever the record made of it, there is nothing more to come of this report.
    await broker.acknowledge(attemptId);
    log.info({ attempt: attemptId, ...found }, found.applied === 'applied' ? 'report applied' : 'report refused');
    return found.applied === 'applied';
  };

  const readAndApply = async (attemptId: string) => {
    try {
      const found = await broker.readReport(attemptId);
      return found && { outcome: found.report.outcome, applied: record.settle.report(found.report, found.parcels) };
    } catch (err) {
      if (!isMalformed(err)) throw err;
      log.error({ err, attempt: attemptId }, 'a report could not be read');
      const applied = record.settle.lost(
        attemptId,
        'Its report could not be read; the log of the reaper says why.',
        'reaper',
        'internal_error',
      );
      return { outcome: 'failed', applied };
    }
  };

  const attempt = async (attemptId: string): Promise<boolean> => {
    try {
      return await settle(attemptId);
    } catch (err) {
      // One report that can't be applied now must not keep the others back: it waits, and the next sweep tries again.
      log.warn({ err, attempt: attemptId }, 'a report could not be applied yet');
      return false;
    }
  };
  const apply = (attemptId: string): Promise<boolean> => {
    const applying = underWay.get(attemptId) ?? attempt(attemptId).finally(() => underWay.delete(attemptId));
    underWay.set(attemptId, applying);
    return applying;
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

/** JSON, schema, decompression and constraint errors: the report is wrong, not the moment. */
const isMalformed = (error: unknown): boolean =>
  error instanceof SyntaxError ||
  (error as { name?: string }).name === 'ZodError' ||
  /^(Z_|SQLITE_CONSTRAINT)/.test(String((error as { code?: string }).code));
