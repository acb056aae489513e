/** The face of the agents: start one in a directory, let it work, know what it did, and leave no process behind. */
import type { Command, Contract, LimitEvidence, Usage } from '@taskbridge/contract';

export interface ModelSettings {
  /** `provider/model`. */
  model: string;
  /** OpenAI-compatible endpoint; absent for a provider OpenCode knows itself. */
  baseUrl?: string;
  apiKey?: string;
  contextTokens: number;
  outputTokens: number;
  /** USD for a million tokens; absent when unknown. */
  inputPrice?: number;
  outputPrice?: number;
}

export interface AgentPoolOptions {
  /** Folder below which every slot has its own (home, tree). */
  slotsDir: string;
  slots: number;
  /** How many idle servers are started ahead. */
  warm: number;
  model: ModelSettings | undefined;
  sandbox: 'auto' | 'required' | 'off';
  /** A server older than this is not given to another attempt, in milliseconds. */
  maxAgeMs: number;
  /** A server whose process tree uses more than this is not given to another attempt, in bytes. */
  maxMemoryBytes: number;
  startTimeoutMs: number;
}

/** A slot of its own: home, worktree path, warm OpenCode server. */
export interface Slot extends AsyncDisposable {
  /** Where the worktree of this slot is to stand. Keeps its path, so that a warm server stays warm. */
  readonly treePath: string;
  /** Starts (or finds warm) the server for a worktree that reads this git directory. @throws AttemptFailure agent_start_failed, sandbox_unavailable, model_not_configured */
  agent(workplace: { gitDir: string; projectId: string }): Promise<Agent>;
}

export type AgentEvent =
  | { type: 'text'; text: string }
  | { type: 'tool'; tool: string; title: string; status: 'running' | 'completed' | 'error'; output: string }
  | { type: 'command'; command: Command; output: string }
  | { type: 'usage'; usage: Usage }
  | { type: 'model_call'; at: number }
  | { type: 'retrying'; message: string; attempt: number };

export interface WorkRequest {
  contract: Contract;
  title: string;
  directory: string;
  /** May the agent write? False for analysis and review. */
  writes: boolean;
  stallMs: number;
  runMs: number;
  signal: AbortSignal;
  onEvent(event: AgentEvent): void;
}

export interface Work {
  sessionId: string;
  /** The agent's last words. */
  summary: string;
  openQuestions: string[];
  commands: Command[];
  usage: Usage;
  model: string;
  /** The whole conversation as JSON, for the evidence. */
  transcript: Buffer;
  /** Time of the first request to the model, epoch ms. */
  firstModelCallAt: number | null;
}

export interface Agent {
  /** One task in a new session. @throws AttemptFailure with the model's, the agent's or the clock's reason; it carries what is known of the work as `partial` */
  work(request: WorkRequest): Promise<Work>;
  /** Runs a command of the project (setup, check) behind the same limits. Output is bounded at `maxBytes`, the tail is kept. */
  run(
    command: string,
    options: { directory: string; timeoutMs: number; maxBytes: number; signal: AbortSignal },
  ): Promise<{ exitCode: number | null; output: Buffer; durationMs: number; timedOut: boolean }>;
  readonly limits: LimitEvidence[];
}

/** What a failed `work` knows: always attached to the AttemptFailure it throws. */
export type PartialWork = Omit<Work, 'transcript'> & { transcript: Buffer | null };

export interface AgentPool {
  /** Takes a free slot, best one warm for this project. */
  take(projectId: string): Promise<Slot>;
  /** opencode, bubblewrap … */
  versions(): Promise<Record<string, string>>;
  /** Ends every server and its whole process tree. */
  close(): Promise<void>;
}
