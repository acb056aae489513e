/** The worker service: turns one attempt into one report. It owns a worktree and an agent process, and nothing else. */
import { runService } from '@taskbridge/platform';
import { startWorker, stopMs } from './worker.ts';

await runService('worker', startWorker, stopMs);
