/** Runs the taskbridge command: its exit code and, when it fails, its one sentence. */
import { ApiError } from '@taskbridge/contract';
import { ConfigError } from '@taskbridge/platform';
import { CommanderError } from 'commander';
import { CliError, type ExitName, exitCodes } from './errors.ts';
import { createProgram } from './program.ts';

/** The reader may leave early, as in `taskbridge list | head`. */
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code !== 'EPIPE' && error.code !== 'EIO') throw error;
  process.exit(exitCodes.ok.code);
});

const exitOfApiError: Partial<Record<string, ExitName>> = { not_found: 'not_found', unauthorized: 'unauthorized' };

/** The exit code of a failure, having said what it is. Errors nobody foresaw keep their stack. */
function conclude(error: unknown): number {
  if (error instanceof CommanderError) return error.exitCode === 0 ? exitCodes.ok.code : exitCodes.usage.code;
  const known = error instanceof CliError || error instanceof ConfigError || error instanceof ApiError;
  process.stderr.write(`${known ? sentence(error) : (error as Error).stack}\n`);
  if (error instanceof CliError) return exitCodes[error.exit].code;
  if (error instanceof ConfigError) return exitCodes.configuration.code;
  return exitCodes[(error instanceof ApiError && exitOfApiError[error.code]) || 'failed'].code;
}

const sentence = (error: Error): string => (error instanceof ApiError && error.fix ? `${error.message} ${error.fix}` : error.message);

try {
  await createProgram().parseAsync();
} catch (error) {
  process.exitCode = conclude(error);
}
