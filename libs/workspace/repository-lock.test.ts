import { fork } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { withRepositoryLock } from './repository-lock.ts';

let dir: string;
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'tb-lock-'));
});
afterEach(() => rmSync(dir, { recursive: true, force: true }));

test('within a process, one at a time and in order', async () => {
  const order: string[] = [];
  await Promise.all(
    ['a', 'b', 'c'].map((name) =>
      withRepositoryLock(join(dir, 'r.lock'), undefined, async () => {
        order.push(`${name} in`);
        await new Promise(setImmediate);
        order.push(`${name} out`);
      }),
    ),
  );
  expect(order).toEqual(['a in', 'a out', 'b in', 'b out', 'c in', 'c out']);
});

test('another process holds it until it ends, also by kill -9; a failure gives it back', async () => {
  const file = join(dir, 'r.lock');
  const script = join(dir, 'holder.ts');
  const module = fileURLToPath(new URL('./repository-lock.ts', import.meta.url));
  writeFileSync(
    script,
    `import { withRepositoryLock } from '${module}';\nawait withRepositoryLock('${file}', undefined, () => { process.send('held'); return new Promise((r) => setTimeout(r, 60_000)); });`,
  );
  const holder = fork(script, { execArgv: [] });
  await once(holder, 'message');
  let mine = false;
  const waiting = withRepositoryLock(file, undefined, async () => {
    mine = true;
  });
  await expect(withRepositoryLock(file, AbortSignal.timeout(200), async () => undefined)).rejects.toThrow();
  expect(mine).toBe(false);
  holder.kill('SIGKILL');
  await waiting;
  expect(mine).toBe(true);
  await expect(withRepositoryLock(file, undefined, () => Promise.reject(new Error('work failed')))).rejects.toThrow('work failed');
  expect(await withRepositoryLock(file, undefined, async () => 'again')).toBe('again');
});
