/**
 * The words every part shares: schemas, the state table, failure reasons, ids.
 * Pure: no I/O, imports no other lib. Anyone may import it.
 */
export * from './contract.ts';
export * from './errors.ts';
export * from './failures.ts';
export * from './ids.ts';
export * from './job.ts';
export * from './live.ts';
export * from './project.ts';
export * from './report.ts';
export * from './states.ts';
export * from './submit.ts';
export * from './views.ts';
