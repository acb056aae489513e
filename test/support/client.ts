/** A planner: the 2.x MCP client against a gateway, with results as plain objects. */
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';

export interface Planner extends AsyncDisposable {
  /** Calls a tool; rejects when the tool answers with an error. */
  call<T = Record<string, unknown>>(tool: string, input: Record<string, unknown>): Promise<T>;
}

export async function connectPlanner(url: string, token: string): Promise<Planner> {
  const client = new Client({ name: 'test-planner', version: '1.0.0' });
  await client.connect(new StreamableHTTPClientTransport(new URL(url), { requestInit: { headers: { Authorization: `Bearer ${token}` } } }));
  return {
    call: async <T>(tool: string, input: Record<string, unknown>) => {
      const result = await client.callTool({ name: tool, arguments: input }, { timeout: 300_000 });
      if (result.isError) throw new Error(`${tool}: ${JSON.stringify(result.content)}`);
      return result.structuredContent as T;
    },
    [Symbol.asyncDispose]: () => client.close(),
  };
}
