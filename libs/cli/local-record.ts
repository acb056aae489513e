/** Commands of the local administrator work on the record itself: no gateway need run. */
import { type Config, loadConfig, paths } from '@taskbridge/platform';
import { openRecord, type TaskRecord } from '@taskbridge/record';
import { CliError } from './errors.ts';

/** Who the record's events name. */
export const localActor = 'cli';

/** Opens the record of this configuration for one piece of work. @throws CliError when it can't be opened */
export async function useRecord<T>(config: Config, work: (record: TaskRecord) => T | Promise<T>): Promise<T> {
  const record = open(paths(config).record);
  try {
    return await work(record);
  } finally {
    record.close();
  }
}

/** The same with the configuration of the environment. */
export function withRecord<T>(work: (record: TaskRecord, config: Config) => T | Promise<T>): Promise<T> {
  const config = loadConfig();
  return useRecord(config, (record) => work(record, config));
}

function open(dataDir: string): TaskRecord {
  try {
    return openRecord({ dataDir });
  } catch (error) {
    throw new CliError(`The record in ${dataDir} can't be opened: ${(error as Error).message}`, 'failed', error);
  }
}
