/** The face of the record: the one truth, in SQLite. Every method is synchronous unless it says otherwise. */
import type {
  ArtifactRef,
  AttemptJob,
  AttemptView,
  Fact,
  FailureReason,
  Party,
  Project,
  ProjectInput,
  RecordEvent,
  Report,
  Submit,
  TaskDetail,
  TaskState,
  TaskSummary,
} from '@taskbridge/contract';

/** Who asks: a client sees and changes its own tasks; an operator all. */
export interface Principal {
  clientId: string;
  clientName: string;
  operator: boolean;
}

export interface TaskFilter {
  states?: TaskState[];
  project?: string;
  client?: string;
  tag?: string;
  text?: string;
}

export interface Page<T> {
  items: T[];
  /** Opaque; give it back to get the next page. Null at the end. */
  next: string | null;
}

export interface Submitted {
  task: TaskSummary;
  /** False when an idempotency key led to a task that was there before. */
  created: boolean;
}

export interface Tasks {
  /**
   * Records tasks, all or none. Submits that arrive together share one commit; a lone one is not delayed.
   * Resolves after the commit. `depends_on` may name `#n` within the batch.
   * @throws ApiError not_found (project, dependency), idempotency_conflict, invalid_input (a cycle)
   */
  submit(by: Principal, batch: Submit[]): Promise<Submitted[]>;
  /** @throws ApiError not_found, also when the task is another client's */
  get(by: Principal, taskId: string): TaskDetail;
  list(by: Principal, filter: TaskFilter, cursor: string | null, limit: number): Page<TaskSummary>;
  attempts(by: Principal, taskId: string): AttemptView[];
  /** The number of tasks in each state, all clients together. */
  countByState(): Record<TaskState, number>;
  /**
   * Cancels what has not started at once; asks the worker of a running attempt to stop (through the outbox).
   * Terminal tasks are left as they are.
   * @returns the task after it
   */
  cancel(by: Principal, taskId: string, reason: string): TaskSummary;
}

export interface Events {
  /** Events with a sequence number above `after`, oldest first. */
  since(after: number, limit: number): RecordEvent[];
  ofTask(taskId: string, after: number, limit: number): RecordEvent[];
  last(): number;
  /**
   * Calls back soon after any process commits an event; may call back without one. Needs no Redis: it watches the write-ahead log.
   * @returns a function that ends the watch
   */
  watch(onChange: () => void): () => void;
}

export interface Projects {
  /** @throws ApiError wrong_state when the name is taken */
  add(input: ProjectInput, actor: string): Project;
  list(): Project[];
  /** @throws ApiError not_found */
  get(name: string): Project;
  /** @throws ApiError wrong_state while the project has open tasks */
  remove(name: string, actor: string): void;
}

export interface TokenInfo {
  id: string;
  clientId: string;
  clientName: string;
  operator: boolean;
  createdAt: number;
  lastUsedAt: number | null;
  revokedAt: number | null;
}

export interface Tokens {
  /** Makes a token for the client of this name (made when new). The plain token is returned once and never stored. */
  create(clientName: string, options: { operator: boolean }, actor: string): { token: string; info: TokenInfo };
  /** The principal of a token, compared in constant time; undefined when unknown or revoked. */
  verify(token: string): Principal | undefined;
  list(): TokenInfo[];
  /** @throws ApiError not_found */
  revoke(tokenId: string, actor: string): void;
}

/** Free capacity, as the broker's presence shows it: slots of living workers that are not draining, by queue they read. */
export interface Capacity {
  /** For each host with living workers: their slots together. */
  slotsByHost: Record<string, number>;
  /** How many attempts beyond the free slots may be handed out. */
  lookAhead: number;
}

export type OutboxItem = { id: number; queue: string } & ({ kind: 'enqueue'; job: AttemptJob } | { kind: 'cancel'; attemptId: string });

export interface Dispatch {
  /**
   * One transaction: chooses ready tasks in the order fair share between clients, priority, age; makes an attempt with a new fence and an outbox
   * row for each. Never hands out more than free slots + look-ahead, counting attempts queued and running.
   * @returns how many were handed out
   */
  handOut(capacity: Capacity): number;
  /** Outbox rows not yet delivered, oldest first. A row whose attempt has started or ended is no longer here. */
  pending(limit: number): OutboxItem[];
  /** The broker has it. */
  delivered(outboxId: number): void;
  /** The queue an attempt was handed to; undefined for an unknown one. */
  queueOf(attemptId: string): string | undefined;
  /** Attempts the record believes queued or running, for the reaper's comparison with the broker. */
  openAttempts(): {
    attemptId: string;
    taskId: string;
    queue: string;
    state: 'queued' | 'running';
    workerId: string | null;
    dispatchedAt: number;
    delivered: boolean;
    cancelling: boolean;
  }[];
}

export type Applied = 'applied' | 'stale' | 'already' | 'unknown';

export interface ArtifactContent {
  name: string;
  mediaType: string;
  truncated: boolean;
  content: Buffer;
}

export interface Settle {
  /** Applies a small fact. `stale` when its fence is not the current one. */
  fact(fact: Fact): Applied;
  /**
   * Applies an attempt's report exactly once: artifacts, attempt, task, dependents and events in one transaction.
   * The artifact files are written before it, so that a crash leaves only an unreferenced file.
   */
  report(report: Report, artifacts: ArtifactContent[]): Applied;
  /**
   * Ends a lost attempt: its task goes back to `ready` when it never started, or fails as `worker_lost`. With another `reason` it fails in either case.
   * A task that is being cancelled ends as cancelled. Does nothing when the attempt has ended.
   */
  lost(attemptId: string, detail: string, by: Party, reason?: FailureReason): Applied;
}

export interface Artifacts {
  /** @throws ApiError not_found, also when the task is another client's */
  list(by: Principal, taskId: string): (ArtifactRef & { attemptId: string })[];
  /**
   * The whole content, decompressed, of the artifact of this name: of the newest attempt that has one, or of the attempt asked for.
   * Undefined when there is none.
   */
  read(
    by: Principal,
    taskId: string,
    name: string,
    attemptId?: string,
  ): { ref: ArtifactRef & { attemptId: string }; content: Buffer } | undefined;
}

export interface Cursors {
  get(name: string): string | undefined;
  set(name: string, value: string): void;
}

export interface TaskRecord {
  readonly tasks: Tasks;
  readonly events: Events;
  readonly projects: Projects;
  readonly tokens: Tokens;
  readonly dispatch: Dispatch;
  readonly settle: Settle;
  readonly artifacts: Artifacts;
  readonly cursors: Cursors;
  /** True when a read answers. For readiness checks. */
  healthy(): boolean;
  close(): void;
}
