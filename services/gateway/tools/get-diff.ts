/** get_diff: what a task changed, as statistics, whole in pages, or of one file. */
import { isUtf8 } from 'node:buffer';
import { ApiError, type Report } from '@taskbridge/contract';
import { z } from 'zod';
import { sectionOf } from './diff-sections.ts';
import { textPage } from './text-page.ts';
import { type Answer, type Call, defineTool, type Kit, reads, taskIdSchema } from './tool.ts';

const pageChars = 40_000;

const input = z.strictObject({
  id: taskIdSchema,
  stat: z.boolean().default(false).describe('Only the files with lines added and removed.'),
  path: z.string().min(1).max(4_096).describe('Only this file.').optional(),
  offset: z.number().int().min(0).default(0),
  limit: z.number().int().min(1).max(pageChars).default(pageChars).describe('Characters.'),
});

export const getDiff = defineTool({
  name: 'get_diff',
  title: 'Show a diff',
  description: 'What a task changed: file list (stat), one file (path) or the whole diff in pages. Go on at next_offset.',
  hints: reads,
  input,
  run({ id, stat, path, offset, limit }, call, kit) {
    const diff = kit.record.artifacts.read(call.by, id, 'diff');
    if (!diff) throw noDiff(id, call, kit);
    const report = kit.record.tasks.attempts(call.by, id).find((attempt) => attempt.id === diff.ref.attemptId)?.report ?? null;
    const facts = { id, attempt: diff.ref.attemptId, ...wholeOf(report, diff.ref.truncated) };
    if (stat) return { ...facts, ...statOf(report) };

    const whole = diff.content.toString('utf8');
    const text = path === undefined ? whole : sectionOf(whole, path);
    if (text === undefined) {
      throw new ApiError('not_found', `The diff of ${id} does not touch ${path}.`, {
        field: 'path',
        fix: 'See get_diff with stat for the paths.',
      });
    }
    const page = textPage(text, offset, limit);
    return {
      ...facts,
      diff: page.text,
      offset,
      next_offset: page.next,
      total_chars: text.length,
      ...(isUtf8(diff.content) ? {} : { note: 'Bytes that are not UTF-8 are shown as \ufffd.' }),
    };
  },
});

function statOf(report: Report | null): Answer {
  const files = report?.files ?? [];
  const sum = (key: 'additions' | 'deletions') => files.reduce((total, file) => total + file[key], 0);
  return { files, files_total: report?.filesTotal ?? files.length, additions: sum('additions'), deletions: sum('deletions') };
}

/** Where the whole diff is, whatever a page or a size limit leaves out. */
function wholeOf(report: Report | null, truncated: boolean): Answer {
  const range =
    report?.base && report.head ? { whole: `git diff ${report.base.commit}..${report.head.commit}`, branch: report.head.branch } : {};
  return {
    truncated,
    ...(truncated ? { truncated_note: 'The kept diff was cut at its size limit; run the command in whole.' } : {}),
    ...range,
  };
}

function noDiff(id: string, call: Call, { record }: Kit): ApiError {
  const task = record.tasks.get(call.by, id);
  const message = `Task ${id} has no diff: it is ${task.state}, mode ${task.contract.mode}.`;
  return new ApiError('not_found', message, { field: 'id', fix: 'See get_task for what it has; wait_tasks while it is open.' });
}
