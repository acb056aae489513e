/**
 * Dispatch joins the record and the broker: what the record decided reaches the queues.
 * For the gateway and the reaper; a worker has no business here.
 */
export { createDispatcher, type Dispatcher } from './dispatcher.ts';
