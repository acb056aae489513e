/** The board's process. */
import { runService } from '@taskbridge/platform';
import { startBoard } from './board.ts';

await runService('board', startBoard);
