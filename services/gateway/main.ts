/** The gateway's process. */
import { runService } from '@taskbridge/platform';
import { startGateway } from './gateway.ts';

await runService('gateway', startGateway);
