import { existsSync } from 'node:fs';
import { chmod, mkdir, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Project } from '@taskbridge/contract';
import { createLog } from '@taskbridge/platform';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { fingerprint, git, sampleRepository } from '../../test/support/repo.ts';
import { inspectRepository } from './inspect.ts';
import { outOfScope } from './scope.ts';
import type { Tree, TreeRequest, Workspace } from './types.ts';
import { createWorkspace } from './workspace.ts';

let dir: string;
let repo: string;
let workspace: Workspace;
const log = createLog('test', { log_format: 'json', log_level: 'error' });
const newWorkspace = () =>
  createWorkspace({ mirrorsDir: join(dir, 'mirrors'), identity: { name: 'TaskBridge', email: 'bridge@example.com' } }, log);
const project = (): Project => ({ id: 'p_1', name: 'sample', source: repo, kind: 'path', host: 'h', baseBranch: 'main', checks: [] });
const request = (extra: Partial<TreeRequest> = {}): TreeRequest => ({
  project: project(),
  taskId: 't_1',
  attempt: 1,
  base: undefined,
  dependencyCommits: [],
  branch: 'taskbridge/work-1',
  path: join(dir, 'slots', '0', 'tree'),
  ...extra,
});
const capture = (tree: Tree) => tree.capture({ title: 'Do it', taskId: 't_1' }, 1_000_000);

beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), 'tb-ws-'));
  repo = join(dir, 'repo');
  await sampleRepository(repo, { dirty: true });
  workspace = newWorkspace();
});
afterEach(() => rm(dir, { recursive: true, force: true }));

test('work becomes one commit on the task branch, and the dirty checkout stays byte for byte', async () => {
  const before = await fingerprint(repo);
  await using tree = await workspace.open(request());
  expect(await readFile(join(tree.path, 'README.md'), 'utf8')).toBe('# Sample\n');
  await writeFile(join(tree.path, 'new file.txt'), 'hello\n');
  await rm(join(tree.path, 'src/add.test.js'));
  const patch = await capture(tree);
  expect(patch).toMatchObject({
    empty: false,
    filesTotal: 2,
    files: [
      { path: 'new file.txt', status: 'added', additions: 1 },
      { path: 'src/add.test.js', status: 'deleted', deletions: 2 },
    ],
  });
  expect(patch.diff.toString()).toContain('+hello');
  await tree.publish(patch.head);
  await tree.publish(patch.head);
  const shown = await git(repo, 'log', '-1', '--format=%P %an %(trailers:key=TaskBridge-Task,valueonly)', 'taskbridge/work-1');
  expect(shown.stdout.trim()).toBe(`${tree.base.commit} TaskBridge t_1`);
  expect(await fingerprint(repo)).toBe(before);
});

test('an unchanged tree is an empty patch and has no salvage', async () => {
  await using tree = await workspace.open(request());
  expect(await capture(tree)).toMatchObject({ empty: true, head: tree.base.commit });
  expect(await tree.salvage()).toBeUndefined();
});

test("the user's hooks, signing and filters have no say", async () => {
  await git(repo, 'config', 'commit.gpgSign', 'true');
  await git(repo, 'config', 'gpg.program', '/nonexistent');
  await git(repo, 'config', 'core.hooksPath', '.husky');
  await mkdir(join(repo, '.husky'));
  for (const hook of ['pre-commit', 'pre-push', 'update', 'pre-receive', 'post-receive', 'reference-transaction']) {
    await writeFile(join(repo, '.husky', hook), `#!/bin/sh\ntouch ${dir}/hook-ran\nexit 1\n`);
    await chmod(join(repo, '.husky', hook), 0o755);
  }
  await using tree = await workspace.open(request());
  await writeFile(join(tree.path, 'a.txt'), 'a\n');
  await tree.publish((await capture(tree)).head);
  expect(existsSync(join(dir, 'hook-ran'))).toBe(false);
  expect((await git(repo, 'show', 'taskbridge/work-1:a.txt')).stdout).toBe('a');
});

