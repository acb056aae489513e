/** taskbridge logs: what an attempt did, line by line. */
import type { LogLine } from '@taskbridge/contract';
import type { Command } from 'commander';
import { followTask, logLine, readLog } from '../follow.ts';
import { print } from '../output.ts';
import { withGateway } from '../with-gateway.ts';

export function addLogsCommand(program: Command): void {
  program
    .command('logs')
    .description("Show the log of a task's newest attempt.")
    .argument('<task-id>')
    .option('-f, --follow', 'go on until the task ends')
    .option('--json', 'print JSON, one line of the log per line')
    .action((id: string, options: { follow?: boolean; json?: boolean }) =>
      withGateway(async (gateway) => {
        const show = (line: LogLine) => print(options.json ? JSON.stringify(line) : logLine(line));
        if (options.follow) await followTask(gateway, id, { line: show });
        else await readLog(gateway, id, 0, show);
      }),
    );
}
