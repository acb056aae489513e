/** What the scripted model does in the end-to-end tests, by a word in the goal. */
import type { Scenario } from '../model-server/scenario.ts';

/** Writes one file with the write tool, looks at it with the shell, and says what it did. */
export const writesFile = (when: string, file: string, content: string): Scenario => ({
  when,
  turns: [
    { text: 'I will write the file.', tools: [{ name: 'write', input: { filePath: `{{cwd}}/${file}`, content } }] },
    { tools: [{ name: 'bash', input: { command: `test -s ${file} && echo written`, description: 'Check the file' } }] },
    { text: `Wrote ${file}.` },
  ],
});
