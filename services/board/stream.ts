/** The live feed: server-sent events from the record's event sequence. A browser that comes back says where it left off and misses nothing. */
import type { TaskRecord } from '@taskbridge/record';
import type { FastifyReply, FastifyRequest } from 'fastify';

/** A sign of life this often tells the page that the feed lives, in milliseconds; it calls the feed stale after 15 s of silence. */
const keepAliveMs = 10_000;
const batch = 500;

/** Answers with a feed that ends when the client leaves, is no longer signed in, or `stopping` is aborted. */
export function streamEvents(
  record: Pick<TaskRecord, 'events'>,
  request: FastifyRequest,
  reply: FastifyReply,
  signedIn: () => boolean,
  stopping: AbortSignal,
): void {
  const { after } = request.query as { after?: string };
  const from = Number(request.headers['last-event-id'] ?? after ?? record.events.last());
  let seq = Number.isSafeInteger(from) && from >= 0 ? from : record.events.last();
  reply.hijack();
  const { raw } = reply;
  raw.writeHead(200, { ...(reply.getHeaders() as Record<string, string>), 'content-type': 'text/event-stream', 'x-accel-buffering': 'no' });
  const send = () => {
    // A client that does not read is not written to; it gets the rest once it does.
    while (!raw.writableNeedDrain) {
      const events = record.events.since(seq, batch);
      for (const event of events) {
        seq = event.seq;
        raw.write(`id: ${seq}\ndata: ${JSON.stringify({ seq, type: event.type, taskId: event.taskId })}\n\n`);
      }
      if (events.length < batch) break;
    }
    // Activity is a change of a row, not an event: the page looks again at these, too.
    if (!raw.writableNeedDrain) raw.write('event: change\ndata: {}\n\n');
  };
  const end = () => {
    clearInterval(keepAlive);
    unwatch();
    stopping.removeEventListener('abort', end);
    raw.end();
  };
  const keepAlive = setInterval(() => {
    if (!signedIn()) end();
    else if (!raw.writableNeedDrain) raw.write('event: alive\ndata: {}\n\n');
  }, keepAliveMs);
  const unwatch = record.events.watch(send);
  raw.on('close', end);
  raw.on('drain', send);
  stopping.addEventListener('abort', end);
  raw.write('retry: 1000\n\n');
  send();
}
