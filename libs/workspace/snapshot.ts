/** Turns what stands in a worktree into a commit, by plumbing: no hook, no signing, no index or HEAD of the agent's has a say in it. */
import { randomBytes } from 'node:crypto';
import { lstat, readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { Git } from './git.ts';
import { commitOf } from './mirror.ts';
import { at } from './worktree.ts';

export interface SnapshotRequest {
  mirror: string;
  admin: string;
  path: string;
  base: string;
  identity: { name: string; email: string };
  message: string;
}

export interface Snapshot {
  commit: string;
  /** True when the tree is the base's. */
  empty: boolean;
}

/** A commit on top of the base that holds everything in the worktree which git does not ignore. */
export async function snapshot(git: Git, request: SnapshotRequest): Promise<Snapshot> {
  const { mirror, admin, path, base, identity } = request;
  const index = join(admin, `taskbridge-index-${randomBytes(4).toString('hex')}`);
  const env = { GIT_INDEX_FILE: index };
  const place = at(admin, path);
  // A repository made inside the worktree would be recorded as a link to nothing: its files count, its history does not.
  for (const nested of await nestedRepositories(path)) await rm(nested, { recursive: true, force: true });
  try {
    // What the agent committed itself may hold files that git ignores; they are in its HEAD.
    const head = await commitOf(git, admin, 'HEAD');
    await git.text([...place, 'read-tree', head ?? base], { cwd: path, env });
    await git.text([...place, 'add', '--all', '--', '.'], { cwd: path, env });
    const tree = await git.text([...place, 'write-tree'], { cwd: path, env });
    if (tree === (await git.text(['-C', mirror, 'rev-parse', `${base}^{tree}`]))) return { commit: base, empty: true };
    const commit = await git.text(['-C', mirror, 'commit-tree', tree, '-p', base, '-F', '-'], {
      input: request.message,
      env: {
        GIT_AUTHOR_NAME: identity.name,
        GIT_AUTHOR_EMAIL: identity.email,
        GIT_COMMITTER_NAME: identity.name,
        GIT_COMMITTER_EMAIL: identity.email,
      },
    });
    return { commit, empty: false };
  } finally {
    for (const file of [index, `${index}.lock`]) await rm(file, { force: true });
  }
}

/** The `.git` entries below the worktree's own. Ignored folders are searched too: a link from there could only be forced in. */
async function nestedRepositories(path: string): Promise<string[]> {
  const found: string[] = [];
  const walk = async (folder: string, top: boolean): Promise<void> => {
    for (const entry of await readdir(folder, { withFileTypes: true })) {
      const full = join(folder, entry.name);
      if (entry.name === '.git') {
        if (!top) found.push(full);
      } else if (entry.isDirectory() && entry.name !== 'node_modules') {
        await walk(full, false);
      }
    }
  };
  if ((await lstat(path)).isDirectory()) await walk(path, true);
  return found;
}
