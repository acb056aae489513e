/** taskbridge mcp: the gateway over standard input and output, for clients that can only start a program (Claude Desktop). */
import { loadConfig } from '@taskbridge/platform';
import type { Command } from 'commander';
import { endpointOf } from '../gateway-client.ts';
import { runStdioProxy } from '../stdio-proxy.ts';

export function addMcpCommand(program: Command): void {
  program
    .command('mcp')
    .description('Speak MCP on standard input and output, and pass it on to the gateway. For Claude Desktop.')
    .action(() => runStdioProxy(endpointOf(loadConfig())));
}
