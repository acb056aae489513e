import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { afterEach, expect, test } from 'vitest';
import { endLeftovers, stackMark } from './leftovers.ts';

const started: ChildProcess[] = [];
afterEach(() => {
  for (const child of started.splice(0)) child.kill('SIGKILL');
});

/** A process such as a stack on `dataDir` leaves; resolves when it runs. */
async function leftover(dataDir: string, body: string): Promise<ChildProcess> {
  const script = `${body}; setInterval(() => {}, 1000); process.stdout.write('.')`;
  const child = spawn(process.execPath, ['-e', script, '--', stackMark(dataDir)], { stdio: ['ignore', 'pipe', 'ignore'] });
  started.push(child);
  await once(child.stdout, 'data');
  return child;
}

test('ends what is left of this stack and nothing else', async () => {
  const ours = await leftover('/data/one', '0');
  const other = await leftover('/data/one-more', '0');
  const ended = once(ours, 'exit');
  const said: string[] = [];
  await endLeftovers('/data/one', 10_000, (line) => said.push(line));
  expect(await ended).toEqual([null, 'SIGTERM']);
  expect(other.exitCode ?? other.signalCode).toBeNull();
  expect(said).toHaveLength(1);
});

test('kills what does not stop in time', async () => {
  const stubborn = await leftover('/data/two', "process.on('SIGTERM', () => {})");
  const ended = once(stubborn, 'exit');
  await endLeftovers('/data/two', 50, () => undefined);
  expect(await ended).toEqual([null, 'SIGKILL']);
});

test('says nothing when nothing is left', async () => {
  const said: string[] = [];
  await endLeftovers('/data/three', 50, (line) => said.push(line));
  expect(said).toEqual([]);
});
