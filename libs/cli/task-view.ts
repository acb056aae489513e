/** A task and its evidence as text for a person. */
import type { Command, FileChange, GateResult, Report, TaskDetail, Usage } from '@taskbridge/contract';
import colors from 'picocolors';
import { colorState, duration, table } from './output.ts';

/** Everything a person needs to judge a task; the diff is shown by itself. */
export function describeTask(task: TaskDetail): string {
  const report = task.latestAttempt?.report ?? null;
  const parts = [
    `${colors.bold(task.title)}\n${task.id}  ${colorState(task.state)}  ${task.because}`,
    facts(task, report),
    task.failure && section('Failure', [`${task.failure.sentence}`, task.failure.detail, `Next: ${task.failure.next}`]),
    task.blockers.length > 0 &&
      section(
        'Blockers',
        task.blockers.map((one) => `${one.kind}: ${one.detail}`),
      ),
    report?.summary && section('Summary (in the words of the agent)', [report.summary.trim()]),
    report && report.openQuestions.length > 0 && section('Open questions', report.openQuestions),
    report && section(`Files (${report.filesTotal})`, report.files.map(fileLine)),
    report && section(`Commands the agent ran (${report.commandsTotal})`, report.commands.map(commandLine)),
    report && section('Gates', report.gates.map(gateLine)),
    report && section('Limits, and who enforced them', [limitLines(report)]),
  ];
  return parts.filter(Boolean).join('\n\n');
}

function section(title: string, lines: string[]): string {
  const body = lines.filter(Boolean).flatMap((text) => text.split('\n'));
  return [colors.bold(title), ...(body.length > 0 ? body : ['none']).map((line) => `  ${line}`)].join('\n');
}

function facts(task: TaskDetail, report: Report | null): string {
  const rows: [string, string | null | undefined][] = [
    ['project', task.project],
    ['client', task.client],
    ['mode', task.mode],
    ['milestone', task.milestone],
    ['base', report?.base ? `${report.base.ref} ${short(report.base.commit)}` : short(task.baseCommit)],
    ['head', report?.head ? `${report.head.branch} ${short(report.head.commit)}` : short(task.headCommit)],
    ['salvage', report?.salvageRef],
    ['attempts', String(task.attempts)],
    ['model', report?.model],
    ['usage', report && usage(report.usage)],
    ['time', report && phases(report)],
  ];
  return table(rows.filter((row): row is [string, string] => Boolean(row[1])).map(([name, value]) => [colors.gray(name.padEnd(9)), value]));
}

const short = (commit: string | null): string | null => commit?.slice(0, 12) ?? null;

const usage = (used: Usage): string =>
  `${used.modelCalls} model calls, ${used.inputTokens} tokens in, ${used.outputTokens} out, ` +
  (used.costKnown ? `${used.costUsd.toFixed(4)} USD` : 'cost unknown');

const phases = (report: Report): string =>
  `${duration(report.endedAt - report.startedAt)} (${report.phases.map((one) => `${one.phase} ${duration(one.ms)}`).join(', ')})`;

const fileLine = (file: FileChange): string =>
  `${file.status.padEnd(8)} ${file.path}  ${file.binary ? 'binary' : `${colors.green(`+${file.additions}`)} ${colors.red(`-${file.deletions}`)}`}`;

const exit = (code: number | null): string =>
  code === 0 ? colors.green('exit 0') : colors.red(code === null ? 'no exit' : `exit ${code}`);

const commandLine = (command: Command): string =>
  `${exit(command.exitCode)}  ${command.command.split('\n', 1)[0]}${command.isTest ? '  (test)' : ''}`;

const outcomes = { passed: colors.green, failed: colors.red, skipped: colors.gray };

function gateLine(gate: GateResult): string {
  const code = typeof gate.exitCode === 'number' ? ` (exit ${gate.exitCode})` : '';
  return `${outcomes[gate.outcome](gate.outcome)}  ${gate.gate}${code}  ${gate.detail}`;
}

const limitLines = (report: Report): string =>
  table(report.limits.map(({ limit, enforcedBy, note }) => [limit, note ? `${enforcedBy}  (${note})` : enforcedBy]));
