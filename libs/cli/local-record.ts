/** Commands of the local administrator work on the record itself: no gateway need run. */
import { type Config, loadConfig, paths } from '@taskbridge/platform';
import { openRecord, type TaskRecord } from '@taskbridge/record';

/** Who the record's events name. */
export const localActor = 'cli';

/** Opens the record of this configuration for one piece of work. */
export async function withRecord<T>(work: (record: TaskRecord, config: Config) => T | Promise<T>): Promise<T> {
  const config = loadConfig();
  const record = openRecord({ dataDir: paths(config).record });
  try {
    return await work(record, config);
  } finally {
    record.close();
  }
}
