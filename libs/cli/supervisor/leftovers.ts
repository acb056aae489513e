/**
 * What a killed stack left running. Its services notice the loss and stop by themselves, but that takes a moment,
 * and a worker that still drains must not share its slots with a new one.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { execa } from 'execa';

/** How long a killed process may take to be gone, in milliseconds. */
const killedMs = 5_000;

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
  const left = await find(stackMark(dataDir));
  if (left.length === 0) return;
  say(`Waiting for ${left.length} processes of a stack that was killed here to stop …`);
  signal(left, 'SIGTERM');
  signal(await untilGone(dataDir, graceMs), 'SIGKILL');
  await untilGone(dataDir, killedMs);
}

/** Waits until no other process of this stack is left, at most `graceMs`. @returns the pids of those that are left all the same */
export async function untilGone(dataDir: string, graceMs: number): Promise<number[]> {
  const deadline = Date.now() + graceMs;
  for (;;) {
    const left = (await find(stackMark(dataDir))).filter((pid) => pid !== process.pid);
    if (left.length === 0 || Date.now() > deadline) return left;
    await sleep(50);
  }
}
