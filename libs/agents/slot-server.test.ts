/** When a server is kept, and when it is replaced. With the real OpenCode. */
import { mkdir, mkdtemp, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createLog } from '@taskbridge/platform';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { createSlotServer } from './slot-server.ts';
import type { AgentPoolOptions } from './types.ts';

let dir: string;
beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), 'tb-slot-'));
  await mkdir(join(dir, 'mirror.git'));
  await mkdir(join(dir, 'slot'));
});
afterEach(() => rm(dir, { recursive: true, force: true }));

const open = (options: Partial<AgentPoolOptions> = {}) =>
  createSlotServer(
    join(dir, 'slot'),
    {
      slotsDir: dir,
      slots: 1,
      warm: 0,
      model: { model: 'scripted/model', baseUrl: 'http://127.0.0.1:9/v1', contextTokens: 1_000, outputTokens: 100 },
      sandbox: 'auto',
      maxAgeMs: 3_600_000,
      maxMemoryBytes: 8e9,
      startTimeoutMs: 60_000,
      ...options,
    },
    undefined,
    createLog('test', { log_format: 'text', log_level: 'error' }),
  );
const at = (projectId: string) => ({ gitDir: join(dir, 'mirror.git'), projectId });

test('a server is kept for its project, replaced when it died, and made anew with an empty home for another project', async () => {
  const slot = open();
  const first = await slot.serve(at('p_1'));
  await writeFile(join(dir, 'slot/home/left-by-p1'), 'x');
  expect(await slot.serve(at('p_1'))).toBe(first);
  await first.server.stop();
  const second = await slot.serve(at('p_1'));
  expect(second).not.toBe(first);
  expect((await stat(join(dir, 'slot/home/left-by-p1'))).isFile()).toBe(true);
  expect(await slot.serve(at('p_2'))).not.toBe(second);
  expect(second.server.alive).toBe(false);
  await expect(stat(join(dir, 'slot/home/left-by-p1'))).rejects.toThrow('ENOENT');
  await slot.stop();
  expect(slot.warm()).toBeUndefined();
}, 120_000);

test.each([
  ['too old', { maxAgeMs: -1 }],
  ['too big', { maxMemoryBytes: 1 }],
])(
  'a server that is %s is not given to another attempt',
  async (_name, limit) => {
    const slot = open(limit);
    const first = await slot.serve(at('p_1'));
    expect(await slot.fit()).toBe(false);
    expect(await slot.serve(at('p_1'))).not.toBe(first);
    expect(first.server.alive).toBe(false);
    await slot.stop();
  },
  120_000,
);
