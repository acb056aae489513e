/** taskbridge config-reference: every setting, generated from the schema. */
import { writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import type { Command } from 'commander';
import { configReference, settings } from '../config-reference.ts';
import { printJson } from '../output.ts';

/** The page of the documentation that is generated. */
export const configPage = fileURLToPath(new URL('../../../docs/configuration.md', import.meta.url));

export function addConfigReferenceCommand(program: Command): void {
  program
    .command('config-reference')
    .description('Show every setting: its name, variable, default and meaning.')
    .option('--write', 'write docs/configuration.md')
    .option('--json', 'print JSON')
    .action((options: { write?: boolean; json?: boolean }) => {
      if (options.write) writeFileSync(configPage, configReference());
      else if (options.json) printJson(settings());
      else process.stdout.write(configReference());
    });
}
