/** What must survive a kill -9, two processes at once, and a newer database. */
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import Sqlite from 'better-sqlite3';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { databaseFile, openDatabase } from './database.ts';
import { acquireInstanceLock } from './instance-lock.ts';
import { openRecord } from './record.ts';

const face = fileURLToPath(new URL('./index.ts', import.meta.url));
const contract = fileURLToPath(new URL('../contract/index.ts', import.meta.url));
const operator = { clientId: 'c', clientName: 'c', operator: true };
let dir: string;
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'tb-rec-'));
});
afterEach(() => rmSync(dir, { recursive: true, force: true }));

/** A process that runs `body` with the record's face, and sends messages. */
function child(body: string) {
  const file = join(dir, `child-${Math.random().toString(36).slice(2)}.ts`);
  writeFileSync(file, `import * as face from '${face}';\nimport { submitSchema } from '${contract}';\nconst dir = '${dir}';\n${body}`);
  return fork(file, { execArgv: [] });
}
const submitting = `
const record = face.openRecord({ dataDir: dir });
const { info } = record.tokens.create('child-' + process.pid, { operator: false }, 'test');
const by = { clientId: info.clientId, clientName: info.clientName, operator: false };
for (;;) {
  const [submitted] = await record.tasks.submit(by, [submitSchema.parse({ project: 'sample', goal: 'g' })]);
  await new Promise((resolve) => process.send(submitted.task.id, resolve));
}`;
const prepare = () => {
  const record = openRecord({ dataDir: dir });
  record.projects.add({ name: 'sample', source: '/x', kind: 'path', host: 'here', baseBranch: 'main', checks: [] }, 'test');
  return record;
};

test('what was acknowledged is there after a kill -9, also with two processes submitting at once', async () => {
  prepare().close();
  const acknowledged: string[] = [];
  const children = [child(submitting), child(submitting)];
  await Promise.all(
    children.map(
      (one) =>
        new Promise<void>((resolve) => {
          let count = 0;
          one.on('message', (id) => {
            acknowledged.push(String(id));
            count += 1;
            if (count === 100) resolve();
          });
        }),
    ),
  );
  for (const one of children) one.kill('SIGKILL');
  await Promise.all(children.map((one) => once(one, 'exit')));
  const record = openRecord({ dataDir: dir });
  for (const id of acknowledged) expect(record.tasks.get(operator, id).state).toBe('ready');
  record.close();
});

test('several processes may open a new record at once', async () => {
  const codes = await Promise.all(
    Array.from({ length: 4 }, async () => {
      const [code] = await once(child('face.openRecord({ dataDir: dir }).close(); process.disconnect();'), 'exit');
      return code as number;
    }),
  );
  expect(codes).toEqual([0, 0, 0, 0]);
});

test('a database of a newer version is refused, and left as it is', () => {
  openDatabase(dir).close();
  const db = new Sqlite(databaseFile(dir));
  db.pragma('user_version = 999');
  db.close();
  expect(() => openRecord({ dataDir: dir })).toThrow(/schema 999/);
});

test('a record that is up to date is opened while another one writes', () => {
  const writer = openDatabase(dir);
  writer.exec('BEGIN IMMEDIATE');
  openDatabase(dir).close();
  writer.exec('COMMIT');
  writer.close();
}, 5_000);

test('events can be neither changed nor deleted', () => {
  prepare().close();
  const db = new Sqlite(databaseFile(dir));
  expect(() => db.exec("UPDATE events SET type = 'x'")).toThrow('append-only');
  expect(() => db.exec('DELETE FROM events')).toThrow('append-only');
  db.close();
});

test("another process's commit wakes a watcher, without Redis", async () => {
  const record = prepare();
  const woken = new Promise<void>((resolve) => {
    const before = record.events.last();
    const stop = record.events.watch(() => {
      if (record.events.last() === before) return;
      stop();
      resolve();
    });
  });
  const other = child("face.openRecord({ dataDir: dir }).tokens.create('x', { operator: false }, 'test'); process.disconnect();");
  await Promise.all([woken, once(other, 'exit')]);
  record.close();
});

test('one instance per folder: the second is told who holds it, and a kill -9 of the holder frees it', async () => {
  const file = join(dir, 'instance.lock');
  const holder = child(`face.acquireInstanceLock('${file}'); process.send('held'); setInterval(() => {}, 1000);`);
  await once(holder, 'message');
  expect(acquireInstanceLock(file)).toEqual({ heldByPid: holder.pid });
  holder.kill('SIGKILL');
  await once(holder, 'exit');
  const lock = acquireInstanceLock(file);
  expect(lock).toHaveProperty('release');
  if ('release' in lock) lock.release();
});
