/** Programs that come from the system's package manager, not from npm: found on the PATH, or installed where that needs no question. */
import { accessSync, constants } from 'node:fs';
import { delimiter, join } from 'node:path';
import { execa } from 'execa';

export interface SystemPackage {
  /** The program looked for on the PATH. */
  program: string;
  /** What it is for, as the end of "… is needed for". */
  purpose: string;
  debian: string;
  /** Absent: there is none for macOS. */
  homebrew?: string;
}

export const redisPackage: SystemPackage = {
  program: 'redis-server',
  purpose: 'the queue',
  debian: 'redis-server',
  homebrew: 'redis',
};
/** Linux only: elsewhere agents run without it. */
export const bubblewrapPackage: SystemPackage = { program: 'bwrap', purpose: 'the sandbox round each agent', debian: 'bubblewrap' };
export const gitPackage: SystemPackage = { program: 'git', purpose: 'worktrees', debian: 'git', homebrew: 'git' };

/** The machine as far as this module cares; given by tests. */
export interface Machine {
  platform: NodeJS.Platform;
  root: boolean;
  path: string;
}

const thisMachine = (): Machine => ({
  platform: process.platform,
  root: process.getuid?.() === 0,
  path: process.env['PATH'] ?? '',
});

/** Is a program of this name on the PATH? */
export function isInstalled(program: string, path = process.env['PATH'] ?? ''): boolean {
  return path.split(delimiter).some((folder) => {
    try {
      accessSync(join(folder, program), constants.X_OK);
      return folder !== '';
    } catch {
      return false;
    }
  });
}

/** The commands that install a package here without asking anyone, or undefined. */
export function installCommands(wanted: SystemPackage, machine = thisMachine()): string[][] | undefined {
  if (machine.platform === 'linux' && machine.root && isInstalled('apt-get', machine.path)) {
    return [
      ['apt-get', 'update', '-q'],
      ['apt-get', 'install', '-y', '-q', '--no-install-recommends', wanted.debian],
    ];
  }
  if (machine.platform === 'darwin' && wanted.homebrew && isInstalled('brew', machine.path)) return [['brew', 'install', wanted.homebrew]];
  return undefined;
}

/** One line: how a person gets the package here. */
export function installHint(wanted: SystemPackage, machine = thisMachine()): string {
  if (machine.platform === 'darwin') return wanted.homebrew ? `brew install ${wanted.homebrew}` : `there is none for macOS`;
  return isInstalled('apt-get', machine.path)
    ? `sudo apt-get install ${wanted.debian}`
    : `install ${wanted.program} with your system's package manager`;
}

/**
 * Makes sure a program is there, installing it when that needs no question.
 * @param say told one line about what is being done
 * @returns undefined when it is there, else one line that says what is missing and how to get it
 */
export async function ensureSystemPackage(wanted: SystemPackage, say: (line: string) => void): Promise<string | undefined> {
  if (isInstalled(wanted.program)) return undefined;
  const missing = `${wanted.program} is not installed; it is needed for ${wanted.purpose}`;
  const commands = installCommands(wanted);
  if (!commands) return `${missing}. To get it: ${installHint(wanted)}`;
  say(`Installing ${wanted.debian} for ${wanted.purpose} …`);
  for (const [file = '', ...args] of commands) {
    const done = await execa(file, args, {
      reject: false,
      all: true,
      stdin: 'ignore',
      timeout: 300_000,
      env: { DEBIAN_FRONTEND: 'noninteractive' },
    });
    if (done.failed) {
      const last = (done.all ?? '').trim().split('\n').at(-1) || done.shortMessage;
      return `${missing}, and "${[file, ...args].join(' ')}" failed: ${last}`;
    }
  }
  return isInstalled(wanted.program)
    ? undefined
    : `${missing}, and installing ${wanted.debian} did not bring it. To get it: ${installHint(wanted)}`;
}
