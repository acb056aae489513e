/** A task as a client reads it: whole facts, but never more text than a conversation can hold. What is cut is said. */
import type { Report, TaskDetail } from '@taskbridge/contract';

const goalChars = 4_000;
const summaryChars = 6_000;
const files = 100;
const commands = 50;
const commandChars = 300;

/** The task without its contract and its report: how it stands. */
export function briefly(task: TaskDetail): Omit<TaskDetail, 'contract' | 'latestAttempt'> {
  const { contract: _contract, latestAttempt: _latestAttempt, ...brief } = task;
  return brief;
}

/** The task with its contract and its latest report, bounded. `cut` says what was shortened, and where the rest is. */
export function fully(task: TaskDetail): { task: TaskDetail; cut: string[] } {
  const cut: string[] = [];
  const text = (value: string, limit: number, name: string): string => {
    if (value.length <= limit) return value;
    cut.push(`${name}: the first ${limit} of ${value.length} characters`);
    return `${value.slice(0, limit)}…`;
  };
  const bounded = (report: Report): Report => {
    if (report.files.length > files) cut.push(`files: ${files} of ${report.filesTotal}; see get_diff with stat`);
    if (report.commands.length > commands) cut.push(`commands: the last ${commands} of ${report.commandsTotal}; see get_logs`);
    return {
      ...report,
      summary: text(report.summary, summaryChars, 'summary'),
      files: report.files.slice(0, files),
      commands: report.commands.slice(-commands).map((ran) => ({ ...ran, command: text(ran.command, commandChars, 'command') })),
    };
  };
  const { contract, latestAttempt } = task;
  return {
    task: {
      ...task,
      contract: { ...contract, goal: text(contract.goal, goalChars, 'goal') },
      latestAttempt: latestAttempt && { ...latestAttempt, report: latestAttempt.report && bounded(latestAttempt.report) },
    },
    cut,
  };
}
