/** wait_tasks: answers when tasks have ended or need someone. It only reads: a wait that ends early changes no task. */
import { isTerminal, type TaskDetail } from '@taskbridge/contract';
import { z } from 'zod';
import { until } from '../task-watch.ts';
import { briefly } from './task-view.ts';
import { type Call, defineTool, type Kit, reads, taskIdSchema } from './tool.ts';

/** Below the shortest limit a client is known to have for a call, 60 seconds. */
const defaultSeconds = 45;
/** The limit of most clients, whatever they are told meanwhile. */
const longestSeconds = 240;
/** Claude Code has none while progress arrives. */
const patientClient = 'claude-code';
const patientSeconds = 1_800;
const progressMs = 5_000;

const input = z.strictObject({
  ids: z.array(taskIdSchema).min(1).max(50),
  until: z.enum(['any', 'all']).default('all').describe('any: the first that ended or needs someone. all: each of them.'),
  timeout_seconds: z.number().min(0).max(patientSeconds).default(defaultSeconds).describe('At most 240 for most clients.'),
});

export const waitTasks = defineTool({
  name: 'wait_tasks',
  title: 'Wait for tasks',
  description:
    'Wait until tasks ended (done, failed, cancelled) or need someone (waiting: your answer, blocked: a human). ' +
    'Returns at once when it is so; when the time is over it says to call again.',
  hints: reads,
  alwaysLoad: true,
  input,
  async run({ ids: named, until: which, timeout_seconds: asked }, call, kit) {
    const ids = [...new Set(named)];
    const seconds = Math.min(asked, call.client === patientClient && call.progress ? patientSeconds : longestSeconds);
    const read = () => ids.map((id) => kit.record.tasks.get(call.by, id));
    let tasks = read();
    const settled = () => {
      tasks = read();
      return which === 'any' ? tasks.some(isSettled) : tasks.every(isSettled) || tasks.some((task) => task.state === 'waiting');
    };
    const stopReports = reportProgress(call, seconds, read);
    try {
      const met = await until(kit.watch, ids, settled, { ms: seconds * 1_000, signals: [call.signal, kit.stopping] });
      return { tasks: tasks.map(briefly), timed_out: !met, next: nextStep(met, tasks, kit) };
    } finally {
      stopReports();
    }
  },
});

/** Ended, or nothing more happens before someone acts. */
const isSettled = ({ state }: TaskDetail): boolean => isTerminal(state) || state === 'waiting' || state === 'blocked';

function nextStep(met: boolean, tasks: TaskDetail[], { stopping }: Kit): string {
  if (!met) return stopping.aborted ? 'TaskBridge restarts. Call wait_tasks again.' : 'Not over yet. Call wait_tasks again.';
  const open = tasks.some((task) => !isSettled(task));
  return `See get_task and get_diff.${open ? ' Call wait_tasks again for the others.' : ''}`;
}

/** Tells the client every few seconds how it stands, which keeps its own time limit from running out. */
function reportProgress(call: Call, seconds: number, read: () => TaskDetail[]): () => void {
  const { progress } = call;
  if (!progress) return () => undefined;
  const began = Date.now();
  const timer = setInterval(() => {
    const tasks = read();
    const open = tasks.filter((task) => !isSettled(task));
    const doing = open.map((task) => task.activity ?? task.because).find(Boolean) ?? '';
    progress((Date.now() - began) / 1_000, seconds, `${tasks.length - open.length} of ${tasks.length} settled. ${doing}`.trim());
  }, progressMs);
  return () => clearInterval(timer);
}
