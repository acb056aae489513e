/** A gateway in this process on a record of its own, and real clients of both protocol generations. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client as NewClient, StreamableHTTPClientTransport as NewTransport } from '@modelcontextprotocol/client';
import { Client as OldClient } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport as OldTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import type { ApiErrorCode, AttemptJob, Report, TaskDetail, TaskSummary } from '@taskbridge/contract';
import { type Config, configSchema, createLog, paths } from '@taskbridge/platform';
import { type ArtifactContent, openRecord, type TaskRecord } from '@taskbridge/record';
import { startGateway } from '../../services/gateway/gateway.ts';
import { aReport } from './attempts.ts';

export const projectName = 'sample';
/** Where the sample project is, as far as dispatching goes. */
const host = 'here';

/** What tests use of either client. */
export interface TestClient {
  callTool(
    params: { name: string; arguments?: Record<string, unknown>; _meta?: Record<string, unknown> },
    options?: {
      signal?: AbortSignal;
      timeout?: number;
      onprogress?: (progress: { progress: number; total?: number; message?: string }) => void;
    },
  ): Promise<ToolResult>;
  listTools(): Promise<{ tools: ListedTool[] }>;
  getServerVersion(): { name: string } | undefined;
  getInstructions(): string | undefined;
  close(): Promise<void>;
}

export interface ListedTool {
  name: string;
  title?: string;
  description?: string;
  inputSchema: unknown;
  annotations?: Record<string, unknown>;
  _meta?: Record<string, unknown>;
}

export interface ToolResult {
  isError?: boolean;
  content: { type: string; text: string }[];
  structuredContent: Record<string, unknown>;
}

export interface GatewayError {
  code: ApiErrorCode;
  message: string;
  field?: string;
  fix?: string;
}

export const generations = ['2025-11-25', '2026-07-28'] as const;
export type Generation = (typeof generations)[number];

export interface TestGateway extends AsyncDisposable {
  readonly url: string;
  readonly config: Config;
  readonly record: TaskRecord;
  /** A new token of the client of this name. */
  token(name: string, options?: { operator?: boolean }): string;
  /** A connected client, closed with the gateway. */
  connect(
    token: string,
    options?: { generation?: Generation; name?: string; userAgent?: string; fetch?: typeof fetch },
  ): Promise<TestClient>;
  /** Ends the gateway and starts another on the same record and port. */
  restart(): Promise<void>;
  stop(): Promise<void>;
}

export async function openGateway(settings: Record<string, unknown> = {}): Promise<TestGateway> {
  const dir = mkdtempSync(join(tmpdir(), 'tb-gateway-'));
  const config = configSchema.parse({
    data_dir: dir,
    redis_url: join(dir, 'nobody.sock'),
    gateway_port: 0,
    log_level: 'error',
    ...settings,
  });
  const log = createLog('gateway', config);
  const record = openRecord({ dataDir: paths(config).record });
  record.projects.add({ name: projectName, source: '/nowhere', kind: 'path', host, baseBranch: 'main' }, 'test');
  const clients: TestClient[] = [];
  let running = await startGateway(config, log);
  const url = running.url ?? '';
  const close = () => running.stop();

  return {
    url,
    config,
    record,
    token: (name, options) => record.tokens.create(name, { operator: options?.operator ?? false }, 'test').token,
    async connect(token, { generation = '2026-07-28', name = 'test', userAgent, fetch } = {}) {
      const headers = { Authorization: `Bearer ${token}`, ...(userAgent ? { 'User-Agent': userAgent } : {}) };
      const options = { requestInit: { headers }, ...(fetch ? { fetch } : {}) };
      const info = { name, version: '1' };
      let client: TestClient;
      if (generation === '2026-07-28') {
        const made = new NewClient(info, { versionNegotiation: { mode: { pin: generation } } });
        await made.connect(new NewTransport(new URL(`${url}/mcp`), options));
        client = made as unknown as TestClient;
      } else {
        const made = new OldClient(info);
        await made.connect(new OldTransport(new URL(`${url}/mcp`), options));
        client = { ...facade(made as unknown as OldCaller), close: () => made.close() };
      }
      clients.push(client);
      return client;
    },
    async restart() {
      await close();
      running = await startGateway({ ...config, gateway_port: Number(new URL(url).port) }, log);
    },
    stop: close,
    async [Symbol.asyncDispose]() {
      await Promise.all(clients.map((client) => client.close()));
      await close();
      record.close();
      rmSync(dir, { recursive: true, force: true });
    },
  };
}

interface OldCaller extends Omit<TestClient, 'callTool'> {
  callTool(
    params: Parameters<TestClient['callTool']>[0],
    schema: undefined,
    options: Parameters<TestClient['callTool']>[1],
  ): Promise<ToolResult>;
}

/** The older client takes a schema between the parameters and the options. */
const facade = (client: OldCaller): Omit<TestClient, 'close'> => ({
  callTool: (params, options) => client.callTool(params, undefined, options),
  listTools: () => client.listTools(),
  getServerVersion: () => client.getServerVersion(),
  getInstructions: () => client.getInstructions(),
});

/** The answer of a call that must succeed. Text and structured content must say the same. */
export async function answer<T = Record<string, unknown>>(
  client: TestClient,
  name: string,
  input: Record<string, unknown> = {},
): Promise<T> {
  const result = await client.callTool({ name, arguments: input });
  if (result.isError) throw new Error(`${name} was refused: ${result.content[0]?.text}`);
  if (result.content[0]?.text !== JSON.stringify(result.structuredContent)) throw new Error(`${name}: text and structured content differ`);
  return result.structuredContent as T;
}

/** The error of a call that must be refused. */
export async function refused(client: TestClient, name: string, input: Record<string, unknown> = {}): Promise<GatewayError> {
  const result = await client.callTool({ name, arguments: input });
  if (!result.isError) throw new Error(`${name} was not refused: ${result.content[0]?.text}`);
  const said = JSON.parse(result.content[0]?.text ?? '') as { error: GatewayError };
  if (JSON.stringify(said) !== JSON.stringify(result.structuredContent)) throw new Error(`${name}: text and structured content differ`);
  return said.error;
}

export const submit = async (client: TestClient, input: Record<string, unknown> = {}): Promise<TaskSummary> =>
  (await answer<{ task: TaskSummary }>(client, 'submit_task', { project: projectName, goal: 'Say hello.', ...input })).task;

export const taskOf = async (client: TestClient, id: string): Promise<TaskDetail> =>
  (await answer<{ task: TaskDetail }>(client, 'get_task', { id })).task;

/** Takes every ready task out, as the dispatcher and a worker would, and reports each as begun. */
export function beginAttempts(record: TaskRecord): AttemptJob[] {
  record.dispatch.handOut({ slotsByHost: { [host]: 1_000 }, lookAhead: 0 });
  return record.dispatch.pending(1_000).flatMap((item) => {
    if (item.kind !== 'enqueue') return [];
    const { attemptId, fence } = item.job;
    record.settle.fact({ type: 'attempt.started', attemptId, fence, at: Date.now(), workerId: 'w_test', host });
    return [item.job];
  });
}

export function settleAttempt(record: TaskRecord, job: AttemptJob, end: Partial<Report> = {}, artifacts: ArtifactContent[] = []): void {
  const applied = record.settle.report(aReport(job, end), artifacts);
  if (applied !== 'applied') throw new Error(`the report was ${applied}`);
}
