/** Process trees: how big one is, and ending it whole, also what has left its group and session. */
import { readdir, readFile } from 'node:fs/promises';
import { execa } from 'execa';

interface ProcessFacts {
  pid: number;
  parent: number;
  rssBytes: number;
}

const pageBytes = 4096;

/** Every process of this machine that can be seen. */
async function processes(): Promise<ProcessFacts[]> {
  if (process.platform !== 'linux') {
    const { stdout } = await execa('ps', ['-A', '-o', 'pid=,ppid=,rss='], { stdin: 'ignore' });
    return stdout.split('\n').map((line) => {
      const [pid = 0, parent = 0, kilobytes = 0] = line.trim().split(/\s+/).map(Number);
      return { pid, parent, rssBytes: kilobytes * 1024 };
    });
  }
  const pids = (await readdir('/proc')).filter((name) => /^\d+$/.test(name));
  const facts = await Promise.all(
    pids.map(async (pid) => {
      // A process may end while it is looked at.
      const stat = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => undefined);
      // The name in parentheses may hold anything, parentheses too.
      const fields = stat?.slice(stat.lastIndexOf(')') + 2).split(' ');
      return fields && { pid: Number(pid), parent: Number(fields[1]), rssBytes: Number(fields[21]) * pageBytes };
    }),
  );
  return facts.filter((f) => f !== undefined);
}

/** A process and all below it. */
async function below(root: number): Promise<ProcessFacts[]> {
  const all = await processes();
  const members = new Set([root]);
  for (let grown = true; grown; ) {
    grown = false;
    for (const { pid, parent } of all) {
      if (!members.has(parent) || members.has(pid)) continue;
      members.add(pid);
      grown = true;
    }
  }
  return all.filter(({ pid }) => members.has(pid));
}

/** Memory of a process and all below it, in bytes. */
export async function treeMemory(root: number): Promise<number> {
  return (await below(root)).reduce((sum, { rssBytes }) => sum + rssBytes, 0);
}

/** Processes whose environment holds `mark`: children inherit it, wherever they went. */
async function marked(mark: string): Promise<number[]> {
  if (process.platform !== 'linux') {
    const { stdout } = await execa('ps', ['-A', '-E', '-o', 'pid=,command='], { stdin: 'ignore', reject: false });
    return stdout
      .split('\n')
      .filter((line) => line.includes(mark))
      .map((line) => Number.parseInt(line.trim(), 10));
  }
  const found: number[] = [];
  for (const { pid } of await processes()) {
    const environ = await readFile(`/proc/${pid}/environ`, 'latin1').catch(() => '');
    if (environ.includes(mark) && pid !== process.pid) found.push(pid);
  }
  return found;
}

/** Everything that belongs to a tree: what is below its root, and what carries its mark. */
export async function treeMembers(root: number, mark: string): Promise<Set<number>> {
  return new Set([...(await below(root)).map(({ pid }) => pid), ...(await marked(mark))]);
}

function kill(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
  }
}

/**
 * Ends the members of a tree, except those in `keep`.
 * Looks again until nothing is left, since a process may fork while it is being looked for.
 */
export async function endMembers(root: number, mark: string, keep: ReadonlySet<number> = new Set()): Promise<void> {
  for (let round = 0; round < 20; round += 1) {
    const left = [...(await treeMembers(root, mark))].filter((pid) => !keep.has(pid));
    if (left.length === 0) return;
    for (const pid of left) kill(pid);
  }
}
