/** The prompt: the contract in plain words, small. */
import type { Contract } from '@taskbridge/contract';

/** The heading under which an agent lists what it could not settle; read back from its last words. */
export const questionsHeading = 'Open questions:';

const section = (title: string, lines: readonly string[]): string[] =>
  lines.length === 0 ? [] : ['', title, ...lines.map((line) => `- ${line}`)];

const task = {
  propose_patch: 'Change the files in this directory as the goal says. Do not commit; your changes are committed for you.',
  analysis: 'Read and answer. Do not change any file.',
  review: 'Review the code in this directory as the goal says and list your findings, each with file and line. Do not change any file.',
} as const;

/** What the agent is told of a task. */
export function promptOf(contract: Contract, title: string): string {
  return [
    `Task: ${title}`,
    '',
    contract.goal,
    ...section('You may change only files that match:', contract.scope),
    ...section('At the end this must be true:', contract.acceptance),
    ...section('Keep to this:', contract.constraints),
    ...section('Deliver:', contract.deliverables),
    '',
    task[contract.mode],
    'Nobody answers questions while you work: decide sensibly yourself.',
    `Finish with a short summary of what you did and how you checked it. If something is left open, end with "${questionsHeading}" and one line each.`,
  ].join('\n');
}

/** The lines under the questions heading of an agent's last words. */
export function openQuestionsIn(summary: string): string[] {
  const start = summary.lastIndexOf(questionsHeading);
  if (start < 0) return [];
  return summary
    .slice(start + questionsHeading.length)
    .split('\n')
    .map((line) => line.replace(/^\s*(?:[-*]|\d+\.)?\s*/, '').trim())
    .filter((line) => line !== '' && !/^(none|n\/a)\.?$/i.test(line))
    .slice(0, 50)
    .map((line) => line.slice(0, 2_000));
}
