/** The practice model as a process: started by the demo's supervisor, says where it listens, ends with it. */

import { startModelServer } from './index.ts';
import { practiceScenarios } from './practice.ts';

const server = await startModelServer({ scenarios: practiceScenarios });
process.on('SIGTERM', () => process.exit(0));
process.on('SIGINT', () => process.exit(0));
process.on('disconnect', () => process.exit(0));
process.send?.({ type: 'ready', service: 'model', url: server.baseUrl });
console.log(`practice model (a script, not an AI) at ${server.baseUrl}`);
