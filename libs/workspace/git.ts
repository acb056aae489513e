/** Runs git: the only place that does. Nothing of the user's environment or configuration decides what happens, and no hook runs. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { AttemptFailure } from '@taskbridge/contract';
import { redact } from '@taskbridge/platform';
import { execa } from 'execa';

/** A git command that ended with an error. The message holds what git said, without secrets. */
export class GitError extends Error {
  readonly exitCode: number | undefined;
  /** What it wrote to standard output before it ended. */
  readonly output: string;

  constructor(command: string, exitCode: number | undefined, stderr: string, output = '') {
    super(redact(`git ${command}: ${stderr.trim().slice(-1_500) || `ended with ${exitCode ?? 'a signal'}`}`));
    this.name = 'GitError';
    this.exitCode = exitCode;
    this.output = output;
  }
}

export interface GitOptions {
  cwd?: string;
  env?: Record<string, string>;
  input?: string;
  signal?: AbortSignal | undefined;
  /**
   * For commands that talk to a URL: the user's own git configuration and SSH agent serve, since credential helpers and proxies stand there.
   * Hooks stay off all the same.
   */
  network?: boolean;
}

export interface Git {
  /** Standard output as bytes. @throws GitError */
  bytes(args: string[], options?: GitOptions): Promise<Buffer>;
  /** Standard output as text, without the last line's end. @throws GitError */
  text(args: string[], options?: GitOptions): Promise<string>;
  /** Standard output up to `maxBytes`, and how many bytes there were. @throws GitError */
  bounded(args: string[], maxBytes: number, options?: GitOptions): Promise<{ output: Buffer; bytes: number }>;
}

/** Longest a single git command may take, in milliseconds: room for the first fetch of a very large repository. */
const timeoutMs = 30 * 60_000;

/** Command-scope settings win over a repository's own configuration, which the user's repository has. */
const overrides = ['core.hooksPath=/dev/null', 'core.fsmonitor=false', 'gc.auto=0', 'maintenance.auto=false', 'protocol.ext.allow=never'];

/** The settings of every command that does not talk to a URL, in place of the user's. */
const ownConfig = `[safe]
\tdirectory = *
[core]
\thooksPath = /dev/null
\tfsmonitor = false
\tuntrackedCache = false
\tautocrlf = false
\tquotePath = false
[commit]
\tgpgSign = false
[gc]
\tauto = 0
[receive]
\tautogc = false
[protocol "ext"]
\tallow = never
[filter "lfs"]
\tprocess = git-lfs filter-process
\tclean = git-lfs clean -- %f
\tsmudge = git-lfs smudge -- %f
\trequired = true
`;

/** The variables a command gets: nothing of the caller's GIT_ settings. */
function environment(configFile: string, options: GitOptions): Record<string, string> {
  const inherited = options.network
    ? ['PATH', 'HOME', 'SSH_AUTH_SOCK', 'XDG_CONFIG_HOME', 'HTTPS_PROXY', 'HTTP_PROXY', 'NO_PROXY']
    : ['PATH', 'HOME'];
  const env: Record<string, string> = { LC_ALL: 'C', GIT_TERMINAL_PROMPT: '0', GIT_OPTIONAL_LOCKS: '0' };
  for (const name of inherited) if (process.env[name]) env[name] = process.env[name] as string;
  if (options.network) env['GIT_SSH_COMMAND'] = 'ssh -oBatchMode=yes';
  else Object.assign(env, { GIT_CONFIG_GLOBAL: configFile, GIT_CONFIG_NOSYSTEM: '1' });
  return { ...env, ...options.env };
}

/** The command among the arguments: what follows the options that git itself takes. */
function commandOf(args: string[]): string {
  const valued = ['-C', '--git-dir', '--work-tree'];
  return args.find((arg, i) => !arg.startsWith('-') && !valued.includes(args[i - 1] ?? '')) ?? '';
}

/** @param dir a folder of ours, for the configuration that stands in for the user's */
export function createGit(dir: string): Git {
  mkdirSync(dir, { recursive: true, mode: 0o700 });
  const configFile = join(dir, 'gitconfig');
  writeFileSync(configFile, ownConfig);

  const start = (args: string[], options: GitOptions) =>
    execa('git', [...overrides.flatMap((setting) => ['-c', setting]), ...args], {
      cwd: options.cwd ?? dir,
      env: environment(configFile, options),
      extendEnv: false,
      encoding: 'buffer',
      reject: false,
      timeout: timeoutMs,
      maxBuffer: 256 * 1024 * 1024,
      ...(options.input === undefined ? { stdin: 'ignore' as const } : { input: options.input }),
      ...(options.signal ? { cancelSignal: options.signal } : {}),
    });
  const failed = (
    args: string[],
    result: { exitCode?: number; stdout?: unknown; stderr: Uint8Array; isCanceled: boolean },
    signal?: AbortSignal,
  ): Error => {
    if (result.isCanceled) return (signal?.reason as Error) ?? new Error('aborted');
    const stderr = Buffer.from(result.stderr).toString();
    if (/No space left on device/.test(stderr)) return new AttemptFailure('disk_full', redact(stderr.trim().slice(-500)));
    return new GitError(
      commandOf(args),
      result.exitCode,
      stderr,
      result.stdout instanceof Uint8Array ? Buffer.from(result.stdout).toString() : '',
    );
  };
  const bytes = async (args: string[], options: GitOptions = {}): Promise<Buffer> => {
    const result = await start(args, options);
    if (result.failed) throw failed(args, result, options.signal);
    return Buffer.from(result.stdout);
  };

  return {
    bytes,
    text: async (args, options) => (await bytes(args, options)).toString().replace(/\n$/, ''),
    bounded: async (args, maxBytes, options = {}) => {
      const running = execa('git', args, {
        cwd: options.cwd ?? dir,
        env: environment(configFile, options),
        extendEnv: false,
        encoding: 'buffer',
        stdin: 'ignore',
        reject: false,
        buffer: { stdout: false, stderr: true },
        timeout: timeoutMs,
      });
      const parts: Buffer[] = [];
      let count = 0;
      for await (const chunk of running.stdout as AsyncIterable<Buffer>) {
        if (count < maxBytes) parts.push(chunk.subarray(0, maxBytes - count));
        count += chunk.byteLength;
      }
      const result = await running;
      if (result.failed) throw failed(args, { ...result, stderr: result.stderr as Uint8Array }, options.signal);
      return { output: Buffer.concat(parts), bytes: count };
    },
  };
}
