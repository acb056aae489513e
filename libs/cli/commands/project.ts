/** taskbridge project: the allowlist of repositories. */
import { basename } from 'node:path';
import { type ProjectInput, projectSchema } from '@taskbridge/contract';
import { type Config, hostId } from '@taskbridge/platform';
import { inspectRepository } from '@taskbridge/workspace';
import type { Command } from 'commander';
import { CliError } from '../errors.ts';
import { localActor, withRecord } from '../local-record.ts';
import { print, printJson, table } from '../output.ts';

interface AddOptions {
  name?: string;
  base?: string;
  setup?: string;
  check?: string[];
  json?: boolean;
}

export function addProjectCommands(program: Command): void {
  const project = program.command('project').description('The repositories that tasks may work on.');
  project
    .command('add')
    .description('Allow a repository: a path on this machine, or a URL that git can fetch and push.')
    .argument('<path-or-url>')
    .option('--name <name>', "name that tasks use (default: the repository's)")
    .option('--base <branch>', "branch that work starts from (default: the repository's)")
    .option('--setup <command>', 'command that prepares a fresh worktree')
    .option('--check <command>', 'command that must succeed on the result; repeat for several', collect)
    .option('--json', 'print JSON')
    .action(async (source: string, options: AddOptions) => {
      await withRecord(async (record, config) => {
        const added = record.projects.add(await describeProject(source, options, config), localActor);
        if (options.json) printJson(added);
        else
          print(
            `Added ${added.name}: ${added.source}, from ${added.baseBranch}${added.checks.length ? `, checks: ${added.checks.join('; ')}` : ''}`,
          );
      });
    });
  project
    .command('list')
    .description('Show the projects.')
    .option('--json', 'print JSON')
    .action((options: { json?: boolean }) =>
      withRecord((record) => {
        const projects = record.projects.list();
        if (options.json) return printJson(projects);
        if (projects.length === 0) return print('No projects yet. Add one with: taskbridge project add PATH');
        print(table([['NAME', 'BASE', 'SOURCE'], ...projects.map((one) => [one.name, one.baseBranch, one.source])]));
      }),
    );
  project
    .command('remove')
    .description('Take a repository off the list. The repository itself is left alone.')
    .argument('<name>')
    .option('--json', 'print JSON')
    .action((name: string, options: { json?: boolean }) =>
      withRecord((record) => {
        record.projects.remove(name, localActor);
        if (options.json) printJson({ removed: name });
        else print(`Removed ${name}.`);
      }),
    );
}

/** Option values given several times. */
export const collect = (value: string, before: string[] = []): string[] => [...before, value];

/** A name from the repository's, with what a name can't hold replaced. */
const nameOf = (source: string): string =>
  basename(source)
    .replace(/\.git$/, '')
    .replace(/[^\w.-]+/g, '-')
    .replace(/^-+|-+$/g, '') || 'project';

/** A project as the record takes it, after a look at the repository. */
export async function describeProject(source: string, options: Omit<AddOptions, 'json'>, config: Config): Promise<ProjectInput> {
  if (/^[a-z][a-z0-9+.-]*:\/\/[^/@]*:[^/@]*@/i.test(source)) {
    throw new CliError('The URL holds a password. Give it without one, and let a git credential helper supply it to the worker.');
  }
  const found = await inspectRepository(source);
  const input = projectSchema.safeParse({
    name: options.name ?? nameOf(found.source),
    source: found.source,
    kind: found.kind,
    // Only workers of this host can read a path on it.
    ...(found.kind === 'path' ? { host: hostId(config) } : {}),
    baseBranch: options.base ?? found.defaultBranch,
    ...(options.setup ? { setup: options.setup } : {}),
    checks: options.check ?? [],
  });
  if (!input.success) {
    const [issue] = input.error.issues;
    throw new CliError(`The project's ${issue?.path.join('.')} is not usable: ${issue?.message}. See: taskbridge project add --help.`);
  }
  return input.data;
}
