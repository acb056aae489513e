/** taskbridge submit: hands a task over, as any client would. */
import { readFileSync } from 'node:fs';
import { text } from 'node:stream/consumers';
import { isTerminal, type Mode, modes, type SubmitInput } from '@taskbridge/contract';
import { type Command, InvalidArgumentError, Option } from 'commander';
import { CliError } from '../errors.ts';
import { followTask, spoken } from '../follow.ts';
import type { Gateway } from '../gateway-client.ts';
import { print, printJson } from '../output.ts';
import { describeTask } from '../task-view.ts';
import { withGateway } from '../with-gateway.ts';
import { collect } from './project.ts';

interface SubmitOptions {
  project?: string;
  goal?: string;
  title?: string;
  mode?: Mode;
  scope?: string[];
  acceptance?: string[];
  constraint?: string[];
  base?: string;
  model?: string;
  priority?: number;
  tag?: string[];
  after?: string[];
  key?: string;
  runMinutes?: number;
  wait?: boolean;
  json?: boolean;
}

export function addSubmitCommand(program: Command): void {
  program
    .command('submit')
    .description('Hand a task over. The goal comes from --goal, a file, or - for standard input.')
    .argument('[file]')
    .option('-p, --project <name>', 'project to work on (default: the only one)')
    .option('-g, --goal <text>', 'what is to be done, in plain words')
    .option('--title <text>', 'short name for lists and the branch')
    .addOption(new Option('--mode <mode>', 'what kind of work it is').choices(modes))
    .option('--scope <glob>', 'files that may change; repeat for several', collect)
    .option('--acceptance <sentence>', 'what must be true at the end; repeat for several', collect)
    .option('--constraint <sentence>', 'what the agent must not do; repeat for several', collect)
    .option('--base <ref>', "branch, tag or commit to start from (default: the project's)")
    .option('--model <provider/model>', "model to use (default: the worker's)")
    .option('--priority <0-9>', '9 starts first', number)
    .option('--tag <tag>', 'word to find it by; repeat for several', collect)
    .option('--after <task-id>', 'task that must be done first; repeat for several', collect)
    .option('--key <text>', 'idempotency key: the same key and input is the same task')
    .option('--run-minutes <minutes>', 'total time for one attempt', number)
    .option('-w, --wait', 'follow the task until it ends; exit code 1 when it is not done')
    .option('--json', 'print JSON')
    .action((file: string | undefined, options: SubmitOptions) => withGateway((gateway) => submit(gateway, file, options)));
}

async function submit(gateway: Gateway, file: string | undefined, options: SubmitOptions): Promise<void> {
  const goal = await readGoal(file, options.goal);
  const { task, created } = await gateway.submit(toSubmit(goal, options.project ?? (await onlyProject(gateway)), options));
  if (!options.wait) {
    if (options.json) printJson({ task, created });
    else print(`${task.id} ${created ? 'submitted' : 'was there before'}: ${task.because}`);
    return;
  }
  if (!options.json) print(`${task.id} ${task.title}`);
  // With --json only the end is printed, as one document.
  const detail = await followTask(gateway, task.id, options.json ? {} : spoken(print));
  if (options.json) printJson({ task: detail, created });
  else print(`\n${describeTask(detail)}`);
  if (isTerminal(detail.state) && detail.state !== 'done') process.exitCode = 1;
}

async function readGoal(file: string | undefined, goal: string | undefined): Promise<string> {
  if (goal !== undefined && file !== undefined) throw new CliError('Give the goal either with --goal or as a file, not both.', 'usage');
  if (goal !== undefined) return goal;
  if (file === '-') return text(process.stdin);
  if (file === undefined) throw new CliError('What is to be done? Give --goal TEXT, a file, or - to read standard input.', 'usage');
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    throw new CliError(`The goal can't be read from ${file}: ${(error as Error).message}`, 'usage', error);
  }
}

async function onlyProject(gateway: Gateway): Promise<string> {
  const projects = await gateway.projects();
  const [only] = projects;
  if (!only) throw new CliError('There is no project yet. Add one with: taskbridge project add PATH');
  if (projects.length > 1) {
    throw new CliError(`Which project? Give -p with one of: ${projects.map((one) => one.name).join(', ')}.`, 'usage');
  }
  return only.name;
}

/** Only what was given, so that every default stays with the gateway. */
const toSubmit = (goal: string, project: string, options: SubmitOptions): SubmitInput => ({
  goal,
  project,
  ...(options.title !== undefined && { title: options.title }),
  ...(options.mode !== undefined && { mode: options.mode }),
  ...(options.base !== undefined && { base: options.base }),
  ...(options.model !== undefined && { model: options.model }),
  ...(options.priority !== undefined && { priority: options.priority }),
  ...(options.key !== undefined && { idempotency_key: options.key }),
  ...(options.runMinutes !== undefined && { limits: { run_minutes: options.runMinutes } }),
  ...(options.scope && { scope: options.scope }),
  ...(options.acceptance && { acceptance: options.acceptance }),
  ...(options.constraint && { constraints: options.constraint }),
  ...(options.tag && { tags: options.tag }),
  ...(options.after && { depends_on: options.after }),
});

export function number(value: string): number {
  const parsed = Number(value);
  if (value.trim() === '' || Number.isNaN(parsed)) throw new InvalidArgumentError('It must be a number.');
  return parsed;
}
