/** The command line: every command with its options, and what the exit codes mean. */
import { version } from '@taskbridge/platform';
import { Command } from 'commander';
import { addDiffCommand } from './commands/diff.ts';
import { addLogsCommand } from './commands/logs.ts';
import { addMcpCommand } from './commands/mcp.ts';
import { addProjectCommands } from './commands/project.ts';
import { addReferenceCommand } from './commands/reference.ts';
import { addStartCommands } from './commands/start.ts';
import { addSubmitCommand } from './commands/submit.ts';
import { addTaskCommands } from './commands/tasks.ts';
import { addTokenCommands } from './commands/token.ts';
import { exitCodes } from './errors.ts';

export function createProgram(): Command {
  const program = new Command('taskbridge')
    .description('Claude plans, OpenCode builds: hands coding tasks to headless OpenCode agents and gets evidence back.')
    .version(version)
    .exitOverride()
    .showHelpAfterError('Add --help to see what is accepted.')
    .addHelpText(
      'after',
      () => `\n${exitCodeHelp()}\n\nSettings come from the environment and taskbridge.config.json: docs/configuration.md.`,
    );
  addStartCommands(program);
  addProjectCommands(program);
  addTokenCommands(program);
  addSubmitCommand(program);
  addTaskCommands(program);
  addLogsCommand(program);
  addDiffCommand(program);
  addMcpCommand(program);
  addReferenceCommand(program);
  return program;
}

function exitCodeHelp(): string {
  const rows = Object.values(exitCodes).map(({ code, meaning }) => `  ${String(code).padEnd(3)} ${meaning}`);
  return ['Exit codes:', ...rows].join('\n');
}
