import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { loadConfig } from '@taskbridge/platform';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { sampleRepository } from '../../../test/support/repo.ts';
import { describeProject } from './project.ts';

let dir: string;
beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), 'tb-project-'));
});
afterEach(() => rm(dir, { recursive: true, force: true }));
const config = () => loadConfig({ TASKBRIDGE_DATA_DIR: join(dir, 'data') }, dir);

test.each([
  ['my repo', 'my-repo'],
  ['überall.git', 'berall'],
  ['plain', 'plain'],
])('a repository in "%s" is named %s', async (folder, name) => {
  await sampleRepository(join(dir, folder));
  expect(await describeProject(join(dir, folder), {}, config())).toMatchObject({
    name,
    kind: 'path',
    baseBranch: 'main',
    host: expect.any(String),
  });
});

test('a name that is given is not bent, but refused with where to look', async () => {
  await sampleRepository(join(dir, 'plain'));
  await expect(describeProject(join(dir, 'plain'), { name: 'no good' }, config())).rejects.toThrow(
    /name is not usable.*project add --help/,
  );
});

test('a password in a URL is refused before anything is asked of it', async () => {
  await expect(describeProject('https://me:s3cret@127.0.0.1:1/x.git', {}, config())).rejects.toThrow(/holds a password/);
});
