/** bubblewrap round an agent: it sees the system read-only, its slot, one mirror, and nothing else of this machine. */
import { existsSync, realpathSync } from 'node:fs';
import { dirname } from 'node:path';
import { execa } from 'execa';

export interface View {
  /** Read-only, beside the system's own folders. */
  readOnly: string[];
  writable: string[];
  cwd: string;
}

const systemFolders = ['/usr', '/etc', '/opt', '/nix'];
/** On a merged-/usr system these are links into it; elsewhere folders of their own. */
const rootFolders = ['/bin', '/sbin', '/lib', '/lib64', '/lib32'];

/** The arguments of bwrap up to the command. The network is the host's. */
export function sandboxArguments(view: View, env: Record<string, string>): string[] {
  const args = [
    '--die-with-parent',
    '--new-session',
    '--unshare-pid',
    '--unshare-ipc',
    '--unshare-uts',
    '--hostname',
    'taskbridge',
    '--cap-drop',
    'ALL',
  ];
  args.push('--proc', '/proc', '--dev', '/dev', '--tmpfs', '/tmp', '--tmpfs', '/run', '--tmpfs', '/var/tmp');
  for (const folder of systemFolders) if (existsSync(folder)) args.push('--ro-bind', folder, folder);
  for (const folder of rootFolders) {
    if (!existsSync(folder)) continue;
    const real = realpathSync(folder);
    if (real === folder) args.push('--ro-bind', folder, folder);
    else args.push('--symlink', real.slice(1), folder);
  }
  // Often a link to a file below /run, which is empty in here.
  const resolver = existsSync('/etc/resolv.conf') ? realpathSync('/etc/resolv.conf') : undefined;
  if (resolver && !resolver.startsWith('/etc/')) args.push('--ro-bind', resolver, resolver);
  for (const folder of view.readOnly) args.push('--ro-bind', folder, folder);
  for (const folder of view.writable) args.push('--bind', folder, folder);
  args.push('--chdir', view.cwd, '--clearenv');
  for (const [name, value] of Object.entries(env)) args.push('--setenv', name, value);
  return [...args, '--'];
}

let probed: Promise<string | undefined> | undefined;

/** The version of a bubblewrap that works here (kernel, container and rights included), or undefined. Tried once. */
export function workingBubblewrap(): Promise<string | undefined> {
  probed ??= probe();
  return probed;
}

async function probe(): Promise<string | undefined> {
  if (process.platform !== 'linux') return undefined;
  const version = await execa('bwrap', ['--version'], { reject: false, stdin: 'ignore' });
  if (version.failed) return undefined;
  const node = dirname(process.execPath);
  const view = { readOnly: [node], writable: [], cwd: '/' };
  const works = await execa('bwrap', [...sandboxArguments(view, { PATH: '/usr/bin:/bin' }), 'true'], { reject: false, stdin: 'ignore' });
  return works.failed ? undefined : version.stdout.replace(/^bubblewrap /, '').trim();
}