describe('what an agent leaves', () => {
  test('its own commits, a moved HEAD and leftovers are all in the one commit', async () => {
    await using tree = await workspace.open(request());
    await writeFile(join(tree.path, 'one.txt'), '1\n');
    await git(tree.path, 'checkout', '-q', '-b', 'elsewhere');
    await git(tree.path, 'add', '-A');
    await git(tree.path, 'commit', '-q', '-m', 'its own');
    await writeFile(join(tree.path, 'two.txt'), '2\n');
    const patch = await capture(tree);
    expect(patch.files.map((f) => f.path)).toEqual(['one.txt', 'two.txt']);
    expect((await git(workspace.mirrorPath('p_1'), 'rev-parse', `${patch.head}^`)).stdout).toBe(tree.base.commit);
  });

  test('ignored files stay out, odd names and bytes come through', async () => {
    await using tree = await workspace.open(request());
    await mkdir(join(tree.path, 'ignored'));
    await writeFile(join(tree.path, 'ignored/x'), 'x');
    const names = ['-dash.txt', 'new\nline.txt', 'quo"te.txt', 'ünï.txt'];
    for (const name of names) await writeFile(join(tree.path, name), 'x\n');
    await writeFile(join(tree.path, 'binary.bin'), Buffer.from([0, 1, 2, 255]));
    await writeFile(join(tree.path, 'latin1.txt'), Buffer.from([0x63, 0x61, 0x66, 0xe9, 0x0a]));
    const patch = await capture(tree);
    expect(patch.files.map((f) => f.path).toSorted()).toEqual([...names, 'binary.bin', 'latin1.txt'].toSorted());
    expect(patch.files.find((f) => f.path === 'binary.bin')).toMatchObject({ binary: true });
    expect(patch.diff.includes(Buffer.from([0x66, 0xe9]))).toBe(true);
  });

  test('a renamed file is told as renamed, under its new name', async () => {
    await using tree = await workspace.open(request());
    await git(tree.path, 'mv', 'src/add.test.js', 'src/sum.test.js');
    const { files, paths } = await capture(tree);
    expect(files).toMatchObject([{ path: 'src/sum.test.js', status: 'renamed' }]);
    // The scope is held against both: moving a file away changes the place it was in.
    expect(paths).toEqual(['src/add.test.js', 'src/sum.test.js']);
  });

  test('more files than a report lists are still all held against the scope', async () => {
    await using tree = await workspace.open(request());
    for (let i = 0; i < 600; i++) await writeFile(join(tree.path, `f${i}.txt`), 'x');
    const { files, filesTotal, paths } = await capture(tree);
    expect([files.length, filesTotal, paths.length]).toEqual([500, 600, 600]);
  });

  test('a repository made inside becomes plain files, and a false .git file leads nowhere', async () => {
    await using tree = await workspace.open(request());
    const evil = join(dir, 'evil');
    await sampleRepository(evil);
    await git(evil, 'config', 'core.fsmonitor', `touch ${dir}/fsmonitor-ran`);
    await sampleRepository(join(tree.path, 'nested'), { files: { 'inner.txt': 'inner\n' } });
    await writeFile(join(tree.path, '.git'), `gitdir: ${evil}/.git\n`);
    const patch = await capture(tree);
    expect(patch.files).toMatchObject([{ path: 'nested/inner.txt', status: 'added' }]);
    expect(existsSync(join(dir, 'fsmonitor-ran'))).toBe(false);
  });

  test('a large diff is cut at the limit and counted whole', async () => {
    await using tree = await workspace.open(request());
    await writeFile(join(tree.path, 'large.txt'), `${'x'.repeat(99)}\n`.repeat(10_000));
    const patch = await tree.capture({ title: 'Do it', taskId: 't_1' }, 1_000);
    expect(patch.diff.byteLength).toBe(1_000);
    expect(patch.diffTruncated).toBe(true);
    expect(patch.diffBytes).toBeGreaterThan(1_000_000);
  });
});

