/** The checks that run no code of ours: types, and format and lint. */
import { fileURLToPath } from 'node:url';
import { execa } from 'execa';
import { expect, test } from 'vitest';

const root = fileURLToPath(new URL('../..', import.meta.url));

/** Runs a program of the packages; its whole output is the failure's message. */
async function clean(program: string, ...args: string[]) {
  const done = await execa(program, args, { cwd: root, preferLocal: true, localDir: root, all: true, reject: false, stdin: 'ignore' });
  expect(done.exitCode, done.all || done.shortMessage).toBe(0);
}

test('types hold (tsc)', async () => {
  await clean('tsc');
}, 180_000);

test('format and lint hold (biome)', async () => {
  await clean('biome', 'check', '.');
}, 180_000);
