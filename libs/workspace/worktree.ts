/** Sets a worktree of a mirror up at a path: clean, on the task's branch, at the base. To be called with the repository's lock held. */
import { existsSync } from 'node:fs';
import { mkdir, readdir, readFile, realpath, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { AttemptFailure } from '@taskbridge/contract';
import { type Git, GitError } from './git.ts';

export interface Place {
  mirror: string;
  path: string;
  branch: string;
  commit: string;
}

/**
 * Which administrative folder of the mirror belongs to the worktree at `path`. Read from the mirror, never from the worktree's own `.git`
 * file, which an agent could have changed.
 */
async function adminDir(mirror: string, path: string): Promise<string | undefined> {
  const parent = join(mirror, 'worktrees');
  const names = existsSync(parent) ? await readdir(parent) : [];
  for (const name of names) {
    const gitdir = await readFile(join(parent, name, 'gitdir'), 'utf8').catch(() => '');
    if (gitdir.trim() === join(path, '.git')) return join(parent, name);
  }
  return undefined;
}

/** The arguments that make git work on a worktree without believing its `.git` file. */
export const at = (admin: string, path: string): string[] => ['--git-dir', admin, '--work-tree', path];

/**
 * @returns the administrative folder of the worktree
 * @throws AttemptFailure worktree_failed, checkout_incomplete
 */
export async function setUpWorktree(git: Git, place: Place): Promise<string> {
  await mkdir(dirname(place.path), { recursive: true, mode: 0o700 });
  const path = join(await realpath(dirname(place.path)), place.path.slice(dirname(place.path).length + 1));
  const known = { ...place, path };
  const admin = (await reuse(git, known)) ?? (await add(git, known));
  await mustBeClean(git, admin, path);
  return admin;
}

/** Makes the worktree that stands there what it should be, also after a kill in the middle of anything. Undefined when it can't be used. */
async function reuse(git: Git, { mirror, path, branch, commit }: Place): Promise<string | undefined> {
  const admin = await adminDir(mirror, path);
  if (
    !admin ||
    !existsSync(join(path, '.git')) ||
    (await readFile(join(path, '.git'), 'utf8').catch(() => '')).trim() !== `gitdir: ${admin}`
  ) {
    return undefined;
  }
  for (const lock of ['index.lock', 'HEAD.lock']) await rm(join(admin, lock), { force: true });
  try {
    await git.text([...at(admin, path), 'reset', '--quiet', '--hard'], { cwd: path });
    await git.text([...at(admin, path), 'checkout', '--quiet', '--force', '--ignore-other-worktrees', '-B', branch, commit], { cwd: path });
    await git.text([...at(admin, path), 'clean', '-ffdxq'], { cwd: path });
    return admin;
  } catch (error) {
    if (error instanceof GitError) return undefined;
    throw error;
  }
}

async function add(git: Git, { mirror, path, branch, commit }: Place): Promise<string> {
  const stale = await adminDir(mirror, path);
  // Only this worktree's own registration: a general prune would remove those of others whose folder is not mounted here.
  if (stale) await rm(stale, { recursive: true, force: true });
  await rm(path, { recursive: true, force: true });
  try {
    await git.text(['-C', mirror, 'worktree', 'add', '--quiet', '--detach', path, commit]);
  } catch (error) {
    if (!(error instanceof GitError)) throw error;
    const reason = /filter|smudge|git-lfs/.test(error.message) ? 'checkout_incomplete' : 'worktree_failed';
    throw new AttemptFailure(reason, error.message, { cause: error });
  }
  const admin = await adminDir(mirror, path);
  if (!admin) throw new AttemptFailure('worktree_failed', 'git made the worktree and did not register it.');
  // In a step of its own, because a killed worker's tree may still hold the branch.
  await git.text([...at(admin, path), 'checkout', '--quiet', '--force', '--ignore-other-worktrees', '-B', branch, commit], { cwd: path });
  return admin;
}

async function mustBeClean(git: Git, admin: string, path: string): Promise<void> {
  const status = await git.text([...at(admin, path), 'status', '--porcelain', '-z', '--ignore-submodules=all'], { cwd: path });
  if (status === '') return;
  const entries = status.split('\0').filter(Boolean);
  throw new AttemptFailure(
    'checkout_incomplete',
    `Right after checkout ${entries.length} paths differ from the base, the first: ${entries[0]}.`,
  );
}