describe('nothing is lost', () => {
  test('salvage holds tracked, untracked and deleted work, on a ref of the mirror only', async () => {
    await using tree = await workspace.open(request());
    await writeFile(join(tree.path, 'half.txt'), 'half\n');
    const ref = await tree.salvage();
    expect(ref).toBe('refs/taskbridge/t_1/1/salvage');
    expect((await git(workspace.mirrorPath('p_1'), 'show', `${ref}:half.txt`)).stdout).toBe('half');
    expect((await git(repo, 'for-each-ref', '--format=%(refname)', 'refs/taskbridge')).stdout).toBe('');
  });

  test('a tree that is closed before its work was captured is saved; one that was captured leaves no salvage beside it', async () => {
    {
      await using tree = await workspace.open(request());
      await writeFile(join(tree.path, 'late.txt'), 'late\n');
    }
    expect((await git(workspace.mirrorPath('p_1'), 'show', 'refs/taskbridge/t_1/1/salvage:late.txt')).stdout).toBe('late');
    {
      await using tree = await workspace.open(request({ attempt: 2 }));
      await writeFile(join(tree.path, 'taken.txt'), 'taken\n');
      await capture(tree);
    }
    const refs = (await git(workspace.mirrorPath('p_1'), 'for-each-ref', '--format=%(refname)', 'refs/taskbridge')).stdout;
    expect(refs.split('\n')).toEqual(['refs/taskbridge/t_1/1/salvage', 'refs/taskbridge/t_1/2/head']);
  });

  test('work that a killed worker left is saved before its path is used again', async () => {
    const tree = await workspace.open(request());
    await writeFile(join(tree.path, 'unsaved.txt'), 'precious\n');
    await writeFile(join(workspace.mirrorPath('p_1'), 'worktrees/tree/index.lock'), '');
    // No dispose: the process is gone. Another one comes to the same path.
    await using next = await newWorkspace().open(request({ taskId: 't_2', branch: 'taskbridge/other-2' }));
    expect(existsSync(join(next.path, 'unsaved.txt'))).toBe(false);
    expect((await git(workspace.mirrorPath('p_1'), 'show', 'refs/taskbridge/t_1/1/salvage:unsaved.txt')).stdout).toBe('precious');
  });

  test('a worktree removed under the run fails typed, and the next one is whole again', async () => {
    {
      await using tree = await workspace.open(request());
      await rm(tree.path, { recursive: true });
      await expect(capture(tree)).rejects.toMatchObject({ reason: 'commit_failed' });
    }
    await using again = await workspace.open(request({ attempt: 2 }));
    expect(existsSync(join(again.path, 'README.md'))).toBe(true);
  });

  test("a branch that someone moved isn't overwritten", async () => {
    await using tree = await workspace.open(request());
    await writeFile(join(tree.path, 'a.txt'), 'a\n');
    const patch = await capture(tree);
    await git(repo, 'branch', 'taskbridge/work-1', 'main');
    await expect(tree.publish(patch.head)).rejects.toMatchObject({ reason: 'publish_conflict' });
    expect((await git(repo, 'rev-parse', 'taskbridge/work-1')).stdout).toBe(tree.base.commit);
  });

  test('a later attempt of the same task replaces what an earlier one published, and the earlier one can no more', async () => {
    const first = await workspace.open(request());
    await writeFile(join(first.path, 'a.txt'), 'first\n');
    const early = await capture(first);
    await using second = await workspace.open(request({ attempt: 2, path: join(dir, 'slots', '1', 'tree') }));
    await writeFile(join(second.path, 'a.txt'), 'second\n');
    await second.publish((await capture(second)).head);
    await expect(first.publish(early.head)).rejects.toMatchObject({ reason: 'publish_conflict' });
    expect((await git(repo, 'show', 'taskbridge/work-1:a.txt')).stdout).toBe('second');
  });
});

describe('the base', () => {
  test('is a branch, a tag or a commit; else it is named as missing', async () => {
    await git(repo, 'stash', '-q');
    await git(repo, 'tag', 'v1');
    const commit = (await git(repo, 'rev-parse', 'main')).stdout;
    for (const base of ['main', 'v1', commit, commit.slice(0, 10)]) {
      await using tree = await workspace.open(request({ base }));
      expect(tree.base).toEqual({ ref: base, commit });
    }
    await expect(workspace.open(request({ base: 'nowhere' }))).rejects.toMatchObject({
      reason: 'base_not_found',
      message: expect.stringContaining('nowhere'),
    });
  });

  test("follows the project's branch as it moves", async () => {
    await (await workspace.open(request()))[Symbol.asyncDispose]();
    await git(repo, 'commit', '-q', '-m', 'moved on', '--', 'staged.txt');
    await using tree = await workspace.open(request({ attempt: 2 }));
    expect(tree.base.commit).toBe((await git(repo, 'rev-parse', 'main')).stdout);
  });

  test('joins the commits of dependencies; a conflict names the files', async () => {
    const commits: string[] = [];
    for (const [n, file, content] of [
      [1, 'one.txt', '1'],
      [2, 'two.txt', '2'],
      [3, 'one.txt', '3'],
    ] as const) {
      await using tree = await workspace.open(request({ taskId: `t_${n}`, branch: `taskbridge/w-${n}` }));
      await writeFile(join(tree.path, file), content);
      commits.push((await capture(tree)).head);
    }
    await using joined = await workspace.open(request({ dependencyCommits: commits.slice(0, 2) }));
    expect(existsSync(join(joined.path, 'one.txt')) && existsSync(join(joined.path, 'two.txt'))).toBe(true);
    await expect(workspace.open(request({ dependencyCommits: commits }))).rejects.toMatchObject({
      reason: 'dependency_conflict',
      message: expect.stringContaining('one.txt'),
    });
  });
});

