import Sqlite from 'better-sqlite3';
import { expect, test, vi } from 'vitest';
import { createGroupCommit } from './group-commit.ts';

function open() {
  const statements: string[] = [];
  const db = new Sqlite(':memory:', { verbose: (statement) => statements.push(String(statement)) });
  db.exec('CREATE TABLE t (n INTEGER)');
  const committed = vi.fn();
  const insert = db.prepare('INSERT INTO t VALUES (?)');
  const commits = () => statements.filter((statement) => statement === 'COMMIT').length;
  const rows = () => db.prepare('SELECT n FROM t ORDER BY n').pluck().all();
  return { group: createGroupCommit(db, committed), insert, commits, rows, committed };
}

test('what arrives in one turn shares one commit; a refusal undoes itself alone', async () => {
  const { group, insert, commits, rows, committed } = open();
  const outcomes = await Promise.allSettled([
    group.run(() => insert.run(1).changes),
    group.run(() => {
      insert.run(2);
      throw new Error('refused');
    }),
    group.run(() => insert.run(3).changes),
  ]);
  expect(outcomes.map((o) => o.status)).toEqual(['fulfilled', 'rejected', 'fulfilled']);
  expect(rows()).toEqual([1, 3]);
  expect(commits()).toBe(1);
  expect(committed).toHaveBeenCalledTimes(1);
});

test('a lone one is committed in the same turn of the event loop, before any timer', async () => {
  const { group, insert, commits } = open();
  let timerFired = false;
  const timer = setTimeout(() => {
    timerFired = true;
  }, 50);
  await group.run(() => insert.run(1));
  expect(commits()).toBe(1);
  expect(timerFired).toBe(false);
  clearTimeout(timer);
});

test('a commit that fails rejects all of its group', async () => {
  const db = new Sqlite(':memory:');
  const group = createGroupCommit(db, () => undefined);
  const lost = () => db.exec('ROLLBACK; SELECT * FROM missing');
  const outcomes = await Promise.allSettled([group.run(() => 1), group.run(lost), group.run(() => 3)]);
  expect(outcomes.map((o) => o.status)).toEqual(['rejected', 'rejected', 'rejected']);
});
