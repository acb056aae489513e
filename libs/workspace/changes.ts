/** What differs between two commits: the files, and the diff up to a limit. */
import { type FileChange, reportListLimit } from '@taskbridge/contract';
import type { Git } from './git.ts';

/** Neither configuration nor attributes of the repository may run a program or colour the output. */
const plain = ['--no-ext-diff', '--no-textconv', '--no-color', '-r', '-M', '--ignore-submodules=none'];

const statuses: Record<string, FileChange['status']> = {
  A: 'added',
  M: 'modified',
  D: 'deleted',
  R: 'renamed',
  C: 'added',
  T: 'type_changed',
};

export interface Changes {
  /** In git's order, bounded. */
  files: FileChange[];
  total: number;
  /** All of them, a renamed file with both its names. */
  paths: string[];
}

/** What changed between two commits. */
export async function changedFiles(git: Git, mirror: string, base: string, head: string): Promise<Changes> {
  const raw = await fields(git, mirror, ['--raw', '--abbrev=4'], base, head);
  const status = new Map<string, FileChange['status']>();
  const paths: string[] = [];
  for (let i = 0; i < raw.length; ) {
    const letter = raw[i]?.split(' ')[4]?.[0] ?? 'M';
    const renamed = letter === 'R' || letter === 'C';
    status.set(raw[renamed ? i + 2 : i + 1] ?? '', statuses[letter] ?? 'modified');
    paths.push(...raw.slice(i + 1, renamed ? i + 3 : i + 2));
    i += renamed ? 3 : 2;
  }

  const counts = await fields(git, mirror, ['--numstat'], base, head);
  const files: FileChange[] = [];
  for (let i = 0; i < counts.length; ) {
    const [added = '', deleted = '', inline = ''] = (counts[i] ?? '').split('\t');
    // A rename leaves the path empty here and gives the old and the new one as two further fields.
    const path = inline === '' ? (counts[i + 2] ?? '') : inline;
    i += inline === '' ? 3 : 1;
    const binary = added === '-';
    files.push({
      path,
      status: status.get(path) ?? 'modified',
      additions: binary ? 0 : Number(added),
      deletions: binary ? 0 : Number(deleted),
      binary,
    });
  }
  return { files: files.slice(0, reportListLimit), total: files.length, paths };
}

/** The paths between `base` and `head`, all of them, a renamed file with both its names. */
async function fields(git: Git, mirror: string, format: string[], base: string, head: string): Promise<string[]> {
  const output = await git.text(['-C', mirror, 'diff-tree', ...plain, ...format, '-z', base, head]);
  return output.split('\0').filter((field, i, all) => field !== '' || i < all.length - 1);
}

/** The unified diff; binary files as placeholders. Paths and content may be any bytes. */
export function unifiedDiff(git: Git, mirror: string, base: string, head: string, maxBytes: number) {
  return git.bounded(['-C', mirror, 'diff-tree', ...plain, '-p', base, head], maxBytes);
}
