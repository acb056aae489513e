/** One attempt, from the claim to the report. */
import type { Agent, AgentPool, PartialWork, Slot } from '@taskbridge/agents';
import type { Lease, WorkerIdentity } from '@taskbridge/broker';
import { AttemptFailure, failureKinds, writes } from '@taskbridge/contract';
import type { Config, Log } from '@taskbridge/platform';
import type { Patch, Tree, Workspace } from '@taskbridge/workspace';
import { narrate } from './agent-events.ts';
import { type Attempt, beginAttempt } from './attempt.ts';
import type { Courier } from './courier.ts';
import { succeeded } from './ending.ts';
import { runGates } from './gates.ts';
import { runProjectCommand } from './project-command.ts';
import { makeReport } from './report.ts';
import { rescue } from './rescue.ts';
import type { Clean } from './safe-text.ts';

/** What a worker has at hand for every attempt. */
export interface WorkerKit {
  readonly config: Config;
  readonly log: Log;
  readonly worker: WorkerIdentity;
  readonly workspace: Workspace;
  readonly pool: AgentPool;
  readonly courier: Courier;
  readonly clean: Clean;
}

const minutes = (n: number): number => n * 60_000;

/** Runs the attempt of a lease. Whatever happens, its report is spooled once this resolves. */
export async function runAttempt(lease: Lease, kit: WorkerKit): Promise<void> {
  using attempt = beginAttempt(lease, kit.worker, { clean: kit.clean, logLimitBytes: kit.config.log_limit_bytes });
  try {
    await carryOut(attempt, kit);
  } catch (error) {
    attempt.fail(error);
  }
  const { outcome, reason, detail } = attempt.ending ?? {};
  kit.log.info({ attempt: lease.job.attemptId, outcome, reason, ms: Date.now() - attempt.startedAt }, 'attempt ended');
  attempt.log.write('phase', `ended: ${outcome}${reason ? `, ${reason}` : ''}. ${detail}`);
  await kit.courier.send(makeReport(attempt, kit));
}

async function carryOut(attempt: Attempt, kit: WorkerKit): Promise<void> {
  const { job, signal } = attempt;
  signal.throwIfAborted();
  if (kit.config.model === undefined) throw new AttemptFailure('model_not_configured', failureKinds.model_not_configured.sentence);

  attempt.enter('slot');
  await using slot = await kit.pool.take(job.project.id);
  await using tree = await openTree(attempt, slot, kit);
  try {
    const agent = await startAgent(attempt, slot, tree);
    await setUp(attempt, agent, tree, kit);
    await letWork(attempt, agent, tree, kit);
    const patch = await capture(attempt, tree, kit);
    attempt.enter('gates');
    await runGates(patch, { attempt, agent, tree, timeoutMs: minutes(kit.config.check_minutes), clean: kit.clean });
    if (writes(job.contract.mode)) await publish(attempt, tree, patch);
    attempt.end(succeeded(describeSuccess(attempt, patch)));
  } catch (error) {
    attempt.fail(error);
    await rescue(attempt, tree, kit.config.diff_limit_bytes);
  }
  attempt.enter('close');
}

async function openTree(attempt: Attempt, slot: Slot, { workspace }: WorkerKit): Promise<Tree> {
  const { job, signal } = attempt;
  attempt.enter('tree');
  const tree = await workspace.open({
    project: job.project,
    taskId: job.taskId,
    attempt: job.number,
    base: job.contract.base,
    dependencyCommits: job.dependencyCommits,
    branch: job.branch,
    path: slot.treePath,
    signal,
  });
  attempt.known.base = tree.base;
  return tree;
}

async function startAgent(attempt: Attempt, slot: Slot, tree: Tree): Promise<Agent> {
  attempt.signal.throwIfAborted();
  attempt.enter('agent', tree.base.commit);
  const agent = await slot.agent({ gitDir: tree.gitDir, projectId: attempt.job.project.id });
  attempt.known.limits.push(...agent.limits);
  return agent;
}

async function setUp(attempt: Attempt, agent: Agent, tree: Tree, { config, clean }: WorkerKit): Promise<void> {
  const command = attempt.job.project.setup;
  if (command === undefined) return;
  attempt.enter('setup');
  const result = await runProjectCommand('setup', command, { attempt, agent, tree, timeoutMs: minutes(config.check_minutes), clean });
  if (result.outcome === 'failed') throw new AttemptFailure('setup_failed', result.detail);
  // What the setup leaves beside ignored files is not the agent's work, and must not be taken for it.
  const undone = await tree.revert();
  if (undone.length > 0) attempt.log.write('phase', `the setup changed files that git does not ignore; undone: ${undone.join(', ')}`);
}

async function letWork(attempt: Attempt, agent: Agent, tree: Tree, { config, clean }: WorkerKit): Promise<void> {
  const { job, signal, known } = attempt;
  const { contract, title } = job;
  signal.throwIfAborted();
  attempt.enter('work');
  try {
    known.work = await agent.work({
      contract,
      title,
      directory: tree.path,
      writes: writes(contract.mode),
      stallMs: minutes(contract.limits.stall_minutes ?? config.stall_minutes),
      runMs: minutes(contract.limits.run_minutes ?? config.run_minutes),
      signal,
      onEvent: narrate(attempt, clean),
    });
  } catch (error) {
    known.work = (error as { partial?: PartialWork }).partial;
    throw error;
  }
  signal.throwIfAborted();
}

async function capture(attempt: Attempt, tree: Tree, { config }: WorkerKit): Promise<Patch> {
  attempt.enter('capture');
  const patch = await tree.capture(attempt.job, config.diff_limit_bytes);
  attempt.known.patch = patch;
  return patch;
}

async function publish(attempt: Attempt, tree: Tree, patch: Patch): Promise<void> {
  attempt.enter('publish');
  // The last look; from here on only the compare-and-swap stands between two attempts.
  attempt.signal.throwIfAborted();
  await tree.publish(patch.head);
  attempt.known.head = { commit: patch.head, branch: attempt.job.branch };
}

function describeSuccess({ job }: Attempt, patch: Patch): string {
  return writes(job.contract.mode)
    ? `${patch.filesTotal} files changed, published on ${job.branch}.`
    : 'The agent answered; nothing was changed.';
}
