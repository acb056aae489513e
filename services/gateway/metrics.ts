/** What the gateway counts. Labels come from fixed sets only, so that no client can make new series. */
import { apiErrors } from '@taskbridge/contract';
import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client';
import { tools } from './tools/index.ts';

/** How a call ended: `ok`, a code of the error table, or `aborted` by the client. */
export type Outcome = 'ok' | 'aborted' | keyof typeof apiErrors;

export interface Metrics {
  readonly contentType: string;
  text(): Promise<string>;
  http(method: string, route: string | undefined, status: number): void;
  /** A tool call begins. @returns to be called when it has ended */
  tool(name: string): (outcome: Outcome) => void;
}

const methods = new Set(['GET', 'POST', 'DELETE', 'HEAD', 'OPTIONS']);
const toolNames = new Set(tools.map((tool) => tool.name));

export function createMetrics(): Metrics {
  const registers = [new Registry()];
  const [registry] = registers as [Registry];
  collectDefaultMetrics({ register: registry });
  const requests = new Counter({
    name: 'taskbridge_http_requests_total',
    help: 'HTTP requests answered, by method, route and class of status.',
    labelNames: ['method', 'route', 'status'] as const,
    registers,
  });
  const calls = new Counter({
    name: 'taskbridge_mcp_calls_total',
    help: 'Tool calls ended, by tool and outcome.',
    labelNames: ['tool', 'outcome'] as const,
    registers,
  });
  const seconds = new Histogram({
    name: 'taskbridge_mcp_call_seconds',
    help: 'Duration of tool calls in seconds; waits are meant to be long.',
    labelNames: ['tool'] as const,
    buckets: [0.005, 0.02, 0.1, 0.5, 2, 10, 60, 300, 1_800],
    registers,
  });
  const open = new Gauge({
    name: 'taskbridge_mcp_calls_open',
    help: 'Tool calls being answered now.',
    labelNames: ['tool'] as const,
    registers,
  });

  return {
    contentType: registry.contentType,
    text: () => registry.metrics(),
    http(method, route, status) {
      requests.inc({ method: methods.has(method) ? method : 'other', route: route ?? 'other', status: `${Math.floor(status / 100)}xx` });
    },
    tool(name) {
      const tool = toolNames.has(name) ? name : 'unknown';
      const end = seconds.startTimer({ tool });
      open.inc({ tool });
      return (outcome) => {
        end();
        open.dec({ tool });
        calls.inc({ tool, outcome });
      };
    },
  };
}
