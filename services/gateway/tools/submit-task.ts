/** submit_task: records one task. */
import { submitSchema } from '@taskbridge/contract';
import { keyed } from './idempotency.ts';
import { defineTool } from './tool.ts';

export const submitTask = defineTool({
  name: 'submit_task',
  title: 'Submit a task',
  description:
    'Hand one coding task to a headless agent. Returns its id at once; the work goes on without you. ' +
    'The agent sees only what you write here: say what to do, where, and how to tell that it is done.',
  hints: { readOnly: false, destructive: false, idempotent: false, openWorld: true },
  alwaysLoad: true,
  input: submitSchema,
  async run(submit, call, { record, dispatcher }) {
    const [submitted] = await record.tasks.submit(call.by, keyed([submit], call.toolUseId));
    dispatcher.wake();
    return { ...submitted, next: 'Call wait_tasks with this id.' };
  },
});
