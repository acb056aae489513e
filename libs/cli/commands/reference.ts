/** taskbridge reference: every setting, and the generated pages of the documentation. */
import { writeFileSync } from 'node:fs';
import type { Command } from 'commander';
import { printJson } from '../output.ts';
import { configReference, settings } from '../reference/configuration.ts';
import { pages } from '../reference/pages.ts';

export function addReferenceCommand(program: Command): void {
  program
    .command('reference')
    .description('Show every setting: its name, variable, default and meaning.')
    .option('--write', 'write the generated pages of docs/')
    .option('--json', 'print JSON')
    .action((options: { write?: boolean; json?: boolean }) => {
      if (options.write) for (const page of pages) writeFileSync(page.file, page.content());
      else if (options.json) printJson(settings());
      else process.stdout.write(configReference());
    });
}
