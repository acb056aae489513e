/** taskbridge diff: the change a task made. */
import type { Command } from 'commander';
import colors from 'picocolors';
import { colorDiff, print, printJson } from '../output.ts';
import { withGateway } from '../with-gateway.ts';

export function addDiffCommand(program: Command): void {
  program
    .command('diff')
    .description("Show a task's diff.")
    .argument('<task-id>')
    .option('--stat', 'only which files changed, and how much')
    .option('--json', 'print JSON')
    .action((id: string, options: { stat?: boolean; json?: boolean }) =>
      withGateway(async (gateway) => {
        if (!options.stat) {
          const diff = await gateway.diff(id);
          if (options.json) printJson({ id, diff });
          // Colours only for a person: piped, it stays a patch that git can apply.
          else process.stdout.write(colors.isColorSupported && process.stdout.isTTY ? colorDiff(diff) : diff);
          return;
        }
        const report = (await gateway.task(id)).latestAttempt?.report;
        const files = report?.files ?? [];
        if (options.json) return printJson({ id, files, filesTotal: report?.filesTotal ?? 0 });
        for (const file of files) print(`${file.path} | ${file.binary ? 'binary' : `+${file.additions} -${file.deletions}`}`);
        print(`${report?.filesTotal ?? 0} files changed`);
      }),
    );
}
