/** The gateway as the command line sees it: an MCP client like any other, with the tools as typed functions. */
import { Client, SdkHttpError, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import type { FileChange, LogLine, Project, SubmitInput, TaskDetail, TaskSummary } from '@taskbridge/contract';
import { type Config, paths, version } from '@taskbridge/platform';
import { CliError } from './errors.ts';
import { readOperatorToken } from './operator-token.ts';
import { readAddresses } from './supervisor/address-file.ts';

/** A call may take as long as the longest wait, and a little more. */
const callTimeoutMs = 120_000;

export interface Endpoint {
  url: string;
  token: string;
}

/**
 * Where the gateway is and what opens it: the settings, else what the stack on this data folder left there.
 * @throws CliError unauthorized when there is no token at all
 */
export function endpointOf(config: Config): Endpoint {
  const url = config.url ?? readAddresses(config)?.mcpUrl ?? `http://${reachable(config.gateway_host)}:${config.gateway_port}/mcp`;
  const token = config.token ?? readOperatorToken(config);
  if (!token) {
    throw new CliError(
      `There is no operator token in ${paths(config).operatorToken}. Run "taskbridge start" once, or set TASKBRIDGE_TOKEN.`,
      'unauthorized',
    );
  }
  return { url, token };
}

/** A gateway that listens everywhere is reached on loopback from its own host. */
function reachable(host: string): string {
  if (host === '0.0.0.0' || host === '::') return '127.0.0.1';
  return host.includes(':') ? `[${host}]` : host;
}

/** The transport to a gateway; also what the stdio proxy stands on. */
export const gatewayTransport = ({ url, token }: Endpoint): StreamableHTTPClientTransport =>
  new StreamableHTTPClientTransport(new URL(url), { requestInit: { headers: { Authorization: `Bearer ${token}` } } });

/** One sentence about a failed exchange with the gateway, with the fix. */
export function explainTransportError(error: unknown, url: string): CliError {
  if (error instanceof CliError) return error;
  const status = error instanceof SdkHttpError ? error.status : undefined;
  if (status === 401) {
    return new CliError(
      `The gateway at ${url} refuses the token. Set TASKBRIDGE_TOKEN to a token made with "taskbridge token create NAME".`,
      'unauthorized',
      error,
    );
  }
  const codes = causes(error).map((cause) => (cause as NodeJS.ErrnoException).code);
  if (codes.some((code) => code === 'ECONNREFUSED' || code === 'ENOTFOUND' || code === 'ECONNRESET')) {
    return new CliError(`No TaskBridge answers at ${url}. Start it with "taskbridge start", or set TASKBRIDGE_URL.`, 'unreachable', error);
  }
  return new CliError(`The gateway at ${url} answered in an unexpected way: ${(error as Error).message}`, 'failed', error);
}

/** An error and everything it says it was caused by. */
function causes(error: unknown): unknown[] {
  const chain: unknown[] = [];
  for (let at = error; at instanceof Error && !chain.includes(at); at = at.cause) {
    chain.push(at);
    if (at instanceof AggregateError) chain.push(...at.errors);
  }
  return chain;
}

export interface DiffStat {
  files: FileChange[];
  files_total: number;
  additions: number;
  deletions: number;
}

interface DiffPage {
  diff: string;
  next_offset: number | null;
  truncated_note?: string;
  whole?: string;
}

export interface Gateway extends AsyncDisposable {
  submit(input: SubmitInput): Promise<{ task: TaskSummary; created: boolean }>;
  /** Waits on the gateway's side; returns also when the time is over, with the tasks as they are. */
  wait(ids: string[], seconds: number): Promise<TaskSummary[]>;
  task(id: string): Promise<TaskDetail>;
  tasks(filter: Record<string, unknown>): Promise<{ tasks: TaskSummary[]; next: string | null }>;
  log(id: string, after: number): Promise<LogLine[]>;
  /** The whole diff that was kept. `cut` says so when that is not all of it, and how to see the rest. */
  diff(id: string): Promise<{ diff: string; cut: string | null }>;
  diffStat(id: string): Promise<DiffStat>;
  cancel(ids: string[], reason: string): Promise<TaskSummary[]>;
  projects(): Promise<Project[]>;
}

/** @throws CliError unreachable, unauthorized */
export async function connectGateway(endpoint: Endpoint): Promise<Gateway> {
  const client = new Client({ name: 'taskbridge-cli', version });
  try {
    await client.connect(gatewayTransport(endpoint));
  } catch (error) {
    throw explainTransportError(error, endpoint.url);
  }

  const call = async <T>(name: string, input: Record<string, unknown>): Promise<T> => {
    const result = await client.callTool({ name, arguments: input }, { timeout: callTimeoutMs }).catch((error: unknown) => {
      throw explainTransportError(error, endpoint.url);
    });
    if (result.isError) throw refusal(result);
    return result.structuredContent as T;
  };

  return {
    submit: (input) => call('submit_task', input),
    wait: async (ids, seconds) => (await call<{ tasks: TaskSummary[] }>('wait_tasks', { ids, timeout_seconds: seconds })).tasks,
    task: async (id) => (await call<{ task: TaskDetail }>('get_task', { id })).task,
    tasks: (filter) => call('list_tasks', filter),
    log: async (id, after) => (await call<{ lines: LogLine[] }>('get_logs', { id, after })).lines,
    diff: async (id) => {
      let diff = '';
      for (let offset: number | null = 0; ; ) {
        const page: DiffPage = await call('get_diff', { id, offset });
        diff += page.diff;
        offset = page.next_offset;
        if (offset === null)
          return { diff, cut: page.truncated_note ? `${page.truncated_note} (${page.whole ?? 'see the task branch'})` : null };
      }
    },
    diffStat: (id) => call('get_diff', { id, stat: true }),
    cancel: async (ids, reason) => (await call<{ tasks: TaskSummary[] }>('cancel_tasks', { ids, reason })).tasks,
    projects: async () => (await call<{ projects: Project[] }>('list_projects', {})).projects,
    [Symbol.asyncDispose]: () => client.close(),
  };
}

/** A tool's refusal in the gateway's own words. */
function refusal(result: { content: unknown; structuredContent?: unknown }): CliError {
  const error = (result.structuredContent as { error?: { code?: string; message?: string; fix?: string } } | undefined)?.error;
  const text = (result.content as { text?: string }[] | undefined)?.[0]?.text;
  const sentence = error?.message
    ? [error.message, error.fix].filter(Boolean).join(' ')
    : (text ?? 'The gateway refused without a reason.');
  return new CliError(sentence, error?.code === 'not_found' ? 'not_found' : 'failed');
}
