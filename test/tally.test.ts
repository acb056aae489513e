/** The count of a real run of vitest over a folder of its own. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { execa } from 'execa';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { lastLine } from './tally.ts';

const root = fileURLToPath(new URL('..', import.meta.url));
let dir: string;
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'tb-tally-'));
});
afterEach(() => rmSync(dir, { recursive: true, force: true }));

/** Runs the given test files with vitest in a process of its own and counts. */
async function count(files: Record<string, string>): Promise<unknown> {
  for (const [name, body] of Object.entries(files)) writeFileSync(join(dir, name), body);
  const options = { root: dir, config: false, globals: true, run: true, watch: false, reporters: [[join(dir, 'silent.mjs'), {}]] };
  writeFileSync(join(dir, 'silent.mjs'), 'export default class {}');
  const script = `
    import { startVitest } from 'vitest/node';
    import { countResults } from './test/tally.ts';
    const vitest = await startVitest([], ${JSON.stringify(options)});
    const results = countResults(vitest.state.getTestModules(), vitest.state.getUnhandledErrors().length);
    await vitest.close();
    process.stdout.write(JSON.stringify(results), () => process.exit(0));`;
  const { stdout } = await execa(process.execPath, ['--input-type=module', '-e', script], {
    cwd: root,
    stdin: 'ignore',
    env: { VITEST: '' },
  });
  return JSON.parse(stdout.split('\n').at(-1) ?? '');
}

test('counts tests by how they ended', async () => {
  const results = await count({ 'a.test.mjs': "test('p', () => {}); test('f', () => { throw new Error() }); test.skip('s', () => {});" });
  expect(results).toEqual({ passed: 1, failed: 1, skipped: 1 });
});

test('a file that does not load, a failed hook and an error that nothing caught are failures', async () => {
  const results = await count({
    'load.test.mjs': "throw new Error('no');",
    'hook.test.mjs': "afterAll(() => { throw new Error('hook'); }); test('p', () => {});",
    'stray.test.mjs':
      "test('p', () => { setTimeout(() => { throw new Error('stray'); }); return new Promise((r) => setTimeout(r, 50)); });",
  });
  expect(results).toEqual({ passed: 2, failed: 3, skipped: 0 });
});

test('the last line', () => {
  expect(lastLine({ passed: 3, failed: 0, skipped: 0 })).toBe('3 passed, 0 failed');
  expect(lastLine({ passed: 3, failed: 1, skipped: 2 })).toBe('3 passed, 1 failed, 2 skipped');
});
