/** Opens worktrees: mirror up to date, base resolved, dependencies merged, tree clean. */
import { existsSync } from 'node:fs';
import { realpath } from 'node:fs/promises';
import { AttemptFailure } from '@taskbridge/contract';
import type { Log } from '@taskbridge/platform';
import { createGit, GitError } from './git.ts';
import { mergeCommits } from './merge.ts';
import { commitOf, lockPath, mirrorPath, resolveBase, updateMirror } from './mirror.ts';
import { withRepositoryLock } from './repository-lock.ts';
import { closeMarker, createTree, leftOpen, markOpen, type OpenTree, salvageTree } from './tree.ts';
import type { Tree, TreeRequest, Workspace, WorkspaceOptions } from './types.ts';
import { setUpWorktree } from './worktree.ts';

/** The workspace below `mirrorsDir`. Several processes may use the same folder. */
export function createWorkspace(options: WorkspaceOptions, log: Log): Workspace {
  const { mirrorsDir, identity } = options;
  const git = createGit(mirrorsDir);

  /** Work that a killed process left at this path goes on its ref before anything else happens there. */
  const saveLeftover = async (path: string): Promise<void> => {
    const left = await leftOpen(path);
    if (!left) return;
    if (existsSync(left.path) && existsSync(left.admin)) {
      const ref = await salvageTree(git, left, identity);
      if (ref) log.warn({ task: left.taskId, attempt: left.attempt, ref }, 'saved the work that a killed worker left');
    }
    await closeMarker(path);
  };

  const prepare = async (request: TreeRequest): Promise<Tree> => {
    const { project, branch, signal } = request;
    const mirror = mirrorPath(await realpath(mirrorsDir), project.id);
    await saveLeftover(request.path);
    await updateMirror(git, mirror, project, signal);
    const expected = await commitOf(git, mirror, `refs/remotes/origin/${branch}`);
    const base = await chooseBase(mirror, request);
    signal?.throwIfAborted();
    const admin = await setUpWorktree(git, { mirror, path: request.path, branch, commit: base.commit });
    const open: OpenTree = { mirror, admin, path: request.path, taskId: request.taskId, attempt: request.attempt, base };
    await markOpen(open);
    return createTree(git, log, request, open, identity, expected);
  };

  const chooseBase = async (mirror: string, request: TreeRequest): Promise<{ ref: string; commit: string }> => {
    const [first, ...others] = request.dependencyCommits;
    if (first === undefined) {
      const ref = request.base ?? request.project.baseBranch;
      return { ref, commit: await resolveBase(git, mirror, ref) };
    }
    for (const commit of request.dependencyCommits) {
      if (!(await commitOf(git, mirror, commit)))
        throw new AttemptFailure('base_not_found', `The commit ${commit} of a dependency is not in the repository.`);
    }
    return { ref: `dependencies of ${request.taskId}`, commit: await mergeCommits(git, mirror, [first, ...others], identity) };
  };

  return {
    saveLeftover,
    mirrorPath: (projectId) => mirrorPath(mirrorsDir, projectId),
    gitVersion: async () => (await git.text(['--version'])).replace(/^git version /, ''),
    open: async (request) => {
      try {
        return await withRepositoryLock(lockPath(mirrorsDir, request.project.id), request.signal, () => prepare(request));
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code === 'ENOSPC')
          throw new AttemptFailure('disk_full', (error as Error).message, { cause: error });
        if (error instanceof GitError) throw new AttemptFailure('worktree_failed', error.message, { cause: error });
        throw error;
      }
    },
  };
}
