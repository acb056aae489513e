/**
 * Passes MCP messages between standard input and output and the gateway, unread but for what HTTP needs to know.
 * It holds no state: when the gateway is away a request is answered with one sentence, and the next one is tried again.
 */
import { isJSONRPCErrorResponse, isJSONRPCRequest, isJSONRPCResultResponse, type JSONRPCMessage } from '@modelcontextprotocol/client';
import { StdioServerTransport } from '@modelcontextprotocol/server/stdio';
import { type Endpoint, explainTransportError, gatewayTransport } from './gateway-client.ts';

/** JSON-RPC's own code for an error inside the server. */
const internalError = -32603;

/** Runs until standard input ends. */
export async function runStdioProxy(endpoint: Endpoint): Promise<void> {
  const client = new StdioServerTransport();
  const gateway = gatewayTransport(endpoint);
  /** Requests without an answer yet; over HTTP one is cancelled by dropping its exchange. */
  const open = new Map<string | number, AbortController>();
  /** The request that fixes the older protocol's version for the connection. */
  let handshake: string | number | undefined;

  const pass = async (message: JSONRPCMessage) => {
    if (!isJSONRPCRequest(message)) {
      if ('method' in message && message.method === 'notifications/cancelled') cancel(message.params);
      return gateway.send(message).catch(() => undefined);
    }
    if (message.method === 'initialize') handshake = message.id;
    const exchange = new AbortController();
    open.set(message.id, exchange);
    try {
      await gateway.send(message, {
        requestSignal: exchange.signal,
        onRequestStreamEnd: () => fail(message.id, 'The gateway ended the answer early.'),
      });
    } catch (error) {
      if (!exchange.signal.aborted) await fail(message.id, explainTransportError(error, endpoint.url).message);
    }
  };

  const cancel = (params: Record<string, unknown> | undefined) => {
    const id = params?.['requestId'];
    if (typeof id !== 'string' && typeof id !== 'number') return;
    open.get(id)?.abort();
    open.delete(id);
  };

  const fail = async (id: string | number, message: string) => {
    if (open.delete(id)) await client.send({ jsonrpc: '2.0', id, error: { code: internalError, message } });
  };

  gateway.onmessage = (message) => {
    if (isJSONRPCResultResponse(message) || isJSONRPCErrorResponse(message)) {
      if (message.id !== undefined && message.id !== null) open.delete(message.id);
      if (isJSONRPCResultResponse(message) && message.id === handshake)
        gateway.setProtocolVersion(String(message.result['protocolVersion']));
    }
    void client.send(message);
  };
  client.onmessage = (message) => void pass(message);

  const closed = new Promise<void>((resolve) => {
    client.onclose = resolve;
  });
  await gateway.start();
  await client.start();
  await closed;
  await gateway.close();
}
