/** The MCP side: one server object per request for either protocol generation, with the same tools. It keeps nothing between requests. */
import {
  createMcpHandler,
  type McpHttpHandler,
  type McpRequestContext,
  ProtocolError,
  ProtocolErrorCode,
  Server,
  type ServerContext,
} from '@modelcontextprotocol/server';
import { ApiError } from '@taskbridge/contract';
import { type Log, version } from '@taskbridge/platform';
import type { Principal } from '@taskbridge/record';
import type { Metrics, Outcome } from './metrics.ts';
import { tools } from './tools/index.ts';
import { refusal, success } from './tools/result.ts';
import type { Call, Kit } from './tools/tool.ts';

/** Always in a client's context: 600 characters at most. */
export const instructions =
  'TaskBridge hands coding tasks to headless agents and returns evidence. ' +
  'Workflow: list_projects; submit_task (or submit_batch for several, with depends_on) with a self-contained goal, scope and acceptance; ' +
  'wait_tasks until they end, calling it again when it says so; then judge by get_task (checks, commands, limits) and get_diff ' +
  '(stat first), not by the summary. The work is on the branch that get_task names; your checkout is never touched. ' +
  'A failure names its reason and what to do next. State waiting needs you, blocked needs a human.';

/** The key under which Claude Code names its use of a tool; equal when the same call is sent again. */
const toolUseKey = 'claudecode/toolUseId';

export interface McpEndpoint {
  readonly handler: McpHttpHandler;
  /** Resolves when no tool call is being answered. */
  idle(): Promise<void>;
}

export function createMcpEndpoint(parts: { kit: Kit; metrics: Metrics; log: Log; bodyLimit: number }): McpEndpoint {
  const { kit, metrics, log } = parts;
  const byName = new Map(tools.map((tool) => [tool.name, tool]));
  const listed = tools.map((tool) => tool.listed);
  const underWay = new Set<Promise<unknown>>();

  const callTool = async (name: string, input: unknown, call: Call) => {
    const measured = metrics.tool(name);
    const began = performance.now();
    const tool = byName.get(name);
    const ended = (outcome: Outcome) => {
      measured(outcome);
      const level = tool?.listed.annotations?.readOnlyHint ? 'debug' : 'info';
      log[level]({ tool: tool?.name, client: call.by.clientName, outcome, ms: Math.round(performance.now() - began) }, 'tool call');
    };
    if (!tool) {
      ended('not_found');
      throw new ProtocolError(ProtocolErrorCode.InvalidParams, `There is no tool ${name}. There are: ${[...byName.keys()].join(', ')}.`);
    }
    try {
      const answer = await tool.run(input, call, kit);
      ended(call.signal.aborted ? 'aborted' : 'ok');
      return success(answer);
    } catch (error) {
      const known = error instanceof ApiError ? error : internal(error);
      if (known !== error) log.error({ err: error, tool: name }, 'a tool call failed');
      ended(known.code);
      return refusal(known);
    }
  };

  const serve = (context: McpRequestContext): Server => {
    const by = principalOf(context);
    const server = new Server({ name: 'taskbridge', title: 'TaskBridge', version }, { capabilities: { tools: {} }, instructions });
    server.setRequestHandler('tools/list', () => ({ tools: [...listed] }));
    server.setRequestHandler('tools/call', async ({ params }, ctx) => {
      const client = server.getClientVersion()?.name ?? nameFromUserAgent(context.requestInfo);
      const answering = callTool(params.name, params.arguments, callOf(ctx, by, client));
      const settled = answering.catch(() => undefined).finally(() => underWay.delete(settled));
      underWay.add(settled);
      return server.projectCallToolResult(await answering, byName.get(params.name)?.listed.outputSchema);
    });
    return server;
  };

  const onerror = (err: Error) => log.debug({ err }, 'request refused');
  return {
    handler: createMcpHandler(serve, { maxRequestBodySize: parts.bodyLimit, onerror }),
    idle: async () => void (await Promise.all(underWay)),
  };
}

function principalOf({ authInfo }: McpRequestContext): Principal {
  const principal = authInfo?.extra?.['principal'];
  if (!principal) throw new Error('a request came past the check of its token');
  return principal as Principal;
}

function callOf(ctx: ServerContext, by: Principal, client: string | undefined): Call {
  const { _meta, signal, notify } = ctx.mcpReq;
  const token = _meta?.progressToken;
  const toolUseId = _meta?.[toolUseKey];
  return {
    by,
    client,
    signal,
    toolUseId: typeof toolUseId === 'string' && toolUseId.length <= 150 ? toolUseId : undefined,
    progress:
      token === undefined
        ? undefined
        : (progress, total, message) => {
            // A client that is gone hears nothing; its call is aborted by then.
            notify({ method: 'notifications/progress', params: { progressToken: token, progress, total, message } }).catch(() => undefined);
          },
  };
}

/** A client of the older protocol names itself only when it connects, which a stateless server does not remember. */
const nameFromUserAgent = (request: Request | undefined): string | undefined => request?.headers.get('user-agent')?.split(/[/\s]/, 1)[0];

const internal = (cause: unknown): ApiError =>
  new ApiError('internal', 'TaskBridge met an error of its own.', { fix: "Try again; the gateway's log has the cause.", cause });
