/** A worktree of one attempt, from the moment it is clean to the moment its work is on a ref. */
import { readFile, rm, writeFile } from 'node:fs/promises';
import { AttemptFailure, salvageRef } from '@taskbridge/contract';
import type { Log } from '@taskbridge/platform';
import { changedFiles, unifiedDiff } from './changes.ts';
import { type Git, GitError } from './git.ts';
import { publishBranch } from './publish.ts';
import { type Snapshot, snapshot } from './snapshot.ts';
import type { Patch, Tree, TreeRequest } from './types.ts';
import { at } from './worktree.ts';

/** What a tree is, kept beside it while it is open: after a kill the next one to use the path saves the work first. */
export interface OpenTree {
  mirror: string;
  admin: string;
  path: string;
  taskId: string;
  attempt: number;
  base: { ref: string; commit: string };
}

const markerOf = (path: string): string => `${path}.open.json`;

export const markOpen = (tree: OpenTree): Promise<void> => writeFile(markerOf(tree.path), JSON.stringify(tree));

/** The tree that a killed process left open at this path, or undefined. */
export async function leftOpen(path: string): Promise<OpenTree | undefined> {
  try {
    return JSON.parse(await readFile(markerOf(path), 'utf8')) as OpenTree;
  } catch (error) {
    // Not there, or cut off by the kill that this is about: then nothing had been written into the tree yet.
    if ((error as NodeJS.ErrnoException).code === 'ENOENT' || error instanceof SyntaxError) return undefined;
    throw error;
  }
}

/** Puts everything in the tree on the attempt's salvage ref. @returns the ref, or undefined when nothing differs from the base */
export async function salvageTree(git: Git, tree: OpenTree, identity: { name: string; email: string }): Promise<string | undefined> {
  const message = `Unfinished work of ${tree.taskId}, attempt ${tree.attempt}\n\nTaskBridge-Task: ${tree.taskId}\n`;
  const taken = await snapshot(git, { ...tree, base: tree.base.commit, identity, message });
  if (taken.empty) return undefined;
  const ref = salvageRef(tree.taskId, tree.attempt);
  await git.text(['-C', tree.mirror, 'update-ref', '-m', 'salvage', ref, taken.commit]);
  return ref;
}

export const closeMarker = (path: string): Promise<void> => rm(markerOf(path), { force: true });

/** @param expected what the task branch was in the project's repository when the attempt began */
export function createTree(
  git: Git,
  log: Log,
  request: TreeRequest,
  open: OpenTree,
  identity: { name: string; email: string },
  expected: string | undefined,
): Tree {
  const { mirror, admin, path, base } = open;
  const { project, branch, taskId, attempt } = request;
  /** True while all that the agent left is on a ref. */
  let saved = false;
  const take = async (message: string): Promise<Snapshot> => {
    try {
      return await snapshot(git, { mirror, admin, path, base: base.commit, identity, message });
    } catch (error) {
      if (error instanceof AttemptFailure) throw error;
      throw new AttemptFailure('commit_failed', (error as Error).message, { cause: error });
    }
  };

  return {
    path,
    base,
    gitDir: mirror,
    capture: async ({ title, taskId: id }, maxDiffBytes): Promise<Patch> => {
      const taken = await take(`${title}\n\nTaskBridge-Task: ${id}\n`);
      if (taken.empty) {
        saved = true;
        return {
          head: base.commit,
          empty: true,
          files: [],
          filesTotal: 0,
          paths: [],
          diff: Buffer.alloc(0),
          diffBytes: 0,
          diffTruncated: false,
        };
      }
      // On a ref at once: from here on the worktree may go.
      await git.text(['-C', mirror, 'update-ref', `refs/taskbridge/${taskId}/${attempt}/head`, taken.commit]);
      saved = true;
      const { files, total, paths } = await changedFiles(git, mirror, base.commit, taken.commit);
      const { output, bytes } = await unifiedDiff(git, mirror, base.commit, taken.commit, maxDiffBytes);
      return {
        head: taken.commit,
        empty: false,
        files,
        filesTotal: total,
        paths,
        diff: output,
        diffBytes: bytes,
        diffTruncated: bytes > maxDiffBytes,
      };
    },
    publish: (head) => publishBranch(git, { mirror, project, branch, head, expected }),
    salvage: async () => {
      const ref = await salvageTree(git, open, identity);
      saved = true;
      return ref;
    },
    revert: async () => {
      const status = await git.text(
        [...at(admin, path), 'status', '--porcelain', '-z', '--no-renames', '--untracked-files=all', '--ignore-submodules=all'],
        {
          cwd: path,
        },
      );
      await git.text([...at(admin, path), 'reset', '--quiet', '--hard', base.commit], { cwd: path });
      await git.text([...at(admin, path), 'clean', '-ffdq'], { cwd: path });
      return status
        .split('\0')
        .filter(Boolean)
        .map((entry) => entry.slice(3));
    },
    [Symbol.asyncDispose]: async () => {
      try {
        // A second look at a large tree would only find what is on a ref already.
        const ref = saved ? undefined : await salvageTree(git, open, identity);
        if (ref) log.debug({ task: taskId, ref }, 'the tree is on its salvage ref');
        // Frees the branch for another worktree; what stands in the tree is cleared by the next one to use the path.
        await git.text([...at(admin, path), 'update-ref', '--no-deref', 'HEAD', base.commit], { cwd: path });
        await closeMarker(path);
      } catch (error) {
        // A worktree removed under the run can't be saved any more; its end must not hide the attempt's.
        if (!(error instanceof GitError) && (error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
        log.warn({ err: error, task: taskId }, 'the tree could not be saved at its end');
        await closeMarker(path);
      }
    },
  };
}
