import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createLog } from '@taskbridge/platform';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { succeeded } from './ending.ts';
import { makeReport } from './report.ts';
import { cleaner } from './safe-text.ts';
import { openSpool, type Spooled } from './spool.ts';
import { testAttempt, testWorker } from './test-attempt.ts';

const log = createLog('test', { log_format: 'json', log_level: 'fatal' as 'error' });
let dir: string;
beforeEach(async () => void (dir = await mkdtemp(join(tmpdir(), 'tb-spool-'))));
afterEach(() => rm(dir, { recursive: true, force: true }));

function entry(): Spooled {
  const { attempt } = testAttempt();
  attempt.known.parcels.push({ name: 'check-1', mediaType: 'text/plain', truncated: false, content: Buffer.from([0, 255, 10, 0, 13]) });
  attempt.known.parcels.push({ name: 'check-2', mediaType: 'text/plain', truncated: true, content: Buffer.alloc(3_000_000, 'z') });
  attempt.end(succeeded('Done.'));
  return makeReport(attempt, { worker: testWorker, clean: cleaner([]), config: { model: 'p/m', log_limit_bytes: 1_000 } });
}

test('what is put is read again to the byte, also by another worker', async () => {
  const spooled = entry();
  await (await openSpool(dir, log)).put(spooled);
  const other = await openSpool(dir, log);
  expect(await other.list()).toEqual(['t_one-a1']);
  expect(await other.read('t_one-a1')).toEqual(spooled);
  await other.remove('t_one-a1');
  await other.remove('t_one-a1');
  expect(await other.list()).toEqual([]);
  expect(await other.read('t_one-a1')).toBeUndefined();
});

test.each([
  ['damaged', (whole: Buffer) => (whole.writeUInt8(whole.readUInt8(whole.length - 1) ^ 1, whole.length - 1), whole)],
  ['cut short', (whole: Buffer) => whole.subarray(0, whole.length / 2)],
  ['empty', () => Buffer.alloc(0)],
])('a %s file is set aside and blocks nothing', async (_, damage) => {
  const spool = await openSpool(dir, log);
  await spool.put(entry());
  const file = join(dir, 't_one-a1.spool');
  await writeFile(file, damage(await readFile(file)));
  expect(await spool.read('t_one-a1')).toBeUndefined();
  expect(await spool.list()).toEqual([]);
  expect(await readdir(dir)).toEqual(['t_one-a1.spool.corrupt']);
});
