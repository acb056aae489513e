/** A user's repository to work on, and a fingerprint that proves nobody touched it. */
import { createHash } from 'node:crypto';
import { lstat, mkdir, readdir, readFile, readlink, writeFile } from 'node:fs/promises';
import { dirname, join, relative } from 'node:path';
import { execa } from 'execa';

const defaultFiles: Record<string, string> = {
  'README.md': '# Sample\n',
  'src/add.js': 'export const add = (a, b) => a + b;\n',
  'src/add.test.js': "import { add } from './add.js';\nif (add(1, 2) !== 3) process.exit(1);\n",
  '.gitignore': 'ignored/\n',
  'package.json': '{ "type": "module" }\n',
};

/** Runs git as the user of the repository would. */
export const git = (dir: string, ...args: string[]) =>
  execa('git', ['-c', 'user.name=Some User', '-c', 'user.email=user@example.com', '-c', 'init.defaultBranch=main', ...args], { cwd: dir });

export interface SampleOptions {
  files?: Record<string, string | Uint8Array>;
  /** Leaves staged, unstaged and untracked changes and a stash behind, as real checkouts have them. */
  dirty?: boolean;
}

export async function sampleRepository(dir: string, options: SampleOptions = {}): Promise<void> {
  await mkdir(dir, { recursive: true });
  await git(dir, 'init', '-q');
  for (const [path, content] of Object.entries(options.files ?? defaultFiles)) {
    await mkdir(dirname(join(dir, path)), { recursive: true });
    await writeFile(join(dir, path), content);
  }
  await git(dir, 'add', '-A');
  await git(dir, 'commit', '-q', '-m', 'First commit');
  if (!options.dirty) return;
  await writeFile(join(dir, 'README.md'), '# Sample\n\nstashed\n');
  await git(dir, 'stash', 'push', '-q');
  await writeFile(join(dir, 'README.md'), '# Sample\n\nunfinished\n');
  await writeFile(join(dir, 'staged.txt'), 'staged\n');
  await git(dir, 'add', 'staged.txt');
  await writeFile(join(dir, 'untracked.txt'), 'untracked\n');
  await mkdir(join(dir, 'ignored'), { recursive: true });
  await writeFile(join(dir, 'ignored/cache.bin'), 'cache');
}

/** What TaskBridge may add to a repository: branches of its own, their reflogs, and objects. */
const ofTaskBridge = /^\.git\/(objects\/|refs\/heads\/taskbridge(\/|$)|logs\/refs\/heads\/taskbridge(\/|$))/;

/** A hash of every byte, name, mode and link of a checkout and its `.git`. */
export async function fingerprint(dir: string, options: { withoutTaskBranches: boolean } = { withoutTaskBranches: true }): Promise<string> {
  const hash = createHash('sha256');
  const walk = async (folder: string): Promise<void> => {
    const entries = (await readdir(folder, { withFileTypes: true })).toSorted((a, b) => (a.name < b.name ? -1 : 1));
    for (const entry of entries) {
      const full = join(folder, entry.name);
      const name = relative(dir, full);
      if (options.withoutTaskBranches && ofTaskBridge.test(name)) continue;
      const facts = await lstat(full);
      if (facts.isDirectory()) {
        if (options.withoutTaskBranches && ofTaskBridge.test(`${name}/`)) continue;
        hash.update(`d ${name} ${facts.mode}\n`);
        await walk(full);
      } else if (facts.isSymbolicLink()) {
        hash.update(`l ${name} ${await readlink(full)}\n`);
      } else {
        hash.update(`f ${name} ${facts.mode} ${facts.mtimeMs}\n`);
        hash.update(await readFile(full));
      }
    }
  };
  await walk(dir);
  return hash.digest('hex');
}
