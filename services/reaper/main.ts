/** The reaper's process. */
import { runService } from '@taskbridge/platform';
import { startReaper } from './reaper.ts';

await runService('reaper', startReaper);
