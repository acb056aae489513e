/** The mirror of a project: a bare repository of ours that follows the project's, and that every worktree hangs on. */
import { existsSync } from 'node:fs';
import { mkdir, rename, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { AttemptFailure, type Project } from '@taskbridge/contract';
import { type Git, GitError } from './git.ts';

export const mirrorPath = (mirrorsDir: string, projectId: string): string => join(mirrorsDir, `${projectId}.git`);

/** The file that the lock of a project's mirror stands for. */
export const lockPath = (mirrorsDir: string, projectId: string): string => join(mirrorsDir, `${projectId}.lock`);

/**
 * Brings the mirror up to date, making it when it is new. To be called with the repository's lock held.
 * Objects are copied, never linked, so nothing done here can reach the user's.
 * @throws AttemptFailure project_unavailable
 */
export async function updateMirror(git: Git, mirror: string, project: Project, signal?: AbortSignal): Promise<void> {
  if (!existsSync(join(mirror, 'HEAD'))) {
    // Made aside and renamed: a kill in the middle leaves no half of a mirror.
    const fresh = `${mirror}.new`;
    await rm(fresh, { recursive: true, force: true });
    await mkdir(dirname(mirror), { recursive: true, mode: 0o700 });
    await git.text(['init', '--quiet', '--bare', fresh]);
    await rename(fresh, mirror);
  }
  // git-lfs looks for the remote's address here; our own commands name the source.
  await git.text(['-C', mirror, 'config', 'remote.origin.url', project.source]);
  try {
    await git.text(
      [
        '-C',
        mirror,
        'fetch',
        '--quiet',
        '--prune',
        '--no-write-fetch-head',
        '--no-tags',
        '--',
        project.source,
        '+refs/heads/*:refs/remotes/origin/*',
        '+refs/tags/*:refs/tags/*',
      ],
      { network: project.kind === 'url', signal },
    );
  } catch (error) {
    if (error instanceof GitError) throw new AttemptFailure('project_unavailable', error.message, { cause: error });
    throw error;
  }
}

/** The commit a name stands for in the mirror, or undefined. */
export async function commitOf(git: Git, mirror: string, name: string): Promise<string | undefined> {
  try {
    return await git.text(['-C', mirror, 'rev-parse', '--verify', '--quiet', '--end-of-options', `${name}^{commit}`]);
  } catch (error) {
    if (error instanceof GitError) return undefined;
    throw error;
  }
}

/**
 * The commit that a base (branch, tag or commit) stands for.
 * @throws AttemptFailure base_not_found
 */
export async function resolveBase(git: Git, mirror: string, base: string): Promise<string> {
  const short = base.replace(/^refs\/heads\//, '').replace(/^origin\//, '');
  const names = [`refs/remotes/origin/${short}`, `refs/tags/${base.replace(/^refs\/tags\//, '')}`];
  if (/^[0-9a-f]{7,64}$/.test(base)) names.push(base);
  for (const name of names) {
    const commit = await commitOf(git, mirror, name);
    if (commit) return commit;
  }
  throw new AttemptFailure('base_not_found', `"${base}" is no branch, tag or commit of the repository.`);
}
