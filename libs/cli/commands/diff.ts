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
        if (options.stat) {
          const stat = await gateway.diffStat(id);
          if (options.json) return printJson(stat);
          for (const file of stat.files) print(`${file.path} | ${file.binary ? 'binary' : `+${file.additions} -${file.deletions}`}`);
          return print(`${stat.files_total} files changed, +${stat.additions} -${stat.deletions}`);
        }
        const { diff, cut } = await gateway.diff(id);
        if (options.json) return printJson({ id, diff, cut });
        // Colours only for a person: piped, it stays a patch that git can apply.
        process.stdout.write(process.stdout.isTTY && colors.isColorSupported ? colorDiff(diff) : diff);
        if (cut) process.stderr.write(`${cut}\n`);
      }),
    );
}
