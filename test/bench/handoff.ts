/**
 * What the handoff costs: a whole task through TaskBridge (submit, worktree, agent, gates, branch, report) against the bare
 * `opencode run` on the same prompt and model, in turn within one run, and the time from submit to the agent's first model request.
 * Run by `npm run bench`. Prints figures; judges nothing.
 */
import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { opencodeBinary, opencodeConfig } from '@taskbridge/agents';
import { execa } from 'execa';
import { sampleRepository } from '../support/repo.ts';
import { writesFile } from '../support/scenarios.ts';
import { type Stack, startStack } from '../support/stack.ts';

const rounds = Number(process.env['BENCH_ROUNDS'] ?? 7);
const model = { model: 'scripted/model', contextTokens: 128_000, outputTokens: 16_000, inputPrice: 1, outputPrice: 2 };
const goal = 'Write the bench file.';

const median = (values: number[]): number => values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN;
const spread = (values: number[]) =>
  `median ${Math.round(median(values))} ms (min ${Math.round(Math.min(...values))}, max ${Math.round(Math.max(...values))})`;

async function throughTaskBridge(stack: Stack): Promise<{ total: number; firstRequest: number }> {
  const begin = performance.now();
  const first = stack.model.nextRequest().then(() => performance.now() - begin);
  const { task } = await stack.planner.call<{ task: { id: string } }>('submit_task', { project: 'sample', goal });
  await stack.settled(task.id);
  return { total: performance.now() - begin, firstRequest: await first };
}

/** The bare agent with a home that stays, in a repository of its own. */
async function bare(stack: Stack, home: string): Promise<number> {
  const directory = await mkdtemp(join(tmpdir(), 'tb-bare-'));
  await sampleRepository(directory);
  const begin = performance.now();
  await execa(opencodeBinary(), ['run', '--format', 'json', '--model', 'scripted/model', goal], {
    cwd: directory,
    stdin: 'ignore',
    extendEnv: false,
    env: {
      PATH: process.env['PATH'] ?? '',
      HOME: home,
      OPENCODE_CONFIG_CONTENT: JSON.stringify(opencodeConfig(model, { baseUrl: stack.model.baseUrl, key: 'sk-bare' })),
      OPENCODE_DISABLE_AUTOUPDATE: '1',
      OPENCODE_DISABLE_MODELS_FETCH: '1',
    },
    timeout: 120_000,
  });
  const took = performance.now() - begin;
  await rm(directory, { recursive: true, force: true });
  return took;
}

await using stack = await startStack({ slots: 1, scenarios: [writesFile('bench file', 'bench.txt', 'bench\n')] });
const home = join(stack.dir, 'bare-home');
await mkdir(home);
const cold = await throughTaskBridge(stack);
await bare(stack, home);
const ours: number[] = [];
const firsts: number[] = [];
const theirs: number[] = [];
for (let round = 0; round < rounds; round += 1) {
  const { total, firstRequest } = await throughTaskBridge(stack);
  ours.push(total);
  firsts.push(firstRequest);
  theirs.push(await bare(stack, home));
}
console.log(`first task on a worker       ${Math.round(cold.total)} ms, its first model request after ${Math.round(cold.firstRequest)} ms`);
console.log(`submit → first model request ${spread(firsts)}`);
console.log(`whole task, TaskBridge       ${spread(ours)}`);
console.log(`whole task, opencode run     ${spread(theirs)}`);
console.log(
  `ratio of medians             ${(median(ours) / median(theirs)).toFixed(2)} (below 1: TaskBridge is quicker), ${rounds} rounds in turn`,
);
