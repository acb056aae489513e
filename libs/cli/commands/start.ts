/** taskbridge start (up) and demo: the whole stack on this machine, until Ctrl-C. */
import { mkdirSync, openSync } from 'node:fs';
import { type Config, createLog, type Log, loadConfig, paths } from '@taskbridge/platform';
import type { Command } from 'commander';
import { runDemo } from '../demo/demo.ts';
import { CliError, exitCodes } from '../errors.ts';
import { useRecord } from '../local-record.ts';
import { print } from '../output.ts';
import { banner } from '../supervisor/banner.ts';
import { ChildFailed, usualPace } from '../supervisor/child.ts';
import { watchStopSignals } from '../supervisor/stop-signals.ts';
import { createSupervisor, type Stack } from '../supervisor/supervisor.ts';

interface StartOptions {
  demo?: boolean;
  exit?: boolean;
}

export function addStartCommands(program: Command): void {
  program
    .command('start')
    .alias('up')
    .description('Bring up the whole stack on this machine: Redis, gateway, worker, reaper, board.')
    .option('--demo', 'also run one task on a sample repository with the practice model: a script, not an AI')
    .option('--exit', 'with --demo: stop everything after it; exit code 1 when the task is not done')
    .action(start);
  program
    .command('demo')
    .description('The same as start --demo.')
    .option('--exit', 'stop everything after it; exit code 1 when the task is not done')
    .action((options: StartOptions) => start({ ...options, demo: true }));
}

async function start(options: StartOptions): Promise<void> {
  if (options.exit && !options.demo) throw new CliError('--exit belongs to --demo.', 'usage');
  const config = loadConfig();
  const demo = Boolean(options.demo);
  const log = createLog('stack', config);
  const supervisor = createSupervisor({
    config,
    env: process.env,
    practiceModel: demo,
    host: {
      // The demo shows one task; the services' own lines would bury it.
      output: demo ? openServiceLog(config) : 'inherit',
      notice: (level, line, fields) => log[level](fields, line),
      pace: usualPace,
    },
    say: (line) => process.stderr.write(`${line}\n`),
  });

  const stopped = Promise.withResolvers<void>();
  const given = new AbortController();
  watchStopSignals(
    (why) => {
      log.info({ why }, 'stopping the stack');
      given.abort();
      supervisor.stop().then(stopped.resolve, stopped.reject);
    },
    () => {
      supervisor.kill();
      process.exit(exitCodes.failed.code);
    },
  );

  try {
    if (demo) print(`The output of the services goes to ${paths(config).serviceLog}`);
    const stack = await supervisor.start();
    await announce(stack, config, log, demo);
    if (demo) {
      const done = await runDemo(stack, config, given.signal);
      if (options.exit) {
        await supervisor.stop();
        process.exitCode = done ? exitCodes.ok.code : exitCodes.failed.code;
        return;
      }
    }
  } catch (error) {
    // What fails because the stack is being stopped is no failure.
    if (!given.signal.aborted) {
      await supervisor.stop();
      throw error instanceof ChildFailed ? explain(error, demo, config) : error;
    }
  }
  await stopped.promise;
}

function openServiceLog(config: Config): number {
  mkdirSync(config.data_dir, { recursive: true, mode: 0o700 });
  return openSync(paths(config).serviceLog, 'a', 0o600);
}

/** For a person as text, for a machine as one more line of the log. */
async function announce(stack: Stack, config: Config, log: Log, practiceModel: boolean): Promise<void> {
  if (config.log_format === 'json') {
    log.info({ mcp: stack.mcpUrl, board: stack.boardUrl, tokenFile: paths(config).operatorToken }, 'the stack is up');
    return;
  }
  const projects = await useRecord(config, (record) => record.projects.list().length);
  print(banner(stack, config, { projects, practiceModel }));
}

function explain(error: ChildFailed, demo: boolean, config: Config): CliError {
  const where = demo ? `Its last words are in ${paths(config).serviceLog}.` : 'Its last words stand above.';
  return new CliError(`${error.message} ${where}`, error.configuration ? 'configuration' : 'failed', error);
}
