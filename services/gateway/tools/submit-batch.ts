/** submit_batch: records several tasks, all or none. */
import { batchLimit, submitSchema } from '@taskbridge/contract';
import { z } from 'zod';
import { keyed } from './idempotency.ts';
import { listedSchema } from './listed-schema.ts';
import { defineTool } from './tool.ts';

const input = z.strictObject({ tasks: z.array(submitSchema).min(1).max(batchLimit) });

export const submitBatch = defineTool({
  name: 'submit_batch',
  title: 'Submit several tasks',
  description: 'Hand over up to 20 tasks, all or none. In depends_on, #0 is the first task of this batch. Fields as in submit_task.',
  hints: { readOnly: false, destructive: false, idempotent: false, openWorld: true },
  input,
  listedInput: listedSchema(input, false),
  async run({ tasks }, call, { record, dispatcher }) {
    const submitted = await record.tasks.submit(call.by, keyed(tasks, call.toolUseId, true));
    dispatcher.wake();
    return { submitted, next: 'Call wait_tasks with these ids.' };
  },
});
