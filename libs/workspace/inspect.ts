/** Looks at a repository before it becomes a project. */
import { existsSync } from 'node:fs';
import { mkdtemp, realpath, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { ApiError } from '@taskbridge/contract';
import { redact } from '@taskbridge/platform';
import { createGit, type Git, GitError } from './git.ts';
import type { Inspect } from './types.ts';

const isUrl = (source: string): boolean => /^[a-z][a-z0-9+.-]*:\/\//i.test(source) || /^[\w.-]+@[\w.-]+:/.test(source);

/** @throws ApiError invalid_input when it is no repository, or git can't read it */
export const inspectRepository: Inspect = async (source) => {
  const dir = await mkdtemp(join(tmpdir(), 'taskbridge-inspect-'));
  try {
    const git = createGit(dir);
    return isUrl(source) ? await inspectUrl(git, source) : await inspectPath(git, resolve(source));
  } finally {
    await rm(dir, { recursive: true, force: true });
  }
};

const refuse = (message: string, fix: string, cause?: unknown) =>
  new ApiError('invalid_input', redact(message), { field: 'source', fix, cause });

async function inspectPath(git: Git, path: string) {
  if (!existsSync(path)) throw refuse(`${path} does not exist.`, 'Give the path of a git repository.');
  const top = await ask(git, ['-C', path, 'rev-parse', '--show-toplevel']);
  const bare = top ? undefined : await ask(git, ['-C', path, 'rev-parse', '--absolute-git-dir']);
  const source = top ?? bare;
  if (!source) throw refuse(`${path} is not a git repository.`, 'Give the path of a git repository, or run "git init" there.');
  const remote = await ask(git, ['-C', source, 'symbolic-ref', '--short', 'refs/remotes/origin/HEAD']);
  const own = await ask(git, ['-C', source, 'symbolic-ref', '--short', 'HEAD']);
  const candidates = [remote?.replace(/^origin\//, ''), own, 'main', 'master'];
  for (const branch of candidates) {
    if (branch && (await ask(git, ['-C', source, 'rev-parse', '--verify', '--quiet', `refs/heads/${branch}`]))) {
      return { kind: 'path' as const, source: await realpath(source), defaultBranch: branch };
    }
  }
  throw refuse(`${source} has no commit on a branch yet.`, 'Commit something first, or name the branch with --base.');
}

async function inspectUrl(git: Git, url: string) {
  let listing: string;
  try {
    listing = await git.text(['ls-remote', '--symref', '--', url, 'HEAD'], { network: true });
  } catch (cause) {
    if (!(cause instanceof GitError)) throw cause;
    throw refuse(`git can't read ${url}: ${cause.message}`, 'Check the URL and that git on this machine may read it.', cause);
  }
  const branch = /^ref: refs\/heads\/(\S+)\tHEAD$/m.exec(listing)?.[1];
  if (!branch) throw refuse(`${url} names no default branch.`, 'Name it with --base.');
  return { kind: 'url' as const, source: url, defaultBranch: branch };
}

/** What git answers, or undefined when it answers with an error. */
async function ask(git: Git, args: string[]): Promise<string | undefined> {
  try {
    return await git.text(args);
  } catch (error) {
    if (error instanceof GitError) return undefined;
    throw error;
  }
}
