/** The one table of failure reasons: a stable code, one plain sentence, what to do next, and whether another attempt may help. */

export interface FailureKind {
  readonly sentence: string;
  readonly next: string;
  readonly retryable: boolean;
}

const kind = (sentence: string, next: string, retryable = false): FailureKind => ({ sentence, next, retryable });

export const failureKinds = {
  empty_diff: kind('The agent ended without changing any file.', 'Read the summary; make the goal more concrete and submit again.'),
  scope_exceeded: kind(
    'The agent changed files outside the scope of the contract.',
    'Look at the salvage ref; widen the scope or narrow the goal.',
  ),
  checks_failed: kind(
    "The project's checks failed on the agent's commit.",
    'Read the check log; submit a follow-up task or fix the check.',
  ),
  setup_failed: kind("The project's setup command failed before the agent began.", "Fix the project's setup command."),
  agent_gave_up: kind('The agent ended its turn without an answer.', 'Read the log; make the goal more concrete or choose another model.'),
  agent_start_failed: kind('OpenCode did not start.', 'Look at the worker log; run the worker again.', true),
  agent_crashed: kind('The OpenCode process ended before the agent was finished.', 'Read the log; it may help to try again.', true),
  agent_blocked: kind(
    'The agent asked for a permission that nobody can grant in a headless run.',
    'Read the log; change the goal so that the permission is not needed.',
  ),
  question_unanswered: kind('The agent asked a question, and nobody answered in time.', 'Answer it in the goal and submit again.'),
  model_not_configured: kind('No model is configured.', 'Set TASKBRIDGE_MODEL (and its endpoint and key), then restart.'),
  model_unauthorized: kind('The model provider refused the key.', 'Check TASKBRIDGE_MODEL_API_KEY.'),
  model_rate_limited: kind('The model provider is limiting requests.', 'Wait, or use another model.', true),
  model_quota_exhausted: kind("The model provider's quota or credit is used up.", 'Top up the account or use another model.'),
  model_unreachable: kind('The model endpoint could not be reached.', 'Check TASKBRIDGE_MODEL_BASE_URL and the network.', true),
  model_error: kind('The model provider answered with an error.', 'Read the log; try again or use another model.', true),
  model_context_exceeded: kind(
    "The conversation outgrew the model's context window.",
    'Split the task or use a model with a larger window.',
  ),
  run_timeout: kind('The attempt used up its whole run time.', 'Raise limits.run_minutes or split the task.'),
  stall_timeout: kind('The agent made no progress for the whole stall time.', 'Read the log; it may help to try again.', true),
  worker_lost: kind('The worker that ran the attempt is gone.', 'Look at the worker; submit the task again.', true),
  worker_shutdown: kind('The worker was shut down during the attempt.', 'The task can run again on another worker.', true),
  project_unavailable: kind(
    "The project's repository could not be read.",
    'Check that its path or URL is reachable from the worker.',
    true,
  ),
  base_not_found: kind('The base the contract names does not exist in the repository.', 'Name an existing branch, tag or commit.'),
  dependency_failed: kind('A task that this one depends on did not succeed.', 'Look at the dependency; submit both again.'),
  dependency_conflict: kind('The commits this task depends on do not merge.', 'Resolve the conflict in a task of its own.'),
  worktree_failed: kind(
    'The worktree for the attempt could not be made.',
    'Look at the worker log; free disk space or repair the mirror.',
    true,
  ),
  checkout_incomplete: kind('The worktree was not clean right after checkout.', 'Check filters such as git-lfs on the worker.'),
  commit_failed: kind(
    "The agent's work could not be committed; it is kept on the salvage ref.",
    'Look at the detail; recover the work from the salvage ref.',
  ),
  publish_conflict: kind(
    'The task branch was changed by someone else; nothing was overwritten.',
    'Rename or remove the other branch; the work is on the salvage ref.',
  ),
  publish_failed: kind(
    'The task branch could not be published; the work is on the salvage ref.',
    'Check that the repository accepts a push.',
    true,
  ),
  disk_full: kind('The disk is full.', 'Free disk space.', true),
  sandbox_unavailable: kind('The sandbox could not be started.', 'Install bubblewrap or allow user namespaces.'),
  internal_error: kind('TaskBridge met an error of its own.', 'Report it, with the log.'),
} as const satisfies Record<string, FailureKind>;

export type FailureReason = keyof typeof failureKinds;
export const failureReasons = Object.keys(failureKinds) as [FailureReason, ...FailureReason[]];

/** A failed step anywhere below a worker's run: carries the reason the report will state. */
export class AttemptFailure extends Error {
  readonly reason: FailureReason;
  /** When the provider said how long to wait, in milliseconds. */
  readonly retryAfterMs: number | undefined;

  constructor(reason: FailureReason, detail: string, options: { cause?: unknown; retryAfterMs?: number } = {}) {
    super(detail, { cause: options.cause });
    this.name = 'AttemptFailure';
    this.reason = reason;
    this.retryAfterMs = options.retryAfterMs;
  }
}
