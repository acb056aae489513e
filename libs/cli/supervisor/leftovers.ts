/**
 * What a killed stack left running. Its services notice the loss and stop by themselves, but that takes a moment,
 * and a worker that still drains must not share its slots with a new one.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { execa } from 'execa';

/** Put on the command line of every process of a stack, so that it can be found again, also by a person looking at `ps`. */
export const stackMark = (dataDir: string): string => `--stack=${dataDir}`;

/** Pids of the living processes whose last argument is this stack's mark. */
async function find(mark: string): Promise<number[]> {
  if (process.platform !== 'linux') {
    const { stdout } = await execa('ps', ['-axww', '-o', 'pid=,command='], { stdin: 'ignore' });
    const lines = stdout.split('\n').filter((line) => line.trimEnd().endsWith(` ${mark}`));
    return lines.map((line) => Number.parseInt(line, 10));
  }
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .filter((pid) => {
      try {
        return readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0').at(-2) === mark;
      } catch {
        // It ended meanwhile, or belongs to someone else.
        return false;
      }
    })
    .map(Number);
}

function signal(pids: number[], name: NodeJS.Signals): void {
  for (const pid of pids) {
    try {
      process.kill(pid, name);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
    }
  }
}

/**
 * Ends what is left of a stack that was killed on this data folder; kills what does not stop within `graceMs`.
 * Call it with the instance lock held: then nothing it finds has an owner.
 * @param say told one line when there is something to wait for
 */
export async function endLeftovers(dataDir: string, graceMs: number, say: (line: string) => void): Promise<void> {
  const mark = stackMark(dataDir);
  let left = await find(mark);
  if (left.length === 0) return;
  say(`Waiting for ${left.length} processes of a stack that was killed here to stop …`);
  signal(left, 'SIGTERM');
  const deadline = Date.now() + graceMs;
  while (left.length > 0) {
    if (Date.now() > deadline) signal(left, 'SIGKILL');
    await sleep(50);
    left = await find(mark);
  }
}
