/** A board as a real process on a record that the test writes, and the plain HTTP a browser would speak. */
import { mkdtempSync, rmSync } from 'node:fs';
import { type IncomingHttpHeaders, request } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { submitSchema } from '@taskbridge/contract';
import { openRecord, type TaskRecord } from '@taskbridge/record';
import { startService } from './service.ts';

export interface Reply {
  status: number;
  headers: IncomingHttpHeaders;
  body: string;
}

export interface Feed extends AsyncDisposable {
  readonly status: number;
  /** Resolves with the text received so far once it contains `text`, or the feed has ended. */
  until(text: string): Promise<string>;
  /** Resolves when the board ends it. */
  readonly ended: Promise<void>;
}

export interface TestBoard extends AsyncDisposable {
  readonly url: string;
  readonly record: TaskRecord;
  /** A new token of the client of this name, and its id. */
  token(name: string, operator: boolean): { token: string; id: string };
  /** Records one task, and returns its id. */
  submit(goal: string): Promise<string>;
  /** Follows no redirect, and sends just the headers given. */
  call(path: string, options?: { headers?: Record<string, string>; form?: Record<string, string> }): Promise<Reply>;
  /** Signs in with the token. @returns the Cookie header */
  signIn(token: string): Promise<string>;
  feed(path: string, headers: Record<string, string>): Promise<Feed>;
}

export async function openBoard(env: Record<string, string> = {}): Promise<TestBoard> {
  const dir = mkdtempSync(join(tmpdir(), 'tb-board-'));
  const record = openRecord({ dataDir: join(dir, 'record') });
  record.projects.add({ name: 'sample', source: '/nowhere', kind: 'path', host: 'here', baseBranch: 'main' }, 'test');
  const client = record.tokens.create('planner', { operator: false }, 'test').info;
  const service = await startService('board', { TASKBRIDGE_DATA_DIR: dir, TASKBRIDGE_BOARD_PORT: '0', ...env }, join(dir, 'board.log'));
  const url = service.url ?? '';

  const call: TestBoard['call'] = (path, { headers = {}, form } = {}) =>
    new Promise((resolve, reject) => {
      const type = form ? { 'content-type': 'application/x-www-form-urlencoded' } : {};
      const sent = request(`${url}${path}`, { method: form ? 'POST' : 'GET', headers: { ...type, ...headers } }, (response) => {
        let body = '';
        response.setEncoding('utf8');
        response.on('data', (chunk: string) => {
          body += chunk;
        });
        response.on('end', () => resolve({ status: response.statusCode ?? 0, headers: response.headers, body }));
      });
      sent.on('error', reject);
      sent.end(form && new URLSearchParams(form).toString());
    });

  return {
    url,
    record,
    token: (name, operator) => {
      const { token, info } = record.tokens.create(name, { operator }, 'test');
      return { token, id: info.id };
    },
    submit: async (goal) => {
      const [submitted] = await record.tasks.submit(client, [submitSchema.parse({ goal, project: 'sample' })]);
      return submitted?.task.id as string;
    },
    call,
    signIn: async (token) => {
      const reply = await call('/sign-in', { form: { token } });
      return reply.headers['set-cookie']?.[0]?.split(';')[0] ?? '';
    },
    feed: (path, headers) => openFeed(`${url}${path}`, headers),
    async [Symbol.asyncDispose]() {
      await service.kill('SIGTERM');
      record.close();
      rmSync(dir, { recursive: true, force: true });
    },
  };
}

const openFeed = (url: string, headers: Record<string, string>): Promise<Feed> =>
  new Promise((resolve, reject) => {
    const sent = request(url, { headers }, (response) => {
      let heard = '';
      let over = false;
      let look = () => {};
      response.setEncoding('utf8');
      response.on('data', (chunk: string) => {
        heard += chunk;
        look();
      });
      const ended = new Promise<void>((done) => {
        response.on('close', () => {
          over = true;
          look();
          done();
        });
      });
      resolve({
        status: response.statusCode ?? 0,
        ended,
        until: (text) =>
          new Promise((done) => {
            look = () => (over || heard.includes(text)) && done(heard);
            look();
          }),
        [Symbol.asyncDispose]: async () => {
          sent.destroy();
          await ended;
        },
      });
    });
    sent.on('error', reject);
    sent.end();
  });
