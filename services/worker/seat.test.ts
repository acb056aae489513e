import { fork } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { takeSeat } from './seat.ts';

let dir: string;
beforeEach(async () => void (dir = await mkdtemp(join(tmpdir(), 'tb-seat-'))));
afterEach(() => rm(dir, { recursive: true, force: true }));

test('two workers never sit on one seat, and a freed one is taken again', async () => {
  const first = await takeSeat(dir);
  const second = await takeSeat(dir);
  expect(second.dir).not.toBe(first.dir);
  first[Symbol.dispose]();
  using third = await takeSeat(dir);
  expect(third.dir).toBe(first.dir);
  second[Symbol.dispose]();
});

test('the seat of a worker that was killed is free', async () => {
  const script = join(dir, 'sit.ts');
  const module = new URL('./seat.ts', import.meta.url).href;
  await writeFile(
    script,
    `import { takeSeat } from '${module}';\nconst seat = await takeSeat('${dir}');\nprocess.send?.(seat.dir);\nprocess.on('message', () => seat);\n`,
  );
  const other = fork(script, { execArgv: [] });
  const [taken] = (await once(other, 'message')) as [string];
  {
    using mine = await takeSeat(dir);
    expect(mine.dir).not.toBe(taken);
  }
  other.kill('SIGKILL');
  await once(other, 'exit');
  using mine = await takeSeat(dir);
  expect(mine.dir).toBe(taken);
});
