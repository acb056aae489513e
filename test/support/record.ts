/** A record of a test's own in a temp folder, with one client and one project. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type SubmitInput, submitSchema } from '@taskbridge/contract';
import { openRecord, type Principal, type TaskRecord } from '@taskbridge/record';
import { afterEach } from 'vitest';

export interface TestRecord {
  record: TaskRecord;
  /** The data folder of a stack, and the record's own below it. */
  folder: string;
  dataDir: string;
  client: Principal;
  /** Records one task, and returns its id. */
  submit(input?: Partial<SubmitInput>): Promise<string>;
}

/** Makes records that are closed and removed after each test. */
export function withRecord(): { open(): TestRecord } {
  const opened: TestRecord[] = [];
  afterEach(() => {
    for (const { record, folder } of opened.splice(0)) {
      record.close();
      rmSync(folder, { recursive: true, force: true });
    }
  });
  return {
    open() {
      const folder = mkdtempSync(join(tmpdir(), 'tb-record-'));
      const dataDir = join(folder, 'record');
      const record = openRecord({ dataDir });
      const { info } = record.tokens.create('tester', { operator: false }, 'test');
      const client = { clientId: info.clientId, clientName: info.clientName, operator: info.operator };
      record.projects.add({ name: 'sample', source: '/nowhere', kind: 'path', host: 'here', baseBranch: 'main', checks: [] }, 'test');
      const submit = async (input: Partial<SubmitInput> = {}) => {
        const [submitted] = await record.tasks.submit(client, [submitSchema.parse({ goal: 'do it', project: 'sample', ...input })]);
        return submitted?.task.id as string;
      };
      const made = { record, folder, dataDir, client, submit };
      opened.push(made);
      return made;
    },
  };
}
