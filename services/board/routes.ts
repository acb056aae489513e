/** The board's pages and the ways in and out. It only reads the record; all it leaves there is when a token was last used. */
import { readFileSync } from 'node:fs';
import { ApiError } from '@taskbridge/contract';
import type { Principal, TaskFilter, TaskRecord } from '@taskbridge/record';
import type { FastifyInstance, FastifyReply } from 'fastify';
import type { Html } from './html.ts';
import { layout, signInPage } from './pages/layout.ts';
import { overview } from './pages/overview.ts';
import { taskPage } from './pages/task-page.ts';
import type { Sessions } from './sessions.ts';
import { streamEvents } from './stream.ts';

/** The page is for whoever runs TaskBridge: it shows every client's tasks. */
const reader: Principal = { clientId: 'board', clientName: 'board', operator: true };
const newest = 100;
const timelineLimit = 500;
const open = new Set(['/health', '/ready', '/sign-in', '/static/board.css', '/static/board.js']);

const send = (reply: FastifyReply, page: Html): FastifyReply => reply.type('text/html; charset=utf-8').send(page.markup);
const asset = (name: string): string => readFileSync(new URL(`./static/${name}`, import.meta.url), 'utf8');

export function addRoutes(app: FastifyInstance, record: TaskRecord, sessions: Sessions, stopping: AbortSignal): void {
  app.addHook('onRequest', async (request, reply) => {
    const path = request.url.split('?', 1)[0] ?? '';
    if (open.has(path) || sessions.valid(request.headers.cookie)) return;
    if (path === '/events') return reply.code(401).send();
    return reply.redirect('/sign-in');
  });

  app.get('/health', async () => ({ status: 'live' }));
  app.get('/ready', async (_request, reply) => {
    const ready = record.healthy();
    return reply.code(ready ? 200 : 503).send({ ready, ...(ready ? {} : { reason: 'The record does not answer.' }) });
  });
  for (const [name, type] of [
    ['board.css', 'text/css'],
    ['board.js', 'text/javascript'],
  ] as const) {
    const content = asset(name);
    app.get(`/static/${name}`, async (_request, reply) => reply.type(`${type}; charset=utf-8`).send(content));
  }

  app.get('/sign-in', async (_request, reply) => send(reply, signInPage()));
  app.post<{ Body?: { token?: string } }>('/sign-in', async (request, reply) => {
    const result = sessions.signIn(request.body?.token?.trim() ?? '');
    if (result === 'too many') return send(reply.code(429), signInPage('Too many wrong tokens; wait a minute.'));
    if (result === 'wrong') return send(reply.code(401), signInPage('This is not the token of an operator.'));
    return reply.header('set-cookie', result.cookie).redirect('/', 303);
  });
  app.post('/sign-out', async (request, reply) => {
    return reply.header('set-cookie', sessions.signOut(request.headers.cookie)).redirect('/sign-in', 303);
  });

  app.get('/', async (_request, reply) => {
    const seq = record.events.last();
    const tasks = (filter: TaskFilter) => record.tasks.list(reader, filter, null, newest).items;
    const needing = tasks({ states: ['waiting', 'blocked'] });
    return send(reply, layout('Tasks', overview(record.tasks.countByState(), needing, tasks({}), Date.now()), seq));
  });
  app.get<{ Params: { id: string } }>('/tasks/:id', async (request, reply) => {
    const { id } = request.params;
    const seq = record.events.last();
    const task = record.tasks.get(reader, id);
    const diff = record.artifacts.read(reader, id, 'diff')?.content.toString('utf8');
    const page = taskPage(task, record.tasks.attempts(reader, id), record.events.ofTask(id, 0, timelineLimit), diff);
    return send(reply, layout(task.title, page, seq));
  });
  app.get('/events', (request, reply) => streamEvents(record, request, reply, () => sessions.valid(request.headers.cookie), stopping));
  app.setErrorHandler((error, _request, reply) => {
    const known = error instanceof ApiError ? error : undefined;
    return reply
      .code(known?.status ?? (error as { statusCode?: number }).statusCode ?? 500)
      .send(known?.message ?? 'The board met an error.');
  });
}