test('a required filter that is missing fails, and never falls back', async () => {
  await git(repo, 'stash', '-q', '-u');
  await writeFile(join(repo, '.gitattributes'), '*.big filter=lfs diff=lfs merge=lfs -text\n');
  await writeFile(join(repo, 'data.big'), 'version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 3\n');
  await git(repo, 'add', '-A');
  await git(repo, 'commit', '-q', '-m', 'large file');
  await expect(workspace.open(request())).rejects.toMatchObject({ reason: 'checkout_incomplete' });
});

test('a repository that is gone is said to be', async () => {
  await rm(repo, { recursive: true });
  await expect(workspace.open(request())).rejects.toMatchObject({ reason: 'project_unavailable' });
});

test('revert undoes and names what changed', async () => {
  await using tree = await workspace.open(request());
  await writeFile(join(tree.path, 'README.md'), 'changed');
  await writeFile(join(tree.path, 'extra.txt'), 'x');
  expect((await tree.revert()).toSorted()).toEqual(['README.md', 'extra.txt']);
  expect((await capture(tree)).empty).toBe(true);
});

test('twenty trees at once on one repository, from several users of the same folder', async () => {
  const others = Array.from({ length: 4 }, newWorkspace);
  const trees = await Promise.all(
    Array.from({ length: 20 }, (_, i) =>
      (others[i % 4] as Workspace).open(
        request({ taskId: `t_${i}`, branch: `taskbridge/w-${i}`, path: join(dir, 'slots', String(i), 'tree') }),
      ),
    ),
  );
  await Promise.all(
    trees.map(async (tree, i) => {
      await writeFile(join(tree.path, `${i}.txt`), `${i}\n`);
      await tree.publish((await capture(tree)).head);
      await tree[Symbol.asyncDispose]();
    }),
  );
  expect((await git(repo, 'branch', '--list', 'taskbridge/*')).stdout.split('\n')).toHaveLength(20);
  await git(repo, 'fsck', '--strict');
});

test('the scope names what lies outside it', () => {
  const files = ['src/a.ts', '.github/workflows/ci.yml', 'docs/x/y.md', 'package.json'];
  expect(outOfScope(files, [])).toEqual([]);
  expect(outOfScope(files, ['src/**', 'docs/'])).toEqual(['.github/workflows/ci.yml', 'package.json']);
  expect(outOfScope(files, ['**'])).toEqual([]);
});

describe('inspecting a repository', () => {
  test('finds its top and its branch from a folder below', async () => {
    expect(await inspectRepository(join(repo, 'src'))).toMatchObject({ kind: 'path', defaultBranch: 'main' });
  });

  test('says what is wrong with what is none', async () => {
    await symlink(join(dir, 'nothing'), join(dir, 'dangling'));
    await expect(inspectRepository(join(dir, 'dangling'))).rejects.toMatchObject({ code: 'invalid_input', field: 'source' });
    await mkdir(join(dir, 'plain'));
    await expect(inspectRepository(join(dir, 'plain'))).rejects.toMatchObject({ message: expect.stringContaining('not a git repository') });
    const secret = 'https://user:s3cr3t-t0ken@127.0.0.1:1/none.git';
    await expect(inspectRepository(secret)).rejects.toMatchObject({ message: expect.not.stringContaining('s3cr3t-t0ken') });
  });
});
