/** A task as a client reads it: whole facts, but never more text than a conversation can hold. What is cut is said. */
import type { TaskDetail } from '@taskbridge/contract';

/** Characters of one text, and items of one list; together they keep the longest answer under about 100,000 characters. */
const textLimit = 400;
const textLimits: Record<string, number> = { goal: 4_000, summary: 6_000, detail: 2_000 };
const listLimit = 30;
const listLimits: Record<string, number> = { files: 100 };
/** Of these the last items tell more than the first: a run ends with its tests. */
const lastMatters = new Set(['commands']);
/** Where the rest of a list is. */
const elsewhere: Record<string, string> = { files: 'get_diff with stat', commands: 'get_logs' };

/** The task without its contract and its report: how it stands. */
export function briefly(task: TaskDetail): Omit<TaskDetail, 'contract' | 'latestAttempt'> {
  const { contract: _contract, latestAttempt: _latestAttempt, ...brief } = task;
  return brief;
}

/** The task with its contract and its latest report, bounded. `cut` says what was shortened, and where the rest is. */
export function fully(task: TaskDetail): { task: TaskDetail; cut: string[] } {
  const cut = new Set<string>();
  return { task: bounded('task', task, cut) as TaskDetail, cut: [...cut] };
}

function bounded(name: string, value: unknown, cut: Set<string>): unknown {
  if (typeof value === 'string') return boundedText(name, value, cut);
  if (Array.isArray(value)) return boundedList(name, value, cut).map((item) => bounded(name, item, cut));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, part]) => [key, bounded(key, part, cut)]));
}

function boundedText(name: string, text: string, cut: Set<string>): string {
  const limit = textLimits[name] ?? textLimit;
  if (text.length <= limit) return text;
  cut.add(`${name}: the first ${limit} of ${text.length} characters`);
  return `${text.slice(0, limit)}…`;
}

function boundedList(name: string, items: unknown[], cut: Set<string>): unknown[] {
  const limit = listLimits[name] ?? listLimit;
  if (items.length <= limit) return items;
  const rest = elsewhere[name] ? `; see ${elsewhere[name]}` : '';
  cut.add(`${name}: the ${lastMatters.has(name) ? 'last' : 'first'} ${limit} of ${items.length}${rest}`);
  return lastMatters.has(name) ? items.slice(-limit) : items.slice(0, limit);
}
