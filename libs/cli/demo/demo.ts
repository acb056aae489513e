/** The demo: one task on a sample repository, submitted and followed through MCP like by any client, with the practice model. */
import { join } from 'node:path';
import { type Config, paths } from '@taskbridge/platform';
import colors from 'picocolors';
import { describeProject } from '../commands/project.ts';
import { followTask, spoken } from '../follow.ts';
import { connectGateway } from '../gateway-client.ts';
import { localActor, useRecord } from '../local-record.ts';
import { colorDiff, duration, print } from '../output.ts';
import type { Stack } from '../supervisor/supervisor.ts';
import { describeTask } from '../task-view.ts';
import { ensureSampleRepository, sampleCheck } from './repository.ts';

const project = 'demo';

const task = {
  project,
  title: 'Greet in Spanish',
  goal:
    'Add a function greetSpanish(name) to greet.mjs that returns "¡Hola, NAME!", and a check of it to test.mjs. ' +
    // The script knows its task by these words.
    'Practice task: greet in Spanish.',
  acceptance: ['node test.mjs exits with 0.'],
  scope: ['*.mjs'],
};

/** Runs the demo on a stack that is up. @returns true when the task is done */
export async function runDemo(stack: Stack, config: Config, signal: AbortSignal): Promise<boolean> {
  const repository = join(paths(config).demo, 'repository');
  await ensureSampleRepository(repository);
  await allowProject(repository, config);

  print(`${colors.bold('Demo')}: one task on ${repository}`);
  print(
    `The model is the ${colors.yellow('practice model: a script, not an AI')}. Everything else is the real thing: gateway, queue, worker, OpenCode, git.\n`,
  );
  await using gateway = await connectGateway({ url: stack.mcpUrl, token: stack.token });
  const submitted = Date.now();
  const { task: summary } = await gateway.submit(task);
  print(`${summary.id} submitted to ${stack.mcpUrl}: ${task.goal}\n`);
  const detail = await followTask(gateway, summary.id, spoken(print), signal);
  if (signal.aborted) return false;

  print(`\n${describeTask(detail)}`);
  if (detail.state === 'done') print(`\n${colors.bold('Diff')}\n${colorDiff((await gateway.diff(summary.id)).diff)}`);
  print(`From submit to ${detail.state} in ${duration(Date.now() - submitted)}.\n`);
  print(nextSteps(repository, detail.branch, stack));
  return detail.state === 'done';
}

/** Puts the sample on the allowlist, unless a demo before did. */
const allowProject = (repository: string, config: Config) =>
  useRecord(config, async (record) => {
    if (record.projects.list().some((one) => one.name === project)) return;
    record.projects.add(await describeProject(repository, { name: project, check: [sampleCheck] }, config), localActor);
  });

const nextSteps = (repository: string, branch: string, stack: Stack): string =>
  [
    colors.bold('Try next'),
    `  Look at the branch:       git -C ${repository} show ${branch}`,
    `  See it on the board:      ${stack.boardUrl}`,
    '  Allow a repository:       npx taskbridge project add PATH',
    '  Use a real model:         set TASKBRIDGE_MODEL and TASKBRIDGE_MODEL_API_KEY, then npm start',
    '  Hand a task over:         npx taskbridge submit -p NAME --goal "…" --wait',
  ].join('\n');
