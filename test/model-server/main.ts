/** The practice model as a process: started by the demo's supervisor, says where it listens, ends with it. */
import { parseArgs } from 'node:util';
import { startModelServer } from './index.ts';
import { practiceScenarios } from './practice.ts';

// A fixed port, so that those who know it find it again after a restart.
const { port = '0' } = parseArgs({ options: { port: { type: 'string' } }, strict: false }).values;
const server = await startModelServer({ port: Number(port), scenarios: practiceScenarios });
process.on('SIGTERM', () => process.exit(0));
process.on('SIGINT', () => process.exit(0));
process.on('disconnect', () => process.exit(0));
process.send?.({ type: 'ready', service: 'model', url: server.baseUrl });
console.log(`practice model (a script, not an AI) at ${server.baseUrl}`);
