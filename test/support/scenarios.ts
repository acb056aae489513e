/** What the scripted model does in tests that run the real OpenCode, by words in the goal. */
import type { Scenario } from '../model-server/scenario.ts';

export const says = (when: string, text: string): Scenario => ({ when, turns: [{ text }] });

/** Writes one file with the write tool, looks at it with the shell, and says what it did. */
export const writesFile = (when: string, file: string, content: string): Scenario => ({
  when,
  turns: [
    { text: 'I will write the file.', tools: [{ name: 'write', input: { filePath: `{{cwd}}/${file}`, content } }] },
    { tools: [{ name: 'bash', input: { command: `test -s ${file} && echo written`, description: 'Check the file' } }] },
    { text: `Wrote ${file}.` },
  ],
});

export const runs = (when: string, command: string): Scenario => ({
  when,
  turns: [{ tools: [{ name: 'bash', input: { command, description: 'Run it' } }] }, { text: 'It ran.' }],
});

/** Leaves a file with `so far` in it, and hangs in the shell. */
export const writesThenSleeps = (when: string, file: string, sleep: string): Scenario => ({
  when,
  turns: [
    { tools: [{ name: 'write', input: { filePath: `{{cwd}}/${file}`, content: 'so far\n' } }] },
    { tools: [{ name: 'bash', input: { command: sleep, description: 'Wait', timeout: 600_000 } }] },
    { text: 'Done at last.' },
  ],
});

export const unauthorized = (when: string): Scenario => ({ when, turns: [{ error: { status: 401 } }] });
