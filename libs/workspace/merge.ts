/** Joins the commits of several dependencies into one base. */
import { AttemptFailure } from '@taskbridge/contract';
import { type Git, GitError } from './git.ts';

/**
 * Merges the commits in order, without a worktree.
 * @throws AttemptFailure dependency_conflict, naming the files
 */
export async function mergeCommits(
  git: Git,
  mirror: string,
  commits: [string, ...string[]],
  identity: { name: string; email: string },
): Promise<string> {
  const [first, ...others] = commits;
  const env = {
    GIT_AUTHOR_NAME: identity.name,
    GIT_AUTHOR_EMAIL: identity.email,
    GIT_COMMITTER_NAME: identity.name,
    GIT_COMMITTER_EMAIL: identity.email,
  };
  let merged = first;
  for (const other of others) {
    let tree: string;
    try {
      tree = await git.text(['-C', mirror, 'merge-tree', '--write-tree', '--name-only', '--no-messages', merged, other]);
    } catch (error) {
      // 1: the merge has conflicts; anything else is a failure of git's.
      if (!(error instanceof GitError) || error.exitCode !== 1) throw error;
      throw new AttemptFailure(
        'dependency_conflict',
        `${merged.slice(0, 12)} and ${other.slice(0, 12)} both change ${error.output.split('\n').slice(1).filter(Boolean).join(', ')}.`,
        {
          cause: error,
        },
      );
    }
    merged = await git.text(['-C', mirror, 'commit-tree', tree, '-p', merged, '-p', other, '-m', 'Join the work this task depends on'], {
      env,
    });
  }
  return merged;
}
