/** The workspace: the only git. Imported by the worker, and by the command line to look at a repository. */
export { inspectRepository } from './inspect.ts';
export { outOfScope } from './scope.ts';
export type * from './types.ts';
export { createWorkspace } from './workspace.ts';
