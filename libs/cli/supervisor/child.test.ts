import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { type Child, ChildFailed, type ChildHost, createChild, type Pace } from './child.ts';

let dir: string;
let children: Child[];
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'tb-child-'));
  children = [];
});
afterEach(async () => {
  for (const child of children) child.kill();
  rmSync(dir, { recursive: true, force: true });
});

const quick: Pace = { first: 10, most: 80, quiet: 60_000, start: 20_000 };

/** A child that runs `body`, and the lines that were said about it, with a way to wait for one. */
function standIn(body: string, options: { pace?: Partial<Pace>; stopMs?: number } = {}) {
  const script = join(dir, 'child.mjs');
  writeFileSync(script, body);
  const lines: { line: string; fields: Record<string, unknown> }[] = [];
  const waiting: { part: string; resolve: () => void }[] = [];
  const host: ChildHost = {
    output: 'inherit',
    pace: { ...quick, ...options.pace },
    notice: (_level, line, fields) => {
      lines.push({ line, fields });
      for (const one of waiting) if (line.includes(one.part)) one.resolve();
    },
  };
  const child = createChild({ name: 'stand-in', script, args: [], env: process.env, stopMs: options.stopMs ?? 10_000 }, host);
  children.push(child);
  const said = (part: string) => new Promise<void>((resolve) => waiting.push({ part, resolve }));
  return { child, lines, said };
}

const ready = `process.send({ type: 'ready', service: 'stand-in', url: 'http://127.0.0.1:1' });`;
const stays = 'setInterval(() => {}, 1000);';
const alive = (pid: number) => {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
};

test('a child that serves says where', async () => {
  const { child } = standIn(`${ready}${stays}`);
  await child.start();
  expect(child.url).toBe('http://127.0.0.1:1');
  const pid = child.pid as number;
  await child.stop();
  expect(alive(pid)).toBe(false);
});

test('a child that dies is started again, and stays with its new process', async () => {
  const { child, said } = standIn(`${ready}${stays}`);
  await child.start();
  const before = child.pid as number;
  const again = said('serves again');
  process.kill(before, 'SIGKILL');
  await again;
  expect(child.pid).not.toBe(before);
  expect(alive(child.pid as number)).toBe(true);
});

test('the pauses between restarts double up to the cap', async () => {
  const mark = join(dir, 'runs');
  const { child, lines, said } = standIn(
    `import { appendFileSync, readFileSync } from 'node:fs';
     appendFileSync(${JSON.stringify(mark)}, 'x');
     ${ready}
     if (readFileSync(${JSON.stringify(mark)}, 'utf8').length < 7) process.disconnect(); else ${stays}`,
  );
  const steady = said('serves again');
  await child.start();
  await steady;
  while (readFileSync(mark, 'utf8').length < 7) await said('serves again');
  const pauses = lines.filter(({ line }) => line.includes('starting it again')).map(({ fields }) => fields['inMs']);
  expect(pauses).toEqual([10, 20, 40, 80, 80, 80]);
});

test('after a quiet time the next restart is quick again', async () => {
  const { child, lines, said } = standIn(`${ready}${stays}`, { pace: { quiet: 0 } });
  await child.start();
  for (let i = 0; i < 3; i += 1) {
    const again = said('serves again');
    process.kill(child.pid as number, 'SIGKILL');
    await again;
  }
  const pauses = lines.filter(({ line }) => line.includes('starting it again')).map(({ fields }) => fields['inMs']);
  expect(pauses).toEqual([10, 10, 10]);
});

test('a child that refuses its configuration is not started again', async () => {
  const { child, lines } = standIn('process.exit(78);');
  await expect(child.start()).rejects.toSatisfy((error) => error instanceof ChildFailed && error.configuration);
  expect(lines.map(({ line }) => line)).toEqual(['stand-in refuses its configuration; it is not started again']);
});

test('a child that never becomes ready fails the start after three tries', async () => {
  const { child, lines } = standIn('process.exit(1);');
  await expect(child.start()).rejects.toThrow('stand-in ended 3 times before it was ready (code 1).');
  expect(lines).toHaveLength(2);
});

test('a child that hangs in its start fails it', async () => {
  const { child } = standIn(stays, { pace: { start: 50 } });
  await expect(child.start()).rejects.toThrow('stand-in was not ready after 0.05 s.');
});

test('a child that ignores the request to stop is killed, with what it started', async () => {
  const { child, lines } = standIn(
    `import { spawn } from 'node:child_process';
     process.on('SIGTERM', () => {});
     const grandchild = spawn(process.execPath, ['-e', 'setInterval(() => {}, 1000)'], { stdio: 'ignore' });
     process.send({ type: 'ready', service: 'stand-in', url: String(grandchild.pid) });
     ${stays}`,
    { stopMs: 50 },
  );
  await child.start();
  await child.stop();
  expect(lines.at(-1)?.line).toBe('stand-in did not stop in time, killing it');
  // Killed at once; it stays in the table until whoever adopted it has looked.
  await vi.waitFor(() => expect(alive(Number(child.url))).toBe(false), 20_000);
});

test('a child that waits to be started again is not, once it is stopped', async () => {
  const { child, said } = standIn(`${ready}${stays}`, { pace: { first: 60_000 } });
  await child.start();
  const noticed = said('starting it again');
  process.kill(child.pid as number, 'SIGKILL');
  await noticed;
  await child.stop();
  expect(child.pid).toBeUndefined();
});
