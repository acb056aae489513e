/** The record: the one truth, in SQLite. Imported by gateway, reaper, board, dispatch and the command line; never by a worker. */
export { acquireInstanceLock, type InstanceLock } from './instance-lock.ts';
export { openRecord } from './record.ts';
export type * from './types.ts';
