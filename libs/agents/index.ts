/** The agents: OpenCode behind its limits. Imported by the worker. */
export { opencodeBinary, opencodeConfig } from './opencode-config.ts';
export { createAgentPool } from './pool.ts';
export { openQuestionsIn, promptOf } from './prompt.ts';
export type * from './types.ts';
