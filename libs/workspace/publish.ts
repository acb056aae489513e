/** Publishes a task branch by compare-and-swap. No hook of the repository runs, and a branch that someone else moved is not overwritten. */
import { AttemptFailure, type Project } from '@taskbridge/contract';
import { type Git, GitError } from './git.ts';

/** For a repository on this host: its own hooks and its own housekeeping stay off. */
const quietReceiver = 'git -c core.hooksPath=/dev/null -c receive.autogc=false -c gc.auto=0 -c maintenance.auto=false receive-pack';

export interface Publication {
  mirror: string;
  project: Project;
  branch: string;
  head: string;
  /** What the branch was when the attempt began, undefined when it was not there: a later attempt's work makes this one fail. */
  expected: string | undefined;
}

/** @throws AttemptFailure publish_conflict, publish_failed */
export async function publishBranch(git: Git, { mirror, project, branch, head, expected }: Publication): Promise<void> {
  const ref = `refs/heads/${branch}`;
  const network = project.kind === 'url';
  const push = ['-C', mirror, 'push', '--quiet', '--no-verify', `--force-with-lease=${ref}:${expected ?? ''}`];
  if (!network) push.push(`--receive-pack=${quietReceiver}`);
  try {
    await git.text([...push, '--', project.source, `${head}:${ref}`], { network });
  } catch (error) {
    if (!(error instanceof GitError)) throw error;
    // A push whose answer was lost has done its work.
    const now = await remoteValue(git, mirror, project, ref);
    if (now === head) return;
    const reason = now !== undefined && now !== expected ? 'publish_conflict' : 'publish_failed';
    throw new AttemptFailure(reason, error.message, { cause: error });
  }
}

async function remoteValue(git: Git, mirror: string, project: Project, ref: string): Promise<string | undefined> {
  try {
    const line = await git.text(['-C', mirror, 'ls-remote', '--', project.source, ref], { network: project.kind === 'url' });
    return line.split('\t')[0] || undefined;
  } catch (error) {
    if (error instanceof GitError) return undefined;
    throw error;
  }
}
