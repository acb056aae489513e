import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { bubblewrapPackage, ensureSystemPackage, installCommands, installHint, isInstalled, redisPackage } from './system-packages.ts';

let dir: string;
const path = process.env['PATH'];
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'tb-path-'));
});
afterEach(() => {
  process.env['PATH'] = path;
  rmSync(dir, { recursive: true, force: true });
});

function program(name: string, body = 'exit 0'): void {
  writeFileSync(join(dir, name), `#!/bin/sh\n${body}\n`);
  chmodSync(join(dir, name), 0o755);
}

test('a program is found only where it can be run', () => {
  expect(isInstalled('redis-server', dir)).toBe(false);
  writeFileSync(join(dir, 'redis-server'), '');
  expect(isInstalled('redis-server', dir)).toBe(process.platform === 'win32');
  program('redis-server');
  expect(isInstalled('redis-server', dir)).toBe(true);
});

test('Debian installs by itself only for root, Homebrew for anyone', () => {
  program('apt-get');
  program('brew');
  expect(installCommands(redisPackage, { platform: 'linux', root: true, path: dir })).toEqual([
    ['apt-get', 'update', '-q'],
    ['apt-get', 'install', '-y', '-q', '--no-install-recommends', 'redis-server'],
  ]);
  expect(installCommands(redisPackage, { platform: 'linux', root: false, path: dir })).toBeUndefined();
  expect(installCommands(redisPackage, { platform: 'darwin', root: false, path: dir })).toEqual([['brew', 'install', 'redis']]);
  expect(installCommands(bubblewrapPackage, { platform: 'darwin', root: false, path: dir })).toBeUndefined();
});

test('the hint is one line a person can type', () => {
  program('apt-get');
  expect(installHint(redisPackage, { platform: 'linux', root: false, path: dir })).toBe('sudo apt-get install redis-server');
  expect(installHint(redisPackage, { platform: 'darwin', root: false, path: dir })).toBe('brew install redis');
  expect(installHint(redisPackage, { platform: 'linux', root: true, path: '' })).toBe(
    "install redis-server with your system's package manager",
  );
});

test.runIf(process.platform === 'linux' && process.getuid?.() === 0)(
  'a missing program is installed, and a failed install says why',
  async () => {
    const said: string[] = [];
    process.env['PATH'] = [dir, '/usr/bin', '/bin'].join(delimiter);
    const wanted = { program: 'tb-test-program', purpose: 'this test', debian: 'tb-test-package' };
    program('apt-get', `case "$1" in install) printf '#!/bin/sh\\n' > ${dir}/tb-test-program; chmod +x ${dir}/tb-test-program;; esac`);
    expect(await ensureSystemPackage(wanted, (line) => said.push(line))).toBeUndefined();
    expect(said).toEqual(['Installing tb-test-package for this test …']);

    rmSync(join(dir, 'tb-test-program'));
    program('apt-get', 'echo "E: no network"; exit 100');
    expect(await ensureSystemPackage(wanted, () => undefined)).toBe(
      'tb-test-program is not installed; it is needed for this test, and "apt-get update -q" failed: E: no network',
    );
  },
);
