/** How commands fail: one plain sentence with the fix, and an exit code from the one table. */

/** Exit codes, as `taskbridge --help` documents them. */
export const exitCodes = {
  ok: { code: 0, meaning: 'it worked; with --wait: the task is done' },
  failed: { code: 1, meaning: 'it did not work, or the task waited for ended without being done' },
  usage: { code: 2, meaning: 'the command line is wrong' },
  unreachable: { code: 3, meaning: 'no TaskBridge answers at the address' },
  unauthorized: { code: 4, meaning: 'the token is missing or refused' },
  not_found: { code: 5, meaning: 'no such task, project or token' },
  configuration: { code: 78, meaning: 'a setting is wrong' },
} as const;

export type ExitName = keyof typeof exitCodes;

export class CliError extends Error {
  readonly exit: ExitName;

  constructor(message: string, exit: ExitName = 'failed', cause?: unknown) {
    super(message, { cause });
    this.exit = exit;
  }
}
