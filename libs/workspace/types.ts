/** The face of the workspace: the only git. It owns mirrors and worktrees below one folder and never touches a user's checkout. */
import type { FileChange, Project } from '@taskbridge/contract';

export interface WorkspaceOptions {
  /** Folder for mirrors and locks. */
  mirrorsDir: string;
  /** Name and address that commits are made with. */
  identity: { name: string; email: string };
}

export interface TreeRequest {
  project: Project;
  taskId: string;
  attempt: number;
  /** Branch, tag or commit the contract names, or undefined for the project's base branch. */
  base: string | undefined;
  /** The first is the base (instead of `base`); the others are merged in order. */
  dependencyCommits: string[];
  branch: string;
  /** Absolute path where the worktree is to stand. Reused when a worktree of the same mirror stands there. */
  path: string;
  signal?: AbortSignal;
}

export interface Patch {
  /** Commit made from the agent's work; equal to the base when nothing changed. */
  head: string;
  empty: boolean;
  /** Bounded at the contract's reportListLimit. */
  files: FileChange[];
  filesTotal: number;
  /** Every changed path, a renamed file with both its names: what the scope is held against. */
  paths: string[];
  /** Unified diff base..head with binary files as placeholders, cut at `maxBytes`. May hold any bytes. */
  diff: Buffer;
  diffBytes: number;
  diffTruncated: boolean;
}

/** A worktree of one attempt. Closing it never deletes work that is not on a ref. */
export interface Tree extends AsyncDisposable {
  readonly path: string;
  readonly base: { ref: string; commit: string };
  /** Paths outside `path` that git needs to read there (the mirror), for the sandbox. */
  readonly gitDir: string;
  /** Stages everything the agent left (also what it committed itself), commits it as TaskBridge with a `TaskBridge-Task` trailer, hooks and signing off. */
  capture(message: { title: string; taskId: string }, maxDiffBytes: number): Promise<Patch>;
  /** Publishes `head` as the task branch by compare-and-swap: in the path project's repository, or pushed to the URL. Repeating it is harmless. */
  publish(head: string): Promise<void>;
  /** Puts everything in the tree, committed or not, on the salvage ref (in the mirror and, for a path project, not in the user's repository). Undefined when nothing differs from the base. */
  salvage(): Promise<string | undefined>;
  /** Undoes every change in the tree. @returns the paths that were undone */
  revert(): Promise<string[]>;
}

export interface Workspace {
  /** Brings the mirror up to date and sets a clean worktree at the base. @throws AttemptFailure project_unavailable, base_not_found, dependency_conflict, worktree_failed, checkout_incomplete, disk_full */
  open(request: TreeRequest): Promise<Tree>;
  /** Puts on its salvage ref what a killed process left in a worktree at `path`. Nothing happens when nothing was left. */
  saveLeftover(path: string): Promise<void>;
  /** Where the mirror of a project stands, whether or not it is there yet. */
  mirrorPath(projectId: string): string;
  /** Version of git on this machine. */
  gitVersion(): Promise<string>;
}

/** The paths of `files` that no glob of `scope` allows. An empty scope allows everything. */
export type OutOfScope = (files: readonly string[], scope: readonly string[]) => string[];

/** What is known of a repository before it becomes a project. */
export type Inspect = (source: string) => Promise<{ kind: 'path' | 'url'; source: string; defaultBranch: string }>;
